//! Replays the recorded instruction forms through compiled code.
//!
//! `GOLDEN_GROUPS=mma,cvt` runs some groups only.

mod common;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use common::Case;
use golden::{Form, Golden};

enum Outcome {
    Same,
    Unsupported,
}

fn replay(form: &Form<'_>, block: u32) -> Result<Outcome, String> {
    let text = form.module_text().map_err(|e| e.to_string())?;
    let grid = [form.rows() as u32 / block, 1, 1];
    let mut case = Case::new(&text, form.name(), grid, [block, 1, 1])?;
    let table: Vec<u8> = form.table().iter().flat_map(|v| v.to_le_bytes()).collect();
    let image = form.output_image();
    case.buffer(&table);
    let output = case.buffer(&vec![0xa5; image.len()]);
    let Ok(kernel) = case.compile() else { return Ok(Outcome::Unsupported) };
    case.run_compiled(&kernel).map_err(|s| format!("{s:?}"))?;
    let got = case.copies.bytes(output);
    match (0..got.len()).find(|i| got[*i] != image[*i]) {
        None => Ok(Outcome::Same),
        Some(i) => {
            let word = |b: &[u8]| {
                b[i & !7..(i & !7) + 8].iter().rev().map(|x| format!("{x:02x}")).collect::<String>()
            };
            Err(format!("byte {i}: compiled {}, recorded {}", word(&got), word(&image)))
        }
    }
}

#[test]
fn recorded_forms() {
    let Some(golden) = Golden::shared() else {
        println!("skipped: ../shared/isa-golden is not there");
        return;
    };
    let groups = std::env::var("GOLDEN_GROUPS").unwrap_or_else(|_| "all".into());
    let every: usize = std::env::var("GOLDEN_EVERY").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    let chosen = |g: &str| groups == "all" || groups.split(',').any(|x| x == g);
    let mut tally: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (_, form) in golden.forms().enumerate().filter(|(n, f)| n % every == 0 && chosen(f.group()))
    {
        let result = catch_unwind(AssertUnwindSafe(|| replay(&form, golden.block())))
            .unwrap_or_else(|_| Err("panic".into()));
        let counts = tally.entry(form.group()).or_default();
        match result {
            Ok(Outcome::Same) => counts[0] += 1,
            Ok(Outcome::Unsupported) => counts[1] += 1,
            Err(why) => {
                counts[2] += 1;
                println!("MISMATCH {} {}: {why}", form.group(), form.name());
            }
        }
    }
    let mut sum = [0; 3];
    for (group, c) in &tally {
        println!("{group}: {} same, {} not compiled, {} differ", c[0], c[1], c[2]);
        (0..3).for_each(|i| sum[i] += c[i]);
    }
    println!("{} same, {} not compiled, {} differ", sum[0], sum[1], sum[2]);
    assert!(sum[2] == 0 && sum[0] > 0);
}
