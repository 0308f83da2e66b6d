//! One program per constraint of the language: each is refused (or warned about, after `// warns`), with the
//! recorded diagnostic. `//// title` starts a program; `// options:` may follow.

use opencl_frontend::{Options, compile};

fn check(file: &str) {
    let path = format!("{}/tests/constraints/{file}.cl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("text");
    let (mut report, mut wrong, mut count) = (String::new(), Vec::new(), 0);
    for part in text.split("//// ").skip(1) {
        let (title, mut source) = part.split_once('\n').expect("a title");
        let (mut options, mut warns) = (Options::default(), false);
        loop {
            if let Some(rest) = source.strip_prefix("// options: ") {
                let (words, rest) = rest.split_once('\n').expect("options");
                options = Options::parse(words).expect("options");
                source = rest;
            } else if let Some(rest) = source.strip_prefix("// warns\n") {
                (warns, source) = (true, rest);
            } else {
                break;
            }
        }
        count += 1;
        let rendered = match (compile("input.cl", source, &options), warns) {
            (Err(failure), false) => failure.rendered,
            (Ok(out), true) if !out.warnings.is_empty() => out.rendered,
            (Ok(_), _) => {
                wrong.push(format!("{title}: compiles"));
                continue;
            }
            (Err(failure), true) => {
                wrong.push(format!("{title}: {}", failure.rendered));
                continue;
            }
        };
        assert!(!rendered.contains("internal"), "{title}: {rendered}");
        report += &format!("//// {title}\n{}\n", rendered.trim_end());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 5);
    insta::assert_snapshot!(file, report);
}

macro_rules! files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )*};
}
files!(declarations kernels expressions initialisers statements preprocessor);
