//! Every recorded whole kernel: compiled by nvcc, NVRTC and clang, run here, compared with what the
//! hardware returned. Compiled runs take their modules from containers.
//!
//! `PTXRUN_KERNEL=SUBSTRING` runs the cases whose name holds it.

use std::collections::BTreeMap;
use std::sync::Arc;

use golden::kernels::{self, Arg, Case, Dtype, Image};
use ptx_runtime::check::{Checks, Finding};
use ptx_runtime::isa::texture::{Address, Channel, Texels, Texture};
use ptx_runtime::{
    Backend, Context, DeviceOptions, DevicePtr, Engine, KernelArg, LaunchConfig, Module, Verified,
};

/// Bytes around every buffer that must stay as they are.
const GUARD: usize = 256;

fn channel(dtype: Dtype) -> Channel {
    match dtype {
        Dtype::U8 => Channel::U8,
        Dtype::S8 => Channel::S8,
        Dtype::U16 => Channel::U16,
        Dtype::S16 => Channel::S16,
        Dtype::U32 => Channel::U32,
        Dtype::S32 => Channel::S32,
        Dtype::F16 => Channel::F16,
        _ => Channel::F32,
    }
}

/// The object that the driver would make of a case's description.
fn texture(context: &Context, image: &Image) -> Texture {
    let size: Vec<u32> = match (image.n, image.h, image.d) {
        (Some(n), ..) => vec![n as u32],
        (None, h, 0) => vec![image.w, h],
        (None, h, d) => vec![image.w, h, d],
    };
    let mut t = Texture::array(&size, channel(image.dtype), image.ch as u8, &image.data);
    let mode = match image.addr.as_str() {
        "wrap" => Address::Wrap,
        "mirror" => Address::Mirror,
        "border" => Address::Border,
        _ => Address::Clamp,
    };
    t.address = [mode; 3];
    t.linear = image.filter == "linear";
    t.normalized = image.normcoord != 0;
    t.read_normalized = image.normfloat != 0;
    if matches!(image.kind.as_str(), "linear" | "pitch") {
        let at = context.alloc(image.data.len() as u64).expect("memory for texels");
        context.copy_to_device(at, &image.data).expect("texels written");
        let row = u64::from(image.w) * u64::from(image.ch) * image.dtype.bytes() as u64;
        t.texels = Texels::Memory { address: at.0, pitch: row };
    }
    t
}

/// Whether the results are the recorded ones bit for bit, what ran the kernel, and what the checks have found.
fn run(
    case: &Case,
    backend: Backend,
    checks: Checks,
) -> Result<(bool, Engine, Vec<Finding>), String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let options = DeviceOptions { checks, ..DeviceOptions::default() };
    let context = Context::new(&options).map_err(|e| text(&e))?;
    let mut verified = Verified::new(&case.source, &case.id).map_err(|e| text(&e))?;
    if backend == Backend::Jit {
        let bytes = verified.assemble(&[]).map_err(|e| text(&e))?;
        verified = Verified::from_bytes(bytes, &case.id).map_err(|e| text(&e))?;
        if *verified.module().source != *case.source {
            return Err("the container holds another text".into());
        }
    }
    let module = Module::from_verified(&context, &verified).map_err(|e| text(&e))?;
    for g in &case.globals_in {
        let (at, _) = module.global(&g.name).ok_or_else(|| format!("no variable {}", g.name))?;
        context.copy_to_device(at, &g.data).map_err(|e| text(&e))?;
    }
    let mut args = Vec::new();
    let mut buffers: Vec<(&kernels::Buffer, DevicePtr)> = Vec::new();
    let mut surfaces: BTreeMap<&str, Arc<Texture>> = BTreeMap::new();
    for a in &case.args {
        args.push(match a {
            Arg::Scalar(bytes) => KernelArg::Bytes(bytes.clone()),
            Arg::Buffer(b) => {
                let mut image = vec![0xc3; GUARD];
                image.extend(&b.data);
                image.resize(image.len() + GUARD, 0xc3);
                let at = context.alloc(image.len() as u64).map_err(|e| text(&e))?;
                context.copy_to_device(at, &image).map_err(|e| text(&e))?;
                buffers.push((b, at));
                KernelArg::Pointer(at.offset(GUARD as u64))
            }
            Arg::Texture(image) => {
                let object = context.add_object(Arc::new(texture(&context, image)));
                KernelArg::Object(object)
            }
            Arg::Surface(name, image) => {
                let object = Arc::new(texture(&context, image));
                surfaces.insert(name, object.clone());
                KernelArg::Object(context.add_object(object))
            }
        });
    }
    let config = LaunchConfig {
        grid: case.grid,
        block: case.block,
        shared: case.shared,
        args,
        backend,
        ..LaunchConfig::default()
    };
    let stats = context.launch(&module, &case.entry, config).map_err(|e| text(&e))?;
    let mut outputs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (b, at) in buffers {
        let mut image = vec![0; b.data.len() + 2 * GUARD];
        context.copy_from_device(at, &mut image).map_err(|e| text(&e))?;
        let body = image[GUARD..image.len() - GUARD].to_vec();
        if image[..GUARD].iter().chain(&image[image.len() - GUARD..]).any(|v| *v != 0xc3) {
            return Err(format!("wrote outside {}", b.name));
        }
        if b.read_only && body != b.data {
            return Err(format!("wrote to input {}", b.name));
        }
        outputs.insert(b.name.clone(), body);
    }
    for (name, object) in surfaces {
        outputs.insert(name.into(), object.bytes());
    }
    for g in &case.globals_out {
        let (at, _) = module.global(&g.name).ok_or_else(|| format!("no variable {}", g.name))?;
        let mut bytes = vec![0; g.data.len()];
        context.copy_from_device(at, &mut bytes).map_err(|e| text(&e))?;
        outputs.insert(format!("@{}", g.name), bytes);
    }
    let mut exact = true;
    for (name, (dtype, mode, want)) in &case.expect {
        let got = outputs.get(name).ok_or_else(|| format!("no output {name}"))?;
        exact &= got == want;
        if let Some(why) = kernels::differs(*dtype, mode, got, want) {
            return Err(format!("{name}: {why}"));
        }
    }
    Ok((exact, stats.engine, context.findings().0))
}

/// The recorded cases that are asked for.
fn cases() -> Vec<Case> {
    let mut cases = kernels::shared().expect("the repository holds them");
    let only = std::env::var("PTXRUN_KERNEL").unwrap_or_default();
    cases.retain(|case| case.id.contains(&only));
    cases
}

/// Runs all cases; how many passed, and ran compiled code.
fn all(backend: Backend) -> (usize, usize) {
    let (mut passed, mut failed, mut exact, mut compiled) = (0, 0, 0, 0);
    for case in cases() {
        match run(&case, backend, Checks::default()) {
            Ok((bits, engine, _)) => {
                passed += 1;
                exact += usize::from(bits);
                match engine {
                    Engine::Compiled(_) => compiled += 1,
                    Engine::Fallback(why) => println!("{}: {why}", case.id),
                    Engine::Interpreter => {}
                }
                if !bits {
                    println!("{}: within tolerance", case.id);
                }
            }
            Err(why) => {
                failed += 1;
                println!("{}: {why}", case.id);
            }
        }
    }
    println!("{exact} of {passed} passing cases are equal bit for bit, {compiled} compiled");
    println!("{passed} passed, {failed} failed");
    assert!(passed > 0);
    assert_eq!(failed, 0);
    (passed, compiled)
}

#[test]
fn recorded_kernels_return_the_recorded_results() {
    assert_eq!(all(Backend::Interp).1, 0);
}

#[test]
fn recorded_kernels_compiled_return_the_recorded_results() {
    let (passed, compiled) = all(Backend::Jit);
    assert!(compiled * 100 >= passed * 95, "{compiled} of {passed} cases are compiled");
}

/// The last block of `reduce_lastblock` reads what the others wrote behind an atomic without a fence, and sets the
/// counter back likewise: by the memory model both are races. The other kernels are sound.
#[test]
fn recorded_kernels_are_without_findings() {
    let mut ran = 0;
    for case in cases() {
        let (_, _, findings) = run(&case, Backend::Interp, Checks::ALL)
            .unwrap_or_else(|why| panic!("{}: {why}", case.id));
        let classes: Vec<String> = findings.iter().map(|f| format!("{:?}", f.class)).collect();
        let expected: &[&str] = match case.entry.as_str() {
            "reduce_lastblock" => &["ReadWrite", "WriteWrite"],
            _ => &[],
        };
        assert_eq!(classes, expected, "{}: {findings:?}", case.id);
        ran += 1;
    }
    assert!(ran > 0, "a case was run");
}

/// Once more with the shorter vectors that the processor has.
#[test]
fn recorded_kernels_compiled_with_short_vectors() {
    let own = ptx_runtime::vector_bits();
    for bits in [128u32, 256].into_iter().filter(|bits| *bits < own) {
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recorded_kernels_compiled_return_the_recorded_results"])
            .env("PTXRUN_JIT_BITS", bits.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let what = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{bits} bits: {text}{what}");
        assert!(text.contains("1 passed"), "the test has run: {text}");
    }
}
