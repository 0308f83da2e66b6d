//! Time of one warp-wide product; run with `--release -- --ignored --nocapture`.

use std::time::Instant;

use ptx_isa::matrix::Mma;

#[test]
#[ignore = "a measurement, not a check"]
fn time_of_products() {
    for inst in [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    ] {
        let m = Mma::parse(inst).expect("known");
        let [na, nb, nc, nd] = m.registers();
        let fill = |n: usize, seed: u32| {
            (0..n)
                .map(|r| {
                    std::array::from_fn(|l| {
                        let x = (r as u32 * 32 + l as u32 + seed).wrapping_mul(0x9e37_79b9);
                        x & 0x3b77_3b77
                    })
                })
                .collect::<Vec<[u32; 32]>>()
        };
        let (a, b, c) = (fill(na, 1), fill(nb, 77), fill(nc, 999));
        let mut d = vec![[0; 32]; nd];
        let start = Instant::now();
        let runs = 20_000;
        for _ in 0..runs {
            m.run(&mut d, &a, &b, std::hint::black_box(&c)).expect("sizes fit");
            std::hint::black_box(&d);
        }
        println!("{m}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(runs));
    }
}
