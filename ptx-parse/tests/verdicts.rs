//! Verdicts against those of ptxas: recorded texts, refused forms, accepted modules.

use std::io::Read;

use golden::need::shared_path;

fn accepted(text: &str) -> Result<(), String> {
    let (module, diags) = ptx_parse::parse_and_verify(text, "text");
    match diags.iter().find(|d| d.is_error()) {
        Some(d) => Err(ptx_parse::Reporter::new("text", text).plain(d)),
        None if module.is_some() => Ok(()),
        None => Err("no module and no finding".into()),
    }
}

fn recorded_texts() {
    let path = shared_path("verify-cases/cases.jsonl.gz");
    let file = std::fs::File::open(path).expect("the file is there");
    let mut lines = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut lines).expect("gzip of UTF-8");
    let (mut agree, mut all) = (0, 0);
    for line in lines.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("one object a line");
        let want = case["accept"].as_bool().expect("a verdict");
        let got = accepted(case["text"].as_str().expect("a text"));
        all += 1;
        if got.is_ok() == want {
            agree += 1;
        } else {
            println!("{} ({}): {:?}", case["id"], case["mutation"], got);
        }
    }
    println!("{agree} of {all} agree");
    assert!(agree * 1000 >= all * 995, "{agree} of {all} agree, 99.5 % are wanted");
}

fn refused_forms() {
    let dir = shared_path("isa-golden/rejected");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("UTF-8");
        let mut parts = text.split("// @form ");
        let head = parts.next().unwrap_or("");
        for part in parts {
            let (name, body) = part.split_once('\n').unwrap_or((part, ""));
            if accepted(&format!("{head}{body}")).is_ok() {
                wrong.push(name.to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "accepted: {wrong:?}");
}

fn accepted_modules() {
    let mut count = 0;
    for dir in ["isa-golden/modules", "kernel-golden/ptx", "facts/h200"] {
        for entry in std::fs::read_dir(shared_path(dir)).expect("a folder").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "ptx") {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                accepted(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                count += 1;
            }
        }
    }
    println!("{count} modules");
}

golden::tests! {
    recorded_texts: shared("verify-cases/cases.jsonl.gz"),
    refused_forms: shared("isa-golden/rejected"),
    accepted_modules: shared("facts/h200"),
}
