//! Sources made to take long: what would not end is refused by name. How work grows is held by `fuzz/tests/growth.rs`.

use std::time::{Duration, Instant};

use opencl_frontend::diag::Code;
use opencl_frontend::{Options, compile};

fn kernel(body: &str) -> String {
    format!("__kernel void k(__global int *o, int a) {{ {body} }}")
}

fn refused(source: &str) -> String {
    let failure = compile("h.cl", source, &Options::default()).expect_err("it is refused");
    assert_eq!(failure.diags[0].code, Code::Limit, "{}", failure.rendered);
    failure.diags[0].message.clone()
}

#[test]
fn loops_within_loops_are_bounded() {
    let loops = |n: usize| {
        let heads: Vec<String> =
            (0..n).map(|i| format!("for (int i{i} = 0; i{i} < o[{i}]; i{i}++)")).collect();
        kernel(&format!("{} o[0]++;", heads.concat()))
    };
    assert!(refused(&loops(300)).contains("loops"));
    let start = Instant::now();
    compile("h.cl", &loops(250), &Options::default()).expect("it compiles");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn calls_within_calls_do_not_overflow_the_stack() {
    // Each call stands deep within its function.
    let mut text = String::from("int f0(int a) { return a; }\n");
    let n = 60_000;
    for i in 1..n {
        text += &format!(
            "int f{i}(int a) {{ if (a) {{ return ((((f{}(a))))) + 1; }} return 0; }}\n",
            i - 1
        );
    }
    text += &kernel(&format!("o[0] = f{}(a);", n - 1));
    let message = refused(&text);
    assert!(message.contains("calls"), "{message}");
}
