//! Verifies PTX files and lowers their kernels: `check FILE…`.

use ptx_parse::Reporter;

fn main() {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(t) => t,
            Err(e) => {
                eprintln!("{path}: {e}");
                failed = true;
                continue;
            }
        };
        let (module, diags) = ptx_parse::parse_and_verify(&text, &path);
        let reporter = Reporter::new(&path, &text);
        for d in &diags {
            print!("{}", reporter.plain(d));
        }
        let Some(module) = module else {
            println!("{path}: {} findings", diags.len());
            failed = true;
            continue;
        };
        let mut lowered = 0;
        for (i, f) in module.functions.iter().enumerate() {
            if f.entry && f.body.is_some() {
                match ptx_parse::lower::lower(&module, i as u32) {
                    Ok(_) => lowered += 1,
                    Err(r) => println!("{path}: {}: {r}", f.name),
                }
            }
        }
        println!("{path}: valid, {lowered} kernels lowered");
    }
    std::process::exit(failed as i32);
}
