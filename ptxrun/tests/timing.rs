//! The subcommands over the timing model, as a user meets them.

mod common;

use std::path::Path;

use common::{Folder, Outcome, command};
use serde_json::Value;

/// Runs the command in the folder of the tests.
fn ptxrun(args: &[&str]) -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    Outcome::of(command(args).current_dir(folder), "")
}

const TILE: &str = "timing/tile.ptx";

/// `profile` of the tile kernel with these further options.
fn tile(more: &[&str]) -> Outcome {
    let mut args = vec![
        "profile",
        TILE,
        "--grid",
        "64",
        "--block",
        "128",
        "--regs",
        "10",
        "--arg",
        "f32[8192]:iota",
        "--arg",
        "buf:32768",
    ];
    args.extend(more);
    ptxrun(&args)
}

#[test]
fn devices_are_listed() {
    let list = ptxrun(&["devices"]);
    assert_eq!((list.status, &*list.stderr), (0, ""));
    assert!(list.stdout.lines().count() > 88, "{}", list.stdout);
    let few: Vec<&str> = list
        .stdout
        .lines()
        .filter(|l| ["device", "8800 GTX", "GTX 280", "H200"].iter().any(|n| l.contains(n)))
        .collect();
    insta::assert_snapshot!("devices", few.join("\n"));
    let json = ptxrun(&["devices", "--json"]).json();
    let devices = json["devices"].as_array().unwrap();
    assert!(devices.len() >= 88);
    assert!(devices.iter().any(|d| d["name"] == "H200" && d["multiprocessors"] == 132));
}

#[test]
fn a_device_is_shown_with_the_source_of_every_number() {
    let show = ptxrun(&["devices", "8800gtx"]);
    assert_eq!(show.status, 0, "{}", show.stderr);
    let clock = show.stdout.split("[clock]").nth(1).unwrap().split("\n[").next().unwrap();
    insta::assert_snapshot!("device_clock", clock.trim());
    let json = ptxrun(&["devices", "8800 GTX", "--json"]).json();
    assert_eq!(json["device"]["multiprocessors"], 16);
    assert!(json["sources"]["clock.sm_mhz"]["text"].as_str().is_some_and(|s| !s.is_empty()));
}

#[test]
fn an_unknown_device_is_no_dead_end() {
    let typo = ptxrun(&["devices", "8800 GXT"]);
    assert_eq!(typo.status, 2);
    insta::assert_snapshot!("unknown_device", typo.stderr);
    let json = tile(&["--device", "GTX 28O", "--json"]);
    assert_eq!(json.status, 2);
    assert!(json.json()["error"]["message"].as_str().unwrap().contains("did you mean"));
    assert_eq!(ptxrun(&["devices", "zzzzzzzzzzzzzz"]).status, 2);
    assert_eq!(ptxrun(&["devices", "/no/such/profile.toml"]).status, 2);
}

#[test]
fn a_profile_of_ones_own_refines_a_known_one() {
    let folder = Folder::new("own-profile");
    let text = "name = \"Mine\"\nkind = \"device\"\ninherits = \"GeForce GTX 280\"\n\
        [source]\nclock = \"the label\"\n[clock]\nsm_mhz = 648\n";
    let file = folder.write("mine.toml", text);
    let show = ptxrun(&["devices", &file, "--json"]);
    assert_eq!(show.json()["clock"]["sm_mhz"], 648.0, "{}", show.stderr);
    let time = |args: &[&str]| {
        let json = tile(args).json();
        let summary = &json["launches"][0]["report"]["summary"];
        (summary["elapsed_cycles"].as_u64().unwrap(), summary["microseconds"].as_f64().unwrap())
    };
    let (_, slow) = time(&["--device", &file, "--json"]);
    let (_, same) = time(&["--profile", &file, "--json"]);
    let (_, fast) = time(&["--device", "GTX 280", "--json"]);
    assert_eq!(slow, same);
    assert!(slow > fast, "{slow} {fast}");
}

#[test]
fn an_inconsistent_profile_names_the_key() {
    let folder = Folder::new("bad-profile");
    let head = "name = \"Mine\"\nkind = \"device\"\ninherits = \"GeForce GTX 280\"\n";
    for (body, key) in [
        ("[source]\nclock = \"x\"\n[clock]\nsm_mhz = 0\n", "clock.sm_mhz"),
        ("[source]\nclock = \"x\"\n[clock]\nsm_mhz = \"fast\"\n", "clock.sm_mhz"),
        ("[source]\nclock = \"x\"\n[clock]\nsm_mhz = 1.0\nturbo = 3\n", "turbo"),
        ("[clock]\nsm_mhz = 600\n", "clock.sm_mhz"),
        (
            "[source]\nlimits = \"x\"\n[limits]\nmax_threads_per_sm = 1000\n",
            "limits.max_threads_per_sm",
        ),
        ("[source]\nshared = \"x\"\n[shared]\nbanks = 17\n", "shared.banks"),
    ] {
        let file = folder.write("mine.toml", &format!("{head}{body}"));
        let outcome = ptxrun(&["devices", &file]);
        assert_eq!(outcome.status, 1, "{body}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(key), "{body}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("mine.toml"), "{}", outcome.stderr);
        let json = tile(&["--device", &file, "--json"]);
        assert_eq!((json.status, &json.json()["error"]["kind"]), (1, &"profile".into()));
    }
    let file = folder.write("mine.toml", "name = ");
    assert!(ptxrun(&["devices", &file]).stderr.contains("not valid TOML"));
}

#[test]
fn occupancy_says_what_limits() {
    let plain = "advice/coalesced.ptx";
    let args = ["occupancy", plain, "--block", "128", "--regs", "20", "--device", "8800 GTX"];
    let text = ptxrun(&args);
    assert_eq!((text.status, &*text.stderr), (0, ""));
    insta::assert_snapshot!("occupancy", text.stdout);
    let json = ptxrun(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(json["limited_by"], serde_json::json!(["registers"]));
    assert_eq!((&json["blocks"], &json["warps"]), (&3.into(), &12.into()));
    assert_eq!(json["table"].as_array().unwrap().len(), 16);
}

#[test]
fn a_block_that_cannot_launch_is_refused_by_limit_and_amount() {
    let refuse = |args: &[&str]| {
        let head = ["occupancy", TILE, "--device", "8800 GTX"];
        let outcome = ptxrun(&[&head[..], args].concat());
        assert_eq!((outcome.status, &*outcome.stdout), (1, ""), "{}", outcome.stderr);
        outcome.stderr
    };
    let all = [
        refuse(&["--block", "1024", "--regs", "10"]),
        refuse(&["--block", "1,1,128", "--regs", "10"]),
        refuse(&["--block", "512", "--regs", "20"]),
        refuse(&["--block", "32", "--regs", "200"]),
        refuse(&["--block", "64", "--regs", "10", "--shared", "32K"]),
    ];
    insta::assert_snapshot!("refused", all.concat());
    for command in ["run", "profile"] {
        let launch = ptxrun(&[
            command,
            TILE,
            "--block",
            "1024",
            "--arg",
            "buf:32768",
            "--arg",
            "buf:32768",
            "--device",
            "8800 GTX",
        ]);
        assert_eq!(launch.status, 1, "{command}: {}", launch.stdout);
        assert!(launch.stderr.contains("exceeds the device's 512 by 512"), "{}", launch.stderr);
    }
    let json = ptxrun(&["occupancy", TILE, "--block", "1024", "--device", "8800 GTX", "--json"]);
    assert_eq!(json.json()["error"]["kind"], "does not fit");
    assert_eq!(ptxrun(&["occupancy", TILE]).status, 2, "no block is wrong usage");
}

#[test]
fn check_knows_what_a_device_takes() {
    let old = ptxrun(&["check", TILE, "--device", "8800 GTX"]);
    assert_eq!(old.status, 1);
    assert!(
        old.stdout.contains("the module is for sm_20 or later; GeForce 8800 GTX is sm_10"),
        "{}",
        old.stdout
    );
    assert_eq!(ptxrun(&["check", TILE, "--device", "H200"]).status, 0);
}

#[test]
fn a_launch_is_profiled() {
    let outcome = tile(&["--device", "GTX 280"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    for part in [
        "transpose_tile on GeForce GTX 280",
        "occupancy",
        "of 142 GB/s",
        "-way conflict",
        "tile.cu:7",
        "Shared-memory bank conflicts (PTX line",
        "guide 3.1.2.5",
    ] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    assert!(!outcome.stdout.contains('\u{1b}'), "no colour into a pipe");
    assert!(tile(&["--color", "always"]).stdout.contains('\u{1b}'));
    // The same every time.
    let (a, b) = (tile(&["--json"]), tile(&["--json"]));
    assert_eq!(a.stdout, b.stdout);
    let report = &a.json()["launches"][0]["report"];
    assert_eq!(report["summary"]["warp_instructions"].as_u64(), {
        let lines = report["lines"].as_array().unwrap();
        Some(lines.iter().filter_map(|l| l["issues"].as_u64()).sum())
    });
}

/// Text, JSON and page say the same numbers.
#[test]
fn text_data_and_page_agree() {
    let folder = Folder::new("agree");
    let file = folder.file("report.html");
    let text = tile(&["--html", &file]).stdout;
    let page = std::fs::read_to_string(&file).unwrap();
    let report = tile(&["--json"]).json()["launches"][0]["report"].clone();
    let three = |n: &Value| ptx_report::number::significant(n.as_f64().unwrap());
    let share = |n: &Value| ptx_report::number::percent(n.as_f64().unwrap());
    let count = |n: &Value| ptx_report::number::count(n.as_u64().unwrap());
    let both = |number: &str, beside: &str| {
        let lines = |text: &str, end: &str| {
            text.split(end).any(|line| line.contains(beside) && line.contains(number))
        };
        assert!(lines(&text, "\n"), "{beside} {number} in {text}");
        assert!(lines(&page, "</b>") || lines(&page, "</tr>"), "{beside} {number} in the page");
    };
    let scheduler = &report["scheduler"];
    both(&three(&scheduler["theoretical_warps"]), "warps that fit");
    both(&three(&scheduler["active_warps"]), "active warps");
    both(&three(&scheduler["eligible_warps"]), "eligible warps");
    both(&three(&scheduler["issued"]), "issued");
    let idle =
        format!("In {} of its clocks no warp could issue.", share(&scheduler["no_eligible"]));
    assert!(text.contains(&idle) && page.contains(&idle), "{idle}");
    for unit in report["units"].as_array().unwrap().iter().take(4) {
        both(&share(&unit["share"]), unit["name"].as_str().unwrap());
    }
    let operations = report["operations"].as_array().unwrap();
    assert!(operations.len() >= 4, "{operations:?}");
    for o in operations {
        let name = format!("{} {}", o["space"].as_str().unwrap(), o["kind"].as_str().unwrap());
        both(&count(&o["requests"]), &name);
    }
    for reason in report["stalls"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("bg-{reason}")), "{reason}");
    }
}

#[test]
fn a_warp_and_its_accesses_are_chosen() {
    let plain = tile(&["--device", "GTX 280"]);
    assert!(!plain.stdout.contains("lanes 0 to 31"), "{}", plain.stdout);
    let json = tile(&["--device", "GTX 280", "--warp", "5:3", "--json"]).json();
    let report = &json["launches"][0]["report"];
    let warp = &report["warp"];
    assert_eq!((warp["block"].as_u64(), warp["warp"].as_u64()), (Some(5), Some(3)));
    let line = |index: &Value| &report["lines"][index.as_u64().unwrap() as usize];
    let conflict =
        warp["accesses"].as_array().unwrap().iter().max_by_key(|a| a["pattern"]["cost"].as_u64());
    let conflict = conflict.unwrap();
    assert_eq!(conflict["space"], "shared");
    let steps = conflict["pattern"]["requests"].as_array().unwrap().iter();
    assert_eq!(
        steps.map(|r| r["steps"].as_u64().unwrap()).sum::<u64>(),
        conflict["pattern"]["cost"]
    );
    let ptx_line = line(&conflict["line"])["ptx_line"].to_string();
    // The text shows the same warp, and only the access that was asked for.
    let text = tile(&["--device", "GTX 280", "--warp", "5:3", "--access", &ptx_line]).stdout;
    let cost = conflict["pattern"]["cost"].as_u64().unwrap();
    for part in [
        "Warp 3 of block 5:",
        "lanes 0 to 31",
        "################################  32",
        &format!("  PTX line {ptx_line}: "),
        &format!("in shared memory, {cost} steps."),
        "    0-15, 1 ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("\n  Execution 1 ").count(), 1, "{text}");
    // What is not there is refused with what is.
    for (choice, says) in [
        (
            &["--warp", "64"][..],
            "no launch has warp 0 of block 64: `transpose_tile` has 64 blocks of 4 warps",
        ),
        (&["--access", "1"], "warp 0 of block 0 accesses no memory at PTX line 1; it does at "),
        (
            &["--access", &format!("{ptx_line}:2")],
            &format!("comes to PTX line {ptx_line} 1 time, not 2"),
        ),
        (&["--access", "0"], "write LINE or LINE:N"),
        (&["--warp", "a"], "write BLOCK or BLOCK:WARP"),
    ] {
        let refused = tile(choice);
        assert_eq!(refused.status, 2, "{choice:?}: {}", refused.stdout);
        assert!(refused.stderr.contains(says), "{says}: {}", refused.stderr);
    }
}

#[test]
fn several_devices_make_a_table() {
    let devices = "8800 GTX, GTX 280,M2090,K20X,H200";
    let text = tile(&["--device", devices]);
    assert_eq!((text.status, &*text.stderr), (0, ""));
    assert_eq!(
        text.stdout.lines().filter(|l| l.contains("imited by")).count(),
        5,
        "{}",
        text.stdout
    );
    let json = tile(&["--device", devices, "--json"]).json();
    assert_eq!(json["launches"].as_array().unwrap().len(), 5);
    // One that cannot run it is a line, not the end.
    let doubles = ptxrun(&[
        "profile",
        "advice/double_constant.ptx",
        "--grid",
        "64",
        "--block",
        "128",
        "--arg",
        "buf:65536",
        "--device",
        "8800 GTX,C1060",
    ]);
    assert_eq!(doubles.status, 0, "{}", doubles.stderr);
    assert!(doubles.stdout.contains("Tesla C1060  1.3"), "{}", doubles.stdout);
    assert!(
        doubles.stdout.contains("on GeForce 8800 GTX: k: GeForce 8800 GTX has no instructions")
    );
    assert_eq!(tile(&["--device", "8800 GTX,zzzzzzzzz"]).status, 2);
}

#[test]
fn profiling_leaves_the_results_as_running_does() {
    let args = ["--arg", "f32[8192]:iota", "--arg", "buf:32768", "--print", "1:f32:20"];
    let launch = ["--grid", "64", "--block", "128"];
    let run = ptxrun(&[&["run", TILE][..], &launch, &args].concat());
    let profile = ptxrun(&[&["profile", TILE][..], &launch, &args].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(profile.stdout.starts_with(&run.stdout), "{}", profile.stdout);
}

#[test]
fn the_page_is_self_contained() {
    let folder = Folder::new("page");
    let file = folder.file("report.html");
    let outcome = tile(&["--device", "GTX 280", "--html", &file]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.len() < 2_000_000);
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for part in [
        "Roofline",
        "Speed of light",
        "Memory, level by level",
        "Schedulers",
        "Instruction mix",
        "Launch",
        "Memory by operation",
        "Activity over time",
        "Timeline of one SM",
        "One warp",
        "Accesses of this warp",
        "Access patterns",
        "Occupancy over block sizes",
    ] {
        assert!(page.contains(&format!("<h2>{part}</h2>")), "{part}");
    }
    for tag in ["svg", "section", "table", "div", "figure", "article"] {
        let count = |text: &str| page.matches(text).count();
        let open = count(&format!("<{tag} ")) + count(&format!("<{tag}>"));
        assert_eq!(open, count(&format!("</{tag}>")), "{tag}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf "), "numbers that no browser draws");
}

#[test]
fn the_trace_is_what_perfetto_reads() {
    let folder = Folder::new("trace");
    let file = folder.file("trace.json");
    assert_eq!(tile(&["--trace", &file]).status, 0);
    let trace: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let spans: Vec<&Value> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert!(spans.len() > 100, "{}", spans.len());
    for span in &spans {
        assert!(span["ts"].as_f64().unwrap() >= 0.0 && span["dur"].as_f64().unwrap() >= 0.0);
        assert!(span["tid"].is_u64() && span["pid"].is_u64() && span["name"].is_string());
    }
    assert!(spans.iter().any(|s| s["name"].as_str().unwrap().starts_with("ld.global.f32")));
    assert!(spans.iter().any(|s| s["cat"] == "stall"));
    assert!(events.iter().any(|e| e["name"] == "thread_name"));
}

#[test]
fn two_profiles_are_compared() {
    let folder = Folder::new("compare");
    let padded = folder.write(
        "padded.ptx",
        &std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(TILE))
            .unwrap()
            .replace("mul.lo.u32 %r4, %r1, 64;", "mul.lo.u32 %r4, %r1, 68;"),
    );
    let before = folder.write("a.json", &tile(&["--device", "GTX 280", "--json"]).stdout);
    let args = [
        "profile",
        &padded,
        "--grid",
        "64",
        "--block",
        "128",
        "--regs",
        "10",
        "--arg",
        "f32[8192]:iota",
        "--arg",
        "buf:32768",
        "--device",
        "GTX 280",
        "--json",
    ];
    let after = folder.write("b.json", &ptxrun(&args).stdout);
    let text = ptxrun(&["compare", &before, &after]);
    assert_eq!(text.status, 0, "{}", text.stderr);
    assert!(text.stdout.contains("times as fast"), "{}", text.stdout);
    assert!(text.stdout.contains("resolved: Shared-memory bank conflicts"), "{}", text.stdout);
    let json = ptxrun(&["compare", &before, &after, "--json"]).json();
    assert_eq!(json["launches"][0]["changes"]["bank conflicts (steps)"]["after"], 0.0);
    assert!(json["launches"][0]["speedup"].as_f64().unwrap() > 1.0);
    let same = ptxrun(&["compare", &before, &before]);
    assert!(same.stdout.contains("as fast as before"), "{}", same.stdout);
    let foreign = folder.write("c.json", "{\"ok\": true}");
    let wrong = ptxrun(&["compare", &before, &foreign]);
    assert_eq!(wrong.status, 1);
    assert!(wrong.stderr.contains("is no file of `ptxrun profile --json`"), "{}", wrong.stderr);
    assert_eq!(ptxrun(&["compare", &before, "/no/such/file"]).status, 2);
}

#[test]
fn what_faults_or_is_misused_says_so() {
    let fault =
        ptxrun(&["profile", TILE, "--block", "128", "--arg", "buf:16", "--arg", "buf:32768"]);
    assert_eq!(fault.status, 1, "{}", fault.stdout);
    assert!(
        fault.stderr.contains("out of bounds") || fault.stderr.contains("outside"),
        "{}",
        fault.stderr
    );
    assert_eq!(ptxrun(&["profile", TILE, "--block", "128"]).status, 2, "arguments are missing");
    assert_eq!(ptxrun(&["profile", "/no/such/file.ptx"]).status, 2);
    assert_eq!(tile(&["--html", "/no/such/folder/x.html"]).status, 2);
    assert_eq!(tile(&["--regs", "0"]).status, 2);
    assert_eq!(tile(&["--sample", "0"]).status, 2);
    let double = "advice/double_constant.ptx";
    let unsupported = ptxrun(&[
        "profile",
        double,
        "--grid",
        "64",
        "--block",
        "128",
        "--arg",
        "buf:65536",
        "--device",
        "8800 GTX",
    ]);
    assert_eq!(unsupported.status, 1, "{}", unsupported.stdout);
    assert!(
        unsupported.stderr.contains("has no instructions of class 'f64-add'"),
        "{}",
        unsupported.stderr
    );
}
