//! Every math function within its bound: a few inputs here, 2^20 by `cargo run --example accuracy`.

#[allow(dead_code)]
mod accuracy;

#[test]
fn within_bounds() {
    let mut exceeded = Vec::new();
    for function in accuracy::functions::table() {
        let m = accuracy::measure(&function, false, 2000, "");
        if !m.within(&function.single) {
            exceeded.push(accuracy::line(function.name, "float", &function.single, &m));
        }
        if let Some(bound) = function.double {
            let m = accuracy::measure(&function, true, 300, "");
            if !m.within(&bound) {
                exceeded.push(accuracy::line(function.name, "double", &bound, &m));
            }
        }
    }
    assert!(exceeded.is_empty(), "{}\n{}", accuracy::HEAD, exceeded.join("\n"));
}
