//! Time per launch of a few kernels: compiled against interpreted, one host thread.
//!
//! `cargo run --release -p ptx-jit --example bench`

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::Instant;

use common::Case;
use ptx_interp::{Kernel, launch};
use ptx_jit::{Launch, Worker};

fn sample(name: &str) -> String {
    let path = format!("{}/../samples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn floats(n: usize) -> Vec<u32> {
    (0..n).map(|i| (((i * 37) % 101) as f32 / 16.0).to_bits()).collect()
}

fn least(turns: usize, mut f: impl FnMut()) -> f64 {
    (0..turns)
        .map(|_| {
            let t = Instant::now();
            f();
            t.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::MAX, f64::min)
}

fn bench(name: &str, case: &Case) {
    let t = Instant::now();
    let kernel = match case.compile() {
        Ok(k) => k,
        Err(u) => {
            println!("{name:20} not compiled: {u}");
            return;
        }
    };
    let compile = t.elapsed().as_secs_f64() * 1e3;
    let l = Launch {
        device: &case.copies,
        grid: case.params.grid,
        params: &case.params.params,
        symbols: &case.params.symbols,
        shared_bytes: case.shared_bytes(),
    };
    let mut worker = Worker::new(&kernel, &l);
    let blocks: u64 = case.params.grid.iter().map(|n| *n as u64).product();
    let jit = least(15, || (0..blocks).for_each(|b| worker.run(b).expect("no fault")));
    let decoded = Kernel::decode(Arc::new(case.program.clone()));
    let interp = least(5, || {
        launch(&decoded, &case.memory, &case.params).expect("no fault");
    });
    println!(
        "{name:20} {jit:10.1} us compiled  {interp:10.1} us interpreted  x{:6.2}  {compile:6.2} ms to compile, {} lanes, {} bytes",
        interp / jit,
        kernel.stats.lanes,
        kernel.stats.code_bytes,
    );
}

fn main() {
    let n = 65536usize;
    let u = |v: u32| v.to_le_bytes();
    let mut c =
        Case::new(&sample("saxpy/saxpy.nvcc13.sm_90.ptx"), "saxpy", [256, 1, 1], [256, 1, 1])
            .unwrap();
    c.arg(&u(n as u32)).arg(&2.5f32.to_le_bytes());
    c.words(floats(n));
    c.words(floats(n));
    bench("saxpy 64 K", &c);

    for (name, file, entry) in [
        ("matmul naive 128", "matmul_naive", "matmul"),
        ("matmul tiled 128", "matmul_tiled", "matmul"),
    ] {
        let folder = format!("{}/../samples/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .map(|f| f.path())
            .filter(|f| {
                f.to_string_lossy().ends_with("sm_80.ptx")
                    || f.to_string_lossy().ends_with("sm_90.ptx")
            })
            .collect();
        files.sort();
        let Some(file) = files.first() else { continue };
        let text = std::fs::read_to_string(file).unwrap();
        let entry = entry_of(&text).unwrap_or(entry.into());
        let mut c = Case::new(&text, &entry, [8, 8, 1], [16, 16, 1]).unwrap();
        println!("    {entry} {:?}", c.program.params.iter().map(|p| p.0.ty).collect::<Vec<_>>());
        for (p, _) in c.program.params.clone() {
            if p.size == 8 {
                c.words(floats(128 * 128));
            } else {
                c.arg(&u(128));
            }
        }
        bench(name, &c);
    }
    for (name, file, grid, block, len, scalars) in [
        ("reduce shared", "reduce_shared", 256, 256, n, n as u32),
        ("reduce shfl", "reduce_shfl", 256, 256, n, n as u32),
        ("scan", "scan", 64, 256, n, n as u32),
        ("nbody 512", "nbody", 8, 64, 4 * 512, 512),
        ("histogram", "histogram", 64, 256, n, n as u32),
        ("transpose", "transpose", 64, 256, n, 256),
        ("vecadd", "vecadd", 256, 256, n, n as u32),
    ] {
        let folder = format!("{}/../samples/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .map(|f| f.path())
            .filter(|f| f.extension().is_some_and(|e| e == "ptx"))
            .collect();
        files.sort();
        for path in &files {
            let Ok(text) = std::fs::read_to_string(path) else { continue };
            let Some(entry) = entry_of(&text) else { continue };
            let block = if file == "transpose" { [32, 8, 1] } else { [block, 1, 1] };
            let grid = if file == "transpose" { [8, 8, 1] } else { [grid, 1, 1] };
            let Ok(mut c) = Case::new(&text, &entry, grid, block) else { continue };
            for (p, _) in c.program.params.clone() {
                match p.size {
                    8 => {
                        c.words(floats(len * 2));
                    }
                    4 if format!("{:?}", p.ty) == "F32" => {
                        c.arg(&0.01f32.to_le_bytes());
                    }
                    4 => {
                        c.arg(&u(scalars));
                    }
                    _ => {}
                }
            }
            let short = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let runs = c.compile().is_ok_and(|k| c.run_compiled(&k).is_ok());
            if c.compile().is_ok() && !runs {
                println!("{short}: these arguments fault");
                continue;
            }
            bench(&format!("{name} {}", short.split('.').nth(1).unwrap_or("")), &c);
        }
    }
    let mut c = Case::new(
        &sample(&first("mandelbrot")),
        &entry_of(&sample(&first("mandelbrot"))).unwrap(),
        [8, 8, 1],
        [16, 8, 1],
    )
    .unwrap();
    println!(
        "    mandelbrot {:?}",
        c.program.params.iter().map(|p| (p.0.ty, p.0.size)).collect::<Vec<_>>()
    );
    mandelbrot(&mut c);
    bench("mandelbrot", &c);
}

fn mandelbrot(c: &mut Case) {
    let mut floats = [-2.0f32, -1.25, 2.5 / 128.0, 2.5 / 64.0].into_iter().cycle();
    let mut ints = [128u32, 64, 256].into_iter().cycle();
    for (p, _) in c.program.params.clone() {
        if p.size == 8 {
            c.words(vec![0; 128 * 128]);
        } else if format!("{:?}", p.ty) == "F32" {
            let f = floats.next().unwrap_or(0.0);
            c.arg(&f.to_le_bytes());
        } else {
            let i = ints.next().unwrap_or(0);
            c.arg(&i.to_le_bytes());
        }
    }
}

fn first(folder: &str) -> String {
    let path = format!("{}/../samples/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .flatten()
        .map(|f| f.file_name().to_string_lossy().into_owned())
        .filter(|f| f.ends_with(".ptx"))
        .collect();
    files.sort();
    format!("{folder}/{}", files[files.len() - 1])
}

fn entry_of(text: &str) -> Option<String> {
    let at = text.find(".entry ")? + 7;
    let end = text[at..].find(['(', ' ', '\n'])? + at;
    Some(text[at..end].trim().to_string())
}
