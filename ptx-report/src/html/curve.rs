//! Occupancy over block sizes.

use ptx_timing::Report;

use super::svg::{Svg, at};
use crate::number::percent;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 44.0;

/// The picture.
pub(super) fn draw(report: &Report) -> String {
    let points = &report.occupancy_by_block;
    let most = f64::from(report.occupancy.max_warps.max(1));
    let largest = points.last().map_or(1, |p| p.threads).max(1);
    let column = (WIDTH - LEFT - RIGHT) / points.len().max(1) as f64;
    let y = |warps: f64| HEIGHT - BOTTOM - warps / most * (HEIGHT - TOP - BOTTOM);
    let mut svg = Svg::new(WIDTH, HEIGHT, "Resident warps over block sizes");
    for quarter in 0..=4 {
        let warps = most * f64::from(quarter) / 4.0;
        svg.line("grid", LEFT, y(warps), WIDTH - RIGHT, y(warps));
        svg.text("end", LEFT - 8.0, y(warps) + 4.0, &format!("{warps:.0}"));
    }
    let here = report.launch.threads_per_block.next_multiple_of(32);
    let mut outline = String::new();
    for (i, point) in points.iter().enumerate() {
        let x = LEFT + column * i as f64;
        let warps = f64::from(point.warps.unwrap_or(0));
        let class = if point.threads == here { "taken" } else { "step" };
        let title = match point.warps {
            Some(n) => format!(
                "{} threads: {n} warps, {}, limited by {}",
                point.threads,
                percent(point.fraction),
                point.limited_by
            ),
            None => format!("{} threads: {}", point.threads, point.limited_by),
        };
        let top = y(warps);
        svg.rect_titled(class, [x, top, column, HEIGHT - BOTTOM - top], &title);
        let start = if i == 0 { 'M' } else { 'L' };
        outline.push_str(&format!("{start}{} {}H{}", at(x), at(top), at(x + column)));
        if point.threads == here {
            let anchor = match x {
                x if x < WIDTH * 0.2 => "strong",
                x if x > WIDTH * 0.8 => "strong end",
                _ => "strong mid",
            };
            let label = match point.warps {
                Some(n) => format!("{} threads: {n} warps", report.launch.threads_per_block),
                None => "does not fit".to_owned(),
            };
            svg.text(anchor, x + column / 2.0, top - 6.0, &label);
        }
    }
    svg.path("stepline", &outline);
    let step = if largest > 512 { 128 } else { 64 };
    for threads in (step..=largest).step_by(step as usize) {
        let x = LEFT + column * (f64::from(threads) / 32.0 - 0.5);
        svg.text("mid", x, HEIGHT - BOTTOM + 16.0, &threads.to_string());
    }
    svg.text("mid", LEFT + (WIDTH - LEFT - RIGHT) / 2.0, HEIGHT - 8.0, "threads per block");
    svg.text("", 4.0, 12.0, "warps");
    svg.finish()
}
