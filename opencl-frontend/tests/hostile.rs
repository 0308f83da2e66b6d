//! Sources made to take long: work grows with their size, and what would not end is refused by name.

use std::time::{Duration, Instant};

use opencl_frontend::diag::Code;
use opencl_frontend::{Options, compile};

fn kernel(body: &str) -> String {
    format!("__kernel void k(__global int *o, int a) {{ {body} }}")
}

fn undeclared_names(n: usize) -> String {
    let lines: Vec<String> = (0..n).map(|i| format!("o[{i}] = undeclared_{i};")).collect();
    kernel(&lines.concat())
}

fn conditionals(n: usize) -> String {
    let choices: Vec<String> = (0..n).map(|i| format!("a > {i} ? o[{i}] : ")).collect();
    kernel(&format!("o[0] = {}0;", choices.concat()))
}

fn cases(n: usize) -> String {
    let cases: Vec<String> =
        (0..n).map(|i| format!("case {}: o[1] = {i}; break;", i * 7)).collect();
    kernel(&format!("switch (a) {{ {} }}", cases.concat()))
}

fn chained_calls(n: usize) -> String {
    let mut text = String::from("int f0(int a) { return a; }\n");
    for i in 1..n {
        text += &format!("int f{i}(int a) {{ return f{}(a) + 1; }}\n", i - 1);
    }
    text + &kernel(&format!("o[0] = f{}(a);", n - 1))
}

/// A parameter that many blocks hand on before they find that it never changes.
fn joins(n: usize) -> String {
    let parts: Vec<String> =
        (0..n).map(|i| format!("if (o[{i}]) {{ o[1] = {i}; x += 0; }}")).collect();
    kernel(&format!("int x = a; while (o[2]) {{ {} }} o[0] = x;", parts.concat()))
}

/// Makes a source of a size.
type Maker = fn(usize) -> String;

/// The least of three times: the machine may be busy.
fn time(source: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        let _ = compile("h.cl", source, &Options::default());
        start.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn work_grows_with_the_size() {
    let makers: [(&str, Maker, usize); 5] = [
        ("undeclared names", undeclared_names, 1000),
        ("conditionals", conditionals, 300),
        ("cases", cases, 2000),
        ("calls", chained_calls, 1500),
        ("joins", joins, 400),
    ];
    for (name, make, n) in makers {
        let (one, four) = (time(&make(n)), time(&make(4 * n)));
        // Linear is 4, the square is 16.
        let limit = one.max(Duration::from_millis(5)) * 11;
        assert!(four < limit, "{name}: {n} take {one:?}, four times as many {four:?}");
    }
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
