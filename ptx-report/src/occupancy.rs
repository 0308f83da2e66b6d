//! `ptxrun occupancy`: how many blocks an SM holds, which limit says so, and what other block sizes
//! would give.

use std::fmt::Write;

use ptx_timing::Profile;
use ptx_timing::occupancy::{
    BlockNeeds, DoesNotFit, Limiter, Occupancy, TableRow, occupancy, table,
};
use serde_json::{Value, json};

use crate::number::{bytes, count, percent, plural};
use crate::text::{Cell, Paint, Style, Table, bar};

/// What occupancy is asked about.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// Kernel.
    pub kernel: &'a str,
    /// Device.
    pub profile: &'a Profile,
    /// A block's needs.
    pub needs: BlockNeeds,
    /// Where the number of registers comes from, in words.
    pub registers_from: &'a str,
    /// Shared memory that the module declares.
    pub static_shared: u32,
}

fn names(limiters: &[Limiter]) -> String {
    limiters.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// The answer as text.
///
/// # Errors
/// When not even one block fits.
pub fn text(q: &Question<'_>, paint: Paint) -> Result<String, DoesNotFit> {
    let o = occupancy(q.profile, &q.needs)?;
    let mut out = format!(
        "{} on {} (compute capability {})\n",
        paint.bold(q.kernel),
        paint.bold(&q.profile.name),
        q.profile.device.compute_capability
    );
    let needs = &q.needs;
    let mut facts = Table::new(&["", ""]);
    facts.row([
        "block".into(),
        format!(
            "{}, {}",
            plural(needs.threads.into(), "thread"),
            plural(o.warps_per_block.into(), "warp")
        )
        .into(),
    ]);
    facts.row([
        "registers".into(),
        format!(
            "{} per thread ({}), {} per block",
            needs.registers,
            q.registers_from,
            count(o.registers_per_block)
        )
        .into(),
    ]);
    let arguments = match q.profile.allocation.arguments_in_shared {
        true => format!(" + {} of arguments", needs.arguments),
        false => String::new(),
    };
    facts.row([
        "shared memory".into(),
        format!(
            "{} static + {} dynamic{arguments}, {} per block",
            q.static_shared,
            needs.shared.saturating_sub(q.static_shared),
            bytes(o.shared_per_block)
        )
        .into(),
    ]);
    out.push_str(&facts.render(paint));
    out.push('\n');
    let mut limits = Table::new(&["limit", ">blocks per SM", ""]);
    for (limiter, blocks) in &o.blocks_by {
        let decides = o.limiters.contains(limiter);
        let style = if decides { Style::Bold } else { Style::Plain };
        limits.row([
            Cell::styled(limiter.to_string(), style),
            Cell::styled(blocks.map_or_else(|| "no limit".into(), |n| n.to_string()), style),
            if decides { "<-- limits".into() } else { Cell::default() },
        ]);
    }
    out.push_str(&limits.render(paint));
    let summary = format!(
        "occupancy {}: {} of {} warps, {} per SM, limited by {}",
        percent(o.fraction()),
        o.warps,
        o.max_warps,
        plural(o.blocks.into(), "block"),
        names(&o.limiters)
    );
    let _ = writeln!(out, "\n{}\n", paint.bold(&summary));
    out.push_str(&curve(&table(q.profile, needs), needs.threads, paint));
    Ok(out)
}

/// The table over block sizes. Neighbours with the same result are one row once there are many.
fn curve(rows: &[TableRow], threads: u32, paint: Paint) -> String {
    let mut table = Table::new(&[">threads", ">blocks", ">warps", ">occupancy", "", "limited by"]);
    let best = rows
        .iter()
        .filter_map(|r| r.result.as_ref().ok())
        .map(Occupancy::fraction)
        .fold(0.0, f64::max);
    for row in rows {
        let here = row.threads == threads.next_multiple_of(32);
        let size = if here { format!("> {}", row.threads) } else { row.threads.to_string() };
        match &row.result {
            Ok(o) => {
                let style = match o.fraction() {
                    _ if here => Style::Bold,
                    f if f >= best => Style::Green,
                    _ => Style::Plain,
                };
                table.row([
                    Cell::styled(size, style),
                    Cell::styled(o.blocks.to_string(), style),
                    Cell::styled(o.warps.to_string(), style),
                    Cell::styled(percent(o.fraction()), style),
                    Cell::styled(bar(o.fraction(), 20), style),
                    names(&o.limiters).into(),
                ]);
            }
            Err(error) => table.row([
                size.into(),
                "-".into(),
                "-".into(),
                "-".into(),
                Cell::default(),
                Cell::styled(error.to_string(), Style::Dim),
            ]),
        }
    }
    table.render(paint)
}

/// The answer as JSON.
///
/// # Errors
/// When not even one block fits.
pub fn json(q: &Question<'_>) -> Result<Value, DoesNotFit> {
    let o = occupancy(q.profile, &q.needs)?;
    let by: serde_json::Map<String, Value> =
        o.blocks_by.iter().map(|(l, n)| (l.to_string(), json!(n))).collect();
    let rows: Vec<Value> = table(q.profile, &q.needs)
        .iter()
        .map(|row| match &row.result {
            Ok(o) => json!({
                "threads": row.threads, "blocks": o.blocks, "warps": o.warps,
                "occupancy": o.fraction(), "limited_by": words(&o.limiters),
            }),
            Err(error) => json!({"threads": row.threads, "error": error.to_string()}),
        })
        .collect();
    Ok(json!({
        "ok": true,
        "kernel": q.kernel,
        "device": q.profile.name,
        "compute_capability": q.profile.device.compute_capability.to_string(),
        "threads": q.needs.threads,
        "registers": q.needs.registers,
        "registers_from": q.registers_from,
        "shared": q.needs.shared,
        "registers_per_block": o.registers_per_block,
        "shared_per_block": o.shared_per_block,
        "warps_per_block": o.warps_per_block,
        "blocks": o.blocks,
        "warps": o.warps,
        "max_warps": o.max_warps,
        "occupancy": o.fraction(),
        "blocks_by": by,
        "limited_by": words(&o.limiters),
        "table": rows,
    }))
}

fn words(limiters: &[Limiter]) -> Vec<String> {
    limiters.iter().map(ToString::to_string).collect()
}

/// The largest block, in whole warps, that the device takes with these registers and this shared
/// memory: what to write instead of a block that does not fit.
pub fn largest_block(profile: &Profile, needs: &BlockNeeds) -> Option<u32> {
    table(profile, needs)
        .iter()
        .rev()
        .find(|r| r.result.as_ref().is_ok_and(|o| o.blocks > 0))
        .map(|r| r.threads)
}
