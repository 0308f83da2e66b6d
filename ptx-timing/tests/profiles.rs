//! Profiles: every device of the record is there with its numbers, and bad files are refused with
//! an error that names the key.

mod common;

use ptx_timing::profile::Kind;
use ptx_timing::{Catalog, Class, ProfileError};

fn catalog() -> Catalog {
    Catalog::embedded().unwrap_or_else(|e| panic!("{e}"))
}

fn every_embedded_profile_is_complete_and_consistent() {
    let c = catalog();
    let names: Vec<_> = c.device_names().into_iter().chain(c.class_names()).collect();
    assert_eq!((c.device_names().len(), c.class_names().len()), (115, 29));
    for name in names {
        let p = c.get(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(p.name, name);
        assert!(p.source_of("dram.bandwidth_gbps").is_some(), "{name}");
        assert!(p.source_of("class.f32-fma.per_clock").is_some(), "{name}");
        if p.kind == Kind::Device {
            assert!(
                p.source_of("device.multiprocessors")
                    .is_some_and(|s| s.file.starts_with("devices"))
            );
        }
    }
}

fn names_are_forgiving() {
    let c = catalog();
    for (typed, name) in [
        ("h200", "H200"),
        ("NVIDIA H200", "H200"),
        ("gtx280", "GeForce GTX 280"),
        ("geforce gtx-280", "GeForce GTX 280"),
        ("8800 gtx", "GeForce 8800 GTX"),
        ("9800 GTX+", "GeForce 9800 GTX+"),
        ("9800gtx", "GeForce 9800 GTX"),
        ("C1060", "Tesla C1060"),
        ("k20x", "Tesla K20X"),
        ("cc-1.3", "cc-1.3"),
        ("GeForce 9700M GT", "GeForce 9700M GT"),
        ("sm_90", "H200"),
        ("sm_90a", "H200"),
        ("compute_86", "NVIDIA GeForce RTX 3090"),
        ("8.9", "cc-8.9"),
        ("4090", "NVIDIA GeForce RTX 4090"),
        ("h100", "NVIDIA H100 80GB HBM3"),
        ("HOST", "host"),
    ] {
        assert_eq!(c.get(typed).unwrap_or_else(|e| panic!("{typed}: {e}")).name, name);
    }
}

/// Compute capabilities of every NVIDIA GPU that PTX was ever assembled for.
const CAPABILITIES: &str = "1.0 1.1 1.2 1.3 2.0 2.1 3.0 3.2 3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 \
                            8.9 9.0 10.0 10.3 11.0 12.0 12.1";

fn every_capability_is_a_class_and_a_device() {
    let c = catalog();
    for cc in CAPABILITIES.split_whitespace() {
        let class = c.get(&format!("cc-{cc}")).unwrap_or_else(|e| panic!("{e}"));
        let device =
            c.get(&format!("sm_{}", cc.replace('.', ""))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((class.kind, device.kind), (Kind::Class, Kind::Device), "{cc}");
        assert_eq!(class.device.compute_capability.to_string(), cc);
        assert_eq!(device.device.compute_capability.to_string(), cc);
    }
}

fn numbers_of_another_capability_are_assumed() {
    let c = catalog();
    let assumed = |name: &str, key: &str| {
        let profile = c.get(name).unwrap_or_else(|e| panic!("{e}"));
        profile
            .source_of(key)
            .unwrap_or_else(|| panic!("{key}"))
            .assumed_from
            .map(|cc| cc.to_string())
    };
    assert_eq!(assumed("sm_86", "class.f32-fma.per_clock"), None);
    assert_eq!(assumed("sm_86", "class.f32-fma.latency"), Some("9.0".to_owned()));
    assert_eq!(assumed("sm_86", "class.int-mul.per_clock"), Some("8.0".to_owned()));
    assert_eq!(assumed("H200", "class.f32-fma.latency"), None);
    assert_eq!(assumed("h100 pcie", "class.f32-fma.latency"), None);
}

fn unknown_names_get_suggestions() {
    let error = catalog().get("sm_99").unwrap_err().to_string();
    assert!(error.starts_with("unknown device 'sm_99'; did you mean 'sm_"), "{error}");
    let error = catalog().get("gtx 281").unwrap_err();
    let ProfileError::UnknownDevice { suggestions, .. } = &error else { panic!("{error:?}") };
    assert!(suggestions.contains(&"GeForce GTX 280".to_owned()), "{suggestions:?}");
    assert!(error.to_string().starts_with("unknown device 'gtx 281'; did you mean '"), "{error}");
    let error = catalog().get("Voodoo Banshee 3000 XL").unwrap_err();
    assert_eq!(error.to_string(), "unknown device 'Voodoo Banshee 3000 XL'");
}

/// Adds a user's file to the catalog and asks for `mine`.
fn user(text: &str) -> Result<ptx_timing::Profile, ProfileError> {
    let mut c = catalog();
    c.add_text("mine.toml", text)?;
    c.get("mine")
}

const HEAD: &str = "name = \"mine\"\nkind = \"device\"\ninherits = \"GTX 280\"\n";

fn a_user_file_overrides_single_numbers() {
    let p =
        user(&format!("{HEAD}[source]\nclock = \"data sheet\"\n[clock]\nsm_mhz = 1000\n")).unwrap();
    assert_eq!(p.clock.sm_mhz, 1000.0);
    assert_eq!(p.clock.core_mhz, 602.0);
    assert_eq!(p.source_of("clock.sm_mhz").unwrap().file, "mine.toml");
    assert!(p.source_of("clock.core_mhz").unwrap().file.contains("geforce-gtx-280"));
}

fn a_user_file_can_refine_an_embedded_device_under_its_own_name() {
    let mut c = catalog();
    let text = "name = \"H200\"\nkind = \"device\"\ninherits = \"H200\"\n\
                [source]\nclock = \"locked\"\n[clock]\nsm_mhz = 1200\n";
    assert_eq!(c.add_text("locked.toml", text).as_deref(), Ok("H200"));
    let p = c.get("h200").unwrap();
    assert_eq!((p.clock.sm_mhz, p.device.multiprocessors), (1200.0, 132));
    assert_eq!(c.device_names().len(), 115);
}

fn bad_files_name_the_key() {
    let cases = [
        ("[clock\n", "mine.toml: not valid TOML: "),
        (
            "[clock]\nsm_mhz = 1000\n",
            "mine.toml: key 'clock.sm_mhz' has no entry in [source] (its own or its section's)",
        ),
        (
            "[source]\nclock = \"x\"\n[clock]\nsm_mhz = \"fast\"\n",
            "mine.toml: key 'clock.sm_mhz': invalid type: string \"fast\", expected f64",
        ),
        (
            "[source]\nclock = \"x\"\n[clock]\nsm_ghz = 1\n",
            "mine.toml: key 'clock.sm_ghz': unknown field `sm_ghz`, expected `core_mhz` or `sm_mhz`",
        ),
        (
            "[source]\nclock = \"x\"\n[clock]\nsm_mhz = -5\n",
            "mine.toml: key 'clock.sm_mhz': is -5, must be greater than 0",
        ),
        (
            "[source]\nlimits = \"x\"\n[limits]\nmax_warps_per_sm = 31\n",
            "mine.toml: key 'limits.max_threads_per_sm': is 1024, but 31 warps of 32 are 992",
        ),
        (
            "[global]\nload_in_l1 = true\n",
            "mine.toml: key 'global.load_in_l1': is true, but there is no [l1]",
        ),
        (
            "[global]\nload = \"psychic\"\n",
            "mine.toml: key 'global.load': unknown variant `psychic`, expected one of ",
        ),
        (
            "[source]\nclass = \"x\"\n[class]\nf32-add = { pipes = [\"tensor\"] }\n",
            "mine.toml: key 'class.f32-add.pipes': names unknown pipe 'tensor'",
        ),
        (
            "[source]\ndram = \"x\"\n[dram]\nefficiency = 1.5\n",
            "mine.toml: key 'dram.efficiency': is 1.5, must lie in (0, 1]",
        ),
        (
            "[source]\nl1 = \"x\"\n[l1]\nbytes = 16384\n",
            "mine.toml: key 'l1.line_bytes' is missing, here and in every profile it inherits from",
        ),
        (
            "[source]\ncolour = \"x\"\n",
            "mine.toml: key 'source.\"colour\"': names a key that this file does not give",
        ),
    ];
    for (text, message) in cases {
        let error = user(&format!("{HEAD}{text}")).expect_err(text).to_string();
        assert!(error.starts_with(message), "{text}\ngot:  {error}\nwant: {message}");
    }
}

fn inheritance_errors() {
    let error = user("name = \"mine\"\nkind = \"device\"\ninherits = \"GTX 281\"\n").unwrap_err();
    assert!(
        matches!(&error, ProfileError::UnknownParent { suggestions, .. } if !suggestions.is_empty())
    );
    let mut c = catalog();
    c.add_text("a.toml", "name = \"a1\"\nkind = \"class\"\ninherits = \"b1\"\n").unwrap();
    c.add_text("b.toml", "name = \"b1\"\nkind = \"class\"\ninherits = \"a1\"\n").unwrap();
    let error = c.get("a1").unwrap_err();
    assert_eq!(error.to_string(), "a.toml: inheritance goes round in a circle: a1 -> b1 -> a1");
    let error = user("kind = \"device\"\n").unwrap_err();
    assert_eq!(error, ProfileError::MissingKey { file: "mine.toml".into(), key: "name".into() });
    let error = c.add_file(std::path::Path::new("/no/such/file.toml")).unwrap_err();
    assert!(matches!(error, ProfileError::Io { .. }));
}

fn devices_of_the_record() {
    let file = common::toml_file("devices.toml");
    let c = catalog();
    let mut seen = std::collections::BTreeSet::new();
    for d in file["device"].as_array().unwrap() {
        let int = |k: &str| d[k].as_integer().unwrap() as u32;
        let mut name = d["name"].as_str().unwrap().to_owned();
        if d.get("uncertain").is_some() && int("multiprocessors_per_gpu") == 6 {
            name += " (6 multiprocessors)";
        }
        let p = c.get(&name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(p.name, name);
        assert_eq!(p.device.gpus, int("gpus"), "{name}");
        assert_eq!(p.device.multiprocessors, int("multiprocessors_per_gpu"), "{name}");
        assert_eq!(
            p.device.compute_capability.to_string(),
            d["compute_capability"].as_str().unwrap()
        );
        seen.insert(name);
    }
    assert_eq!(seen.len(), 85, "84 devices, one of them printed twice");
    for d in file["public"].as_array().unwrap() {
        let number = |k: &str| {
            d.get(k).map(|v| v.as_float().unwrap_or_else(|| v.as_integer().unwrap() as f64))
        };
        let p = c.get(d["device"].as_str().unwrap()).unwrap();
        assert_eq!(
            p.device.multiprocessors,
            number("multiprocessors").unwrap() as u32,
            "{}",
            p.name
        );
        assert_eq!(Some(p.clock.core_mhz), number("core_mhz"), "{}", p.name);
        assert_eq!(Some(p.clock.sm_mhz), number("shader_mhz").or(number("core_mhz")), "{}", p.name);
        assert_eq!(Some(p.dram.bandwidth_gbps), number("memory_gbps"), "{}", p.name);
        assert_eq!(Some(f64::from(p.dram.bus_bits)), number("memory_bus_bits"), "{}", p.name);
        if let Some(kib) = number("l2_kib") {
            assert_eq!(p.l2.as_ref().map(|l2| l2.bytes as f64), Some(kib * 1024.0), "{}", p.name);
        }
        if let Some(peak) = number("fp32_mad_gflops") {
            assert!(
                (p.peak_f32_gflops() - peak).abs() < 0.1,
                "{}: {}",
                p.name,
                p.peak_f32_gflops()
            );
        }
    }
}

fn limits_of_the_record() {
    let file = common::toml_file("limits.toml");
    let c = catalog();
    for (cc, table) in file["cc"].as_table().unwrap() {
        let name = if cc == "3.x" { "cc-3.5".to_owned() } else { format!("cc-{cc}") };
        let p = c.get(&name).unwrap();
        let l = &p.limits;
        for (key, value) in table.as_table().unwrap() {
            let n = value.as_integer().unwrap_or(-1);
            let got: Option<u64> = match key.as_str() {
                "max_threads_per_block" => Some(l.max_threads_per_block.into()),
                "warp_size" => Some(l.warp_size.into()),
                "registers_per_sm" => Some(l.registers_per_sm.into()),
                "shared_bytes_per_sm" => Some(l.shared_bytes_per_sm.into()),
                "shared_banks" => Some(p.shared.banks.into()),
                "shared_bank_bytes" => Some(p.shared.bank_bytes.into()),
                "constant_bytes" => Some(p.constant.bytes.into()),
                "constant_cache_working_set_bytes_per_sm" => Some(p.constant.cache.bytes),
                "local_bytes_per_thread" => Some(l.local_bytes_per_thread.into()),
                "max_blocks_per_sm" => Some(l.max_blocks_per_sm.into()),
                "max_warps_per_sm" => Some(l.max_warps_per_sm.into()),
                "max_threads_per_sm" => Some(l.max_threads_per_sm.into()),
                "cores_per_sm" => Some(p.device.cores_per_multiprocessor.into()),
                "max_block_dim" => {
                    let list: Vec<_> = value
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|v| v.as_integer().unwrap() as u32)
                        .collect();
                    assert_eq!(list, l.max_block_dim);
                    None
                }
                _ => None,
            };
            if let Some(got) = got {
                assert_eq!(got as i64, n, "cc {cc}, {key}");
            }
        }
    }
}

fn throughput_of_the_record_on_1x() {
    let file = common::toml_file("throughput_latency.toml");
    let table = file["throughput_1x"].as_table().unwrap();
    let p = catalog().get("cc-1.0").unwrap();
    use Class::*;
    let mut checked = 0;
    for (key, classes) in [
        ("fp32_add", &[F32Add][..]),
        ("fp32_mul", &[F32Mul]),
        ("fp32_mad", &[F32Fma]),
        ("fp32_rcp", &[F32RcpApprox]),
        ("fp32_div", &[F32Div]),
        ("native_divide", &[F32DivApprox]),
        ("fp32_rsqrt", &[F32Rsqrt]),
        ("fp32_sqrt", &[F32Sqrt, F32SqrtApprox]),
        ("native_log", &[F32Lg2]),
        ("native_sin", &[F32SinCos]),
        ("native_exp", &[F32Ex2]),
        ("int_add", &[IntAdd]),
        ("int_mul32", &[IntMul]),
        ("int_mul24", &[IntMul24]),
        ("compare_min_max", &[Compare, F32MinMax, IntMinMax]),
        ("bitwise", &[Logic]),
        ("type_conversion", &[Convert, ConvertInt]),
        ("memory_instruction", &[LoadGlobal, StoreGlobal, LoadShared]),
        ("barrier", &[Barrier]),
    ] {
        let n = table[key].as_float().unwrap_or_else(|| table[key].as_integer().unwrap() as f64);
        for class in classes {
            assert_eq!(p.class[class].per_clock, n, "{key}");
            checked += 1;
        }
    }
    assert_eq!(checked, 25);
    let latency = &file["latency"];
    let raw = latency["register_raw_cycles"].as_integer().unwrap();
    assert_eq!(i64::from(p.class[&F32Fma].latency), raw);
    // 24 cycles at 8 lanes per cycle take 192 threads to hide.
    let hide = raw * i64::from(p.device.cores_per_multiprocessor);
    assert_eq!(hide, latency["threads_to_hide_raw_1x"].as_integer().unwrap());
    let global: Vec<_> = latency["global_memory_cycles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_integer().unwrap())
        .collect();
    for cc in ["cc-1.0", "cc-1.1", "cc-1.3", "cc-2.0"] {
        let l = i64::from(catalog().get(cc).unwrap().dram.latency);
        assert!(global[0] <= l && l <= global[1], "{cc}: {l}");
    }
}

/// The ways from L2 to groups of SMs were measured on GH100.
fn other_chips_have_no_known_ways_to_groups() {
    let catalog = Catalog::embedded().unwrap();
    let groups = |device| catalog.get(device).unwrap().l2.map_or(0, |l2| l2.groups);
    assert_eq!(["H100 SXM", "H100 PCIe", "H200"].map(groups), [8; 3]);
    let others =
        ["GTX 750 Ti", "P100", "V100", "T4", "A100", "RTX A6000", "RTX 4090", "B200", "RTX 5090"];
    assert_eq!(others.map(groups), [0; 9]);
}

/// Drivers are asked for their devices on threads of any size; without optimising, a table's reader takes much.
fn profiles_are_read_on_threads_with_little_stack() {
    let read = || catalog().get("H200").map(|profile| profile.device.multiprocessors);
    let small = std::thread::Builder::new().stack_size(32 << 10).spawn(read).expect("a thread");
    assert_eq!(small.join().expect("no panic").expect("a profile"), 132);
}

golden::tests! {
    every_embedded_profile_is_complete_and_consistent,
    names_are_forgiving,
    every_capability_is_a_class_and_a_device,
    numbers_of_another_capability_are_assumed,
    unknown_names_get_suggestions,
    a_user_file_overrides_single_numbers,
    a_user_file_can_refine_an_embedded_device_under_its_own_name,
    bad_files_name_the_key,
    inheritance_errors,
    other_chips_have_no_known_ways_to_groups,
    profiles_are_read_on_threads_with_little_stack,
    devices_of_the_record: shared("facts"),
    limits_of_the_record: shared("facts"),
    throughput_of_the_record_on_1x: shared("facts"),
}
