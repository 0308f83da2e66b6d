//! Verdicts on many texts at once: texts separated by NUL on standard input,
//! for each one line on standard output, `accept` or `reject LINE: MESSAGE`.

use std::io::{Read, Write};

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("standard input is UTF-8");
    let mut out = std::io::stdout().lock();
    for text in input.split('\0') {
        let (module, diags) = ptx_parse::parse_and_verify(text, "text");
        let line = match diags.iter().find(|d| d.is_error()) {
            None if module.is_some() => "accept".to_owned(),
            None => "reject without a finding".to_owned(),
            Some(d) => {
                let position = ptx_parse::Reporter::new("text", text).position(d.span.start);
                format!("reject {}: {} [{}]", position.line, d.message, d.help.join("; "))
            }
        };
        writeln!(out, "{}", line.replace('\n', " ")).expect("standard output can be written");
    }
}
