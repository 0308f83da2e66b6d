//! Programs of `tests/run`, compiled, run in the interpreter and compared with what their first lines say:
//! `// expect KERNEL WORK-ITEMS: values` of the `int` buffer, `// prints: line` of `printf`.

use std::sync::{Arc, Mutex};

use opencl_frontend::{Options, compile};
use ptx_runtime::{Context, DeviceOptions, LaunchConfig, Module};

struct Run {
    out: Vec<i32>,
    printed: String,
}

fn run(
    name: &str,
    source: &str,
    flags: &str,
    kernel: &str,
    items: u32,
    count: usize,
) -> Result<Run, String> {
    let options = Options::parse(flags).expect("options");
    let ptx = match compile(name, source, &options) {
        Ok(out) => out.ptx,
        Err(failure) => return Err(failure.rendered),
    };
    let device = Context::new(&DeviceOptions::default()).expect("device");
    let module = Module::load(&device, &ptx, "k.ptx").map_err(|e| e.to_string())?;
    let out = device.alloc(count as u64 * 4).expect("memory");
    device.copy_to_device(out, &vec![0xee; count * 4]).expect("copy");
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = printed.clone();
    let config = LaunchConfig {
        block: [items, 1, 1],
        args: vec![out.into()],
        print: Some(Box::new(move |bytes| sink.lock().expect("output").extend_from_slice(bytes))),
        ..LaunchConfig::default()
    };
    if let Err(error) = device.launch(&module, kernel, config) {
        return Err(error.render(module.verified(), false));
    }
    let mut bytes = vec![0; count * 4];
    device.copy_from_device(out, &mut bytes).expect("copy");
    let out = bytes.chunks_exact(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let printed = String::from_utf8_lossy(&printed.lock().expect("output")).into_owned();
    Ok(Run { out, printed })
}

#[test]
fn programs_give_what_they_expect() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("folder").map(|e| e.expect("file").path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for path in &files {
        let name = path.file_name().expect("name").to_string_lossy().into_owned();
        let source = std::fs::read_to_string(path).expect("text");
        let expected: Vec<&str> =
            source.lines().filter_map(|l| l.strip_prefix("// expect ")).collect();
        assert!(!expected.is_empty(), "{name} expects nothing");
        let prints: String = source
            .lines()
            .filter_map(|l| l.strip_prefix("// prints: "))
            .map(|l| format!("{l}\n"))
            .collect();
        for line in expected {
            let (head, values) = line.split_once(':').expect("values");
            let (kernel, items) = head.split_once(' ').expect("work-items");
            let values: Vec<i32> = values
                .split_whitespace()
                .map(|v| v.parse::<i64>().expect("number") as i32)
                .collect();
            for flags in ["", "-cl-opt-disable", "-arch=sm_90 -g", "-arch=sm_20"] {
                if flags == "-arch=sm_20" && name == "half.cl" {
                    continue;
                }
                let got = run(
                    &name,
                    &source,
                    flags,
                    kernel,
                    items.parse().expect("work-items"),
                    values.len(),
                );
                let got = match got {
                    Ok(got) => got,
                    Err(text) => {
                        wrong.push(format!("{name} {flags}: {text}"));
                        continue;
                    }
                };
                if got.out != values {
                    let places: Vec<String> = (0..values.len())
                        .filter(|i| got.out[*i] != values[*i])
                        .map(|i| format!("[{i}] is {}, not {}", got.out[i], values[i]))
                        .collect();
                    wrong.push(format!("{name} {flags}: {}", places.join("; ")));
                }
                if got.printed != prints {
                    wrong.push(format!("{name} {flags} printed:\n{}", got.printed));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() >= 10);
}
