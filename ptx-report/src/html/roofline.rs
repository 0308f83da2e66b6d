//! The roofline: what the device could do at the launch's ratio of work to memory traffic, and what
//! the launch did.

use ptx_timing::Report;

use super::svg::{Svg, at};
use crate::number::{percent, prefixed, significant};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 350.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 46.0;

/// Work of one kind: floating-point operations, or instructions of threads where there are none.
struct Work {
    unit: &'static str,
    /// Per second, in units of 10^9.
    rate: f64,
    peak: f64,
    peak_name: &'static str,
}

fn work(report: &Report) -> Work {
    let (s, d) = (&report.summary, &report.device);
    if s.f64_operations > s.f32_operations
        && let Some(peak) = d.peak_f64_gflops
    {
        return Work { unit: "FLOP", rate: s.f64_gflops, peak, peak_name: "double precision" };
    }
    if s.f32_operations > 0 {
        let (rate, peak) = (s.f32_gflops, d.peak_f32_gflops);
        return Work { unit: "FLOP", rate, peak, peak_name: "single precision" };
    }
    // Warp instructions of the whole device per second, times the lanes that took part.
    let sms = f64::from(d.multiprocessors);
    let rate = s.ipc * sms * d.sm_mhz / 1e3 * s.lanes_per_instruction;
    // The peak multiply-add rate is that of one lane instruction each.
    Work {
        unit: "instruction",
        rate,
        peak: d.peak_f32_gflops / 2.0,
        peak_name: "simple instructions",
    }
}

/// The picture, and a sentence under it.
pub(super) fn draw(report: &Report) -> (String, String) {
    let work = work(report);
    let bandwidth = report.device.dram_gbps;
    let reachable = bandwidth * report.device.dram_efficiency;
    let ridge = work.peak / bandwidth;
    let traffic = report.memory.dram_gbps;
    let intensity = if traffic > 0.0 { work.rate / traffic } else { f64::INFINITY };
    let shown = intensity.clamp(ridge / 1e4, ridge * 1e3);
    let x_range = (
        10f64.powf((shown.min(ridge) / 3.0).log10().floor()),
        10f64.powf((shown.max(ridge) * 3.0).log10().ceil()),
    );
    let roof = |x: f64| (bandwidth * x).min(work.peak);
    let lowest = work.rate.max(roof(shown) / 1e5).min(roof(x_range.0) * 10.0);
    let y_range =
        (10f64.powf((lowest / 2.0).log10().floor()), 10f64.powf((work.peak * 1.3).log10().ceil()));
    let x = |v: f64| {
        LEFT + (v / x_range.0).log10() / (x_range.1 / x_range.0).log10() * (WIDTH - LEFT - RIGHT)
    };
    let y = |v: f64| {
        HEIGHT
            - BOTTOM
            - (v.max(y_range.0) / y_range.0).log10() / (y_range.1 / y_range.0).log10()
                * (HEIGHT - TOP - BOTTOM)
    };
    let mut svg = Svg::new(WIDTH, HEIGHT, "Roofline");
    let decades =
        |(low, high): (f64, f64)| (low.log10().round() as i32)..=(high.log10().round() as i32);
    for e in decades(x_range) {
        let v = 10f64.powi(e);
        svg.line("grid", x(v), TOP, x(v), HEIGHT - BOTTOM);
        svg.text("mid", x(v), HEIGHT - BOTTOM + 16.0, &significant(v));
    }
    for e in decades(y_range) {
        let v = 10f64.powi(e);
        svg.line("grid", LEFT, y(v), WIDTH - RIGHT, y(v));
        svg.text("end", LEFT - 8.0, y(v) + 4.0, prefixed(v * 1e9).trim_end());
    }
    let low_x = x_range.0.max(y_range.0 / bandwidth);
    let outline = format!(
        "M{} {}L{} {}L{} {}",
        at(x(low_x)),
        at(y(bandwidth * low_x)),
        at(x(ridge)),
        at(y(work.peak)),
        at(x(x_range.1)),
        at(y(work.peak))
    );
    let base = at(HEIGHT - BOTTOM);
    svg.path("under", &format!("{outline}L{} {base}L{} {base}Z", at(x(x_range.1)), at(x(low_x))));
    let reachable_low = x_range.0.max(y_range.0 / reachable);
    svg.path(
        "roof2",
        &format!(
            "M{} {}L{} {}",
            at(x(reachable_low)),
            at(y(reachable * reachable_low)),
            at(x(work.peak / reachable)),
            at(y(work.peak))
        ),
    );
    svg.path("roof", &outline);
    let slope =
        -((y(bandwidth * low_x) - y(work.peak)) / (x(ridge) - x(low_x))).atan().to_degrees();
    let middle = (low_x * ridge).sqrt();
    svg.text_turned(
        "mid",
        x(middle) - 6.0,
        y(bandwidth * middle) - 9.0,
        slope,
        &format!("device memory {}B/s", prefixed(bandwidth * 1e9)),
    );
    svg.text(
        "end",
        WIDTH - RIGHT - 4.0,
        y(work.peak) - 7.0,
        &format!("{} {}{}/s", work.peak_name, prefixed(work.peak * 1e9), work.unit),
    );
    svg.text(
        "mid",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 8.0,
        &format!("{} per byte of device memory", work.unit.trim_start()),
    );
    svg.text_turned(
        "mid",
        12.0,
        TOP + (HEIGHT - TOP - BOTTOM) / 2.0,
        -90.0,
        &format!("{} per second", work.unit.trim_start()),
    );
    let (px, py) = (x(shown), y(work.rate));
    svg.line("drop", px, py, px, y(roof(shown)));
    svg.circle("point", px, py, 7.0);
    let left = px > WIDTH * 0.62;
    let (class, tx) = if left { ("strong end", px - 12.0) } else { ("strong", px + 12.0) };
    svg.text(class, tx, py + 4.0, &format!("{}{}/s", prefixed(work.rate * 1e9), work.unit));
    let note = if intensity.is_finite() {
        let bound = if shown < ridge { "device memory" } else { "arithmetic" };
        format!(
            "{} {} per byte: {bound} allows {}{}/s here, the launch reaches {} of it. Dashed: what a perfectly coalesced stream reaches.",
            significant(intensity),
            work.unit.trim_start(),
            prefixed(roof(shown) * 1e9),
            work.unit,
            percent(work.rate / roof(shown)),
        )
    } else {
        "No traffic to device memory.".to_owned()
    };
    (svg.finish(), note)
}
