//! The worked cases of NVIDIA's guides and lecture slides: lane addresses to transactions, lane
//! addresses to bank steps, block needs to occupancy.

mod common;

use std::sync::LazyLock;

use ptx_timing::WarpAccess;
use ptx_timing::banks::{BankCost, Direction, bank_cost};
use ptx_timing::coalesce::{Path, device_transactions};
use ptx_timing::occupancy::{BlockNeeds, Limiter, occupancy, shared_per_block};
use ptx_timing::{Catalog, Profile};

const COPY: &str = include_str!("data/worked_cases.txt");

fn class(name: &str) -> Profile {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());
    CATALOG.get(name).unwrap_or_else(|e| panic!("{e}"))
}

/// A coalescing case: transactions as (bytes, address).
#[derive(Debug)]
struct Coalescing {
    id: String,
    protocol: String,
    word: u32,
    lanes: Vec<Option<u64>>,
    expect: Vec<(u32, u64)>,
}

/// A shared-memory case: one request and the step counts that the record allows for it.
#[derive(Debug)]
struct Bank {
    id: String,
    arch: String,
    word: u32,
    lanes: Vec<Option<u64>>,
    requests: u32,
    steps: Vec<u32>,
}

fn recorded() -> (Vec<Coalescing>, Vec<Bank>) {
    let coalescing = common::toml_file("coalescing.toml");
    let banks = common::toml_file("shared_banks.toml");
    let text = |c: &toml::Value, k: &str| c[k].as_str().unwrap().to_owned();
    let int = |c: &toml::Value, k: &str| c[k].as_integer().unwrap() as u32;
    let coalescing = coalescing["case"].as_array().unwrap().iter().map(|c| {
        let pair = |t: &toml::Value| {
            let n = |i: usize| t[i].as_integer().unwrap();
            (n(0) as u32, n(1) as u64)
        };
        let expect: Vec<_> = c["expect"].as_array().unwrap().iter().map(pair).collect();
        assert_eq!(expect.len(), int(c, "transactions") as usize, "{}", c["id"]);
        Coalescing {
            id: text(c, "id"),
            protocol: text(c, "protocol"),
            word: int(c, "word_bytes"),
            lanes: common::toml_lanes(&c["addresses"]),
            expect,
        }
    });
    let banks = banks["case"].as_array().unwrap().iter().map(|c| Bank {
        id: text(c, "id"),
        arch: text(c, "arch"),
        word: int(c, "word_bytes"),
        lanes: common::toml_lanes(&c["byte_addresses"]),
        requests: int(c, "requests"),
        steps: match &c["steps_per_request"] {
            toml::Value::Array(a) => a.iter().map(|s| s.as_integer().unwrap() as u32).collect(),
            n => vec![n.as_integer().unwrap() as u32],
        },
    });
    (coalescing.collect(), banks.collect())
}

fn write_copy(coalescing: &[Coalescing], banks: &[Bank]) -> String {
    let mut out = String::from(
        "# Worked cases: protocol id word-bytes lanes transactions (bytes@address), and\n\
         # bank rules id word-bytes lanes requests steps-per-request.\n",
    );
    for c in coalescing {
        let lanes = common::write_lanes(&c.lanes);
        let expect: Vec<_> = c.expect.iter().map(|(b, a)| format!("{b}@{a}")).collect();
        out += &format!("global {} {} {} {lanes} {}\n", c.protocol, c.id, c.word, expect.join(","));
    }
    for b in banks {
        let lanes = common::write_lanes(&b.lanes);
        let steps: Vec<_> = b.steps.iter().map(u32::to_string).collect();
        out += &format!(
            "shared {} {} {} {lanes} {} {}\n",
            b.arch,
            b.id,
            b.word,
            b.requests,
            steps.join(",")
        );
    }
    out
}

fn read_copy(text: &str) -> (Vec<Coalescing>, Vec<Bank>) {
    let (mut coalescing, mut banks) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split(' ').collect();
        let (word, lanes) = (f[3].parse().unwrap(), common::read_lanes(f[4]));
        match f[0] {
            "global" => {
                let pair = |t: &str| {
                    let (bytes, address) = t.split_once('@').unwrap();
                    (bytes.parse().unwrap(), address.parse().unwrap())
                };
                let expect = f[5].split(',').map(pair).collect();
                let (protocol, id) = (f[1].to_owned(), f[2].to_owned());
                coalescing.push(Coalescing { id, protocol, word, lanes, expect });
            }
            "shared" => banks.push(Bank {
                id: f[2].to_owned(),
                arch: f[1].to_owned(),
                word,
                lanes,
                requests: f[5].parse().unwrap(),
                steps: f[6].split(',').map(|s| s.parse().unwrap()).collect(),
            }),
            other => panic!("unknown kind {other}"),
        }
    }
    (coalescing, banks)
}

fn check_coalescing(cases: &[Coalescing]) {
    for c in cases {
        let (classes, path): (&[&str], Path) = match c.protocol.as_str() {
            "1.0-1.1" => (&["cc-1.0", "cc-1.1"], Path::Load),
            "1.2-1.3" => (&["cc-1.2", "cc-1.3"], Path::Load),
            "2.x-cached" => (&["cc-2.0", "cc-2.1"], Path::Load),
            "2.x-uncached" => (&["cc-2.0", "cc-2.1"], Path::LoadBypass),
            other => panic!("{}: unknown protocol {other}", c.id),
        };
        let access = WarpAccess::from_lanes(c.word, c.lanes.iter().copied());
        let mut expect = c.expect.clone();
        expect.sort_unstable();
        for name in classes {
            let mut got: Vec<_> = device_transactions(&class(name).global, path, &access)
                .iter()
                .map(|t| (t.bytes, t.address))
                .collect();
            got.sort_unstable();
            assert_eq!(got, expect, "{} on {name}", c.id);
        }
    }
}

fn check_banks(cases: &[Bank]) {
    for b in cases {
        let classes: &[&str] = match b.arch.as_str() {
            "1.x" => &["cc-1.0", "cc-1.1", "cc-1.2", "cc-1.3"],
            // The rule of 2.x for 32-bit words holds on 9.0 too.
            "2.x" => &["cc-2.0", "cc-2.1", "cc-9.0"],
            "3.x-32bit" => &["cc-3.5"],
            other => panic!("{}: unknown architecture {other}", b.id),
        };
        let access = WarpAccess::from_lanes(b.word, b.lanes.iter().copied());
        for name in classes {
            let got = bank_cost(&class(name).shared, Direction::Load, &access);
            assert_eq!(got.requests, 1, "{} on {name}", b.id);
            assert!(b.steps.contains(&got.steps), "{} on {name}: {got:?}, not {:?}", b.id, b.steps);
        }
    }
}

fn fact_files_coalescing_and_banks() {
    let (coalescing, banks) = recorded();
    assert_eq!((coalescing.len(), banks.len()), (68, 46));
    check_coalescing(&coalescing);
    check_banks(&banks);
    common::check_copy("worked_cases.txt", COPY, &write_copy(&coalescing, &banks));
}

fn embedded_coalescing_and_banks() {
    let (coalescing, banks) = read_copy(COPY);
    assert_eq!((coalescing.len(), banks.len()), (68, 46));
    check_coalescing(&coalescing);
    check_banks(&banks);
}

/// A double on 1.x is two 32-bit requests per half-warp, each 2-way (3.1.2.5).
fn double_is_two_requests_on_1x() {
    let half = WarpAccess::from_lanes(8, (0..16).map(|l| Some(l * 8)));
    let cost = bank_cost(&class("cc-1.3").shared, Direction::Load, &half);
    assert_eq!(cost, BankCost { requests: 2, steps: 4, conflicts: 2 });
}

/// An occupancy example: what is given, and what comes out where the record says it.
#[derive(Debug, PartialEq)]
struct Example {
    cc: &'static str,
    threads: u32,
    registers: u32,
    shared: u32,
    blocks: Option<u32>,
    warps: Option<u32>,
    limiter: Option<Limiter>,
}

const fn example(
    cc: &'static str,
    threads: u32,
    registers: u32,
    blocks: u32,
    warps: u32,
) -> Example {
    Example {
        cc,
        threads,
        registers,
        shared: 0,
        blocks: Some(blocks),
        warps: Some(warps),
        limiter: None,
    }
}

/// The examples of the CUDA C Best Practices Guide ("Occupancy") and of lecture slides 38 to 58.
const EXAMPLES: [Example; 7] = [
    example("1.1", 128, 12, 5, 20),
    example("1.1", 256, 12, 2, 16),
    example("1.1", 256, 10, 3, 24),
    example("1.1", 512, 0, 1, 16),
    Example { limiter: Some(Limiter::Blocks), ..example("1.0", 64, 0, 8, 16) },
    example("1.0", 256, 0, 3, 24),
    example("1.0", 128, 0, 6, 24),
];

fn check_example(e: &Example) {
    let p = class(&format!("cc-{}", e.cc));
    let needs =
        BlockNeeds { threads: e.threads, registers: e.registers, shared: e.shared, arguments: 0 };
    match occupancy(&p, &needs) {
        Ok(o) => {
            assert_eq!(Some(o.blocks), e.blocks, "{e:?}");
            assert_eq!(Some(o.warps), e.warps.or(Some(o.warps)), "{e:?}");
            if let Some(limiter) = e.limiter {
                assert_eq!(o.limiters, [limiter], "{e:?}");
            }
        }
        Err(_) => assert_eq!(e.blocks, Some(0), "{e:?}"),
    }
}

fn embedded_occupancy() {
    for e in &EXAMPLES {
        check_example(e);
    }
}

fn fact_file_occupancy() {
    let file = common::toml_file("occupancy.toml");
    let mut checked = 0;
    for e in file["example"].as_array().unwrap() {
        let int = |k: &str| e.get(k).map(|v| v.as_integer().unwrap() as u32);
        let cc = e["cc"].as_str().unwrap();
        let p = class(&format!("cc-{cc}"));
        checked += 1;
        let Some(threads) = int("threads_per_block") else {
            // The tiled matrix multiplication: limits by cause.
            let shared = int("shared_bytes_per_block").unwrap();
            let needs = BlockNeeds { threads: 256, registers: 0, shared, arguments: 0 };
            let o = occupancy(&p, &needs).unwrap();
            assert_eq!(o.blocks_by[3], (Limiter::Shared, int("blocks_by_shared")));
            assert_eq!(shared_per_block(&p, &needs), u64::from(shared));
            if let Some(by_threads) = int("blocks_by_threads") {
                assert_eq!(o.blocks_by[1], (Limiter::Warps, Some(by_threads)));
                let loads = int("pending_loads_if_8_blocks").unwrap();
                assert_eq!(loads, int("blocks_by_shared").unwrap() * 512);
            }
            continue;
        };
        let warps = e.get("occupancy").map(|v| {
            let (warps, of) = v.as_str().unwrap().split_once('/').unwrap();
            assert_eq!(of.parse(), Ok(p.limits.max_warps_per_sm));
            warps.parse().unwrap()
        });
        check_example(&Example {
            cc: ["1.0", "1.1"].into_iter().find(|c| *c == cc).unwrap(),
            threads,
            registers: int("registers_per_thread").unwrap_or(0),
            shared: 0,
            blocks: int("blocks_per_sm"),
            warps,
            limiter: e.get("limited_by").map(|_| Limiter::Blocks),
        });
        if let Some(percent) = int("occupancy_percent_printed") {
            let registers = int("registers_per_thread").unwrap_or(0);
            let needs = BlockNeeds { threads, registers, shared: 0, arguments: 0 };
            // Printed percentages are cut, not rounded.
            let got = occupancy(&p, &needs).unwrap().fraction() * 100.0;
            assert_eq!(got as u32, percent);
        }
    }
    assert_eq!(checked, 10);
}

golden::tests! {
    fact_files_coalescing_and_banks: shared("facts"),
    embedded_coalescing_and_banks,
    double_is_two_requests_on_1x,
    embedded_occupancy,
    fact_file_occupancy: shared("facts"),
}
