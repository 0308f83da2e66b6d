//! Consistency of a resolved profile: numbers that contradict each other or make no sense.

use super::error::ProfileError;
use super::memory::{BankRule, CacheLevel, Protocol};
use super::schema::Profile;
use crate::cache::MAX_SECTORS;
use ptx_isa::Class;

struct Checker<'a> {
    file: &'a str,
}

impl Checker<'_> {
    fn fail<T>(&self, key: &str, message: String) -> Result<T, ProfileError> {
        Err(ProfileError::Inconsistent { file: self.file.to_owned(), key: key.to_owned(), message })
    }

    fn positive(&self, key: &str, value: f64) -> Result<(), ProfileError> {
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        self.fail(key, format!("is {value}, must be greater than 0"))
    }

    fn power_of_two(&self, key: &str, value: u32) -> Result<(), ProfileError> {
        if value.is_power_of_two() {
            return Ok(());
        }
        self.fail(key, format!("is {value}, must be a power of two"))
    }

    fn cache(&self, key: &str, cache: &CacheLevel) -> Result<(), ProfileError> {
        self.power_of_two(&format!("{key}.line_bytes"), cache.line_bytes)?;
        self.power_of_two(&format!("{key}.sector_bytes"), cache.sector_bytes)?;
        self.positive(&format!("{key}.ways"), cache.ways.into())?;
        self.positive(&format!("{key}.bytes_per_clock"), cache.bytes_per_clock)?;
        self.positive(&format!("{key}.write_cost"), cache.write_cost)?;
        self.positive(&format!("{key}.partial_write_cost"), cache.partial_write_cost)?;
        self.positive(&format!("{key}.fill_cost"), cache.fill_cost.unwrap_or(1.0))?;
        if cache.sector_bytes > cache.line_bytes {
            return self.fail(
                &format!("{key}.sector_bytes"),
                format!("is {}, more than the line of {}", cache.sector_bytes, cache.line_bytes),
            );
        }
        if cache.line_bytes / cache.sector_bytes > MAX_SECTORS as u32 {
            return self.fail(
                &format!("{key}.sector_bytes"),
                format!(
                    "gives {} sectors per line, at most {MAX_SECTORS} are modelled",
                    cache.line_bytes / cache.sector_bytes
                ),
            );
        }
        if !cache.shared_kb.is_sorted() {
            return self.fail(&format!("{key}.shared_kb"), "is not in rising order".to_owned());
        }
        let set = u64::from(cache.ways) * u64::from(cache.line_bytes);
        if cache.bytes == 0 || !cache.bytes.is_multiple_of(set) {
            return self.fail(
                &format!("{key}.bytes"),
                format!(
                    "is {}, no multiple of {} ways of {} bytes",
                    cache.bytes, cache.ways, cache.line_bytes
                ),
            );
        }
        Ok(())
    }
}

/// Checks a resolved profile; `file` is named in the error.
pub(super) fn consistent(file: &str, p: &Profile) -> Result<(), ProfileError> {
    let c = Checker { file };
    let l = &p.limits;
    c.positive("device.gpus", p.device.gpus.into())?;
    c.positive("device.multiprocessors", p.device.multiprocessors.into())?;
    c.positive("device.cores_per_multiprocessor", p.device.cores_per_multiprocessor.into())?;
    c.positive("clock.core_mhz", p.clock.core_mhz)?;
    c.positive("clock.sm_mhz", p.clock.sm_mhz)?;
    if l.warp_size != 32 {
        return c.fail("limits.warp_size", format!("is {}, only 32 is modelled", l.warp_size));
    }
    for (key, value) in [
        ("limits.max_threads_per_block", l.max_threads_per_block),
        ("limits.registers_per_sm", l.registers_per_sm),
        ("limits.max_registers_per_thread", l.max_registers_per_thread),
        ("limits.shared_bytes_per_sm", l.shared_bytes_per_sm),
        ("limits.max_blocks_per_sm", l.max_blocks_per_sm),
        ("limits.max_warps_per_sm", l.max_warps_per_sm),
        ("allocation.register_unit", p.allocation.register_unit),
        ("allocation.warp_unit", p.allocation.warp_unit),
        ("allocation.shared_unit", p.allocation.shared_unit),
        ("issue.schedulers", p.issue.schedulers),
        ("issue.cycles", p.issue.cycles),
        ("issue.width", p.issue.width),
        ("dram.channels", p.dram.channels),
    ] {
        c.positive(key, value.into())?;
    }
    for (i, (block, grid)) in l.max_block_dim.iter().zip(l.max_grid_dim).enumerate() {
        c.positive(&format!("limits.max_block_dim[{i}]"), f64::from(*block))?;
        c.positive(&format!("limits.max_grid_dim[{i}]"), f64::from(grid))?;
    }
    if l.max_threads_per_sm != l.max_warps_per_sm * l.warp_size {
        return c.fail(
            "limits.max_threads_per_sm",
            format!(
                "is {}, but {} warps of 32 are {}",
                l.max_threads_per_sm,
                l.max_warps_per_sm,
                l.max_warps_per_sm * 32
            ),
        );
    }
    if l.max_threads_per_block > l.max_threads_per_sm {
        return c.fail(
            "limits.max_threads_per_block",
            format!(
                "is {}, more than the {} threads of an SM",
                l.max_threads_per_block, l.max_threads_per_sm
            ),
        );
    }
    if l.max_shared_bytes_per_block > l.shared_bytes_per_sm {
        return c.fail(
            "limits.max_shared_bytes_per_block",
            format!(
                "is {}, more than the {} bytes of an SM",
                l.max_shared_bytes_per_block, l.shared_bytes_per_sm
            ),
        );
    }
    if p.allocation.register_unit > l.registers_per_sm {
        return c.fail(
            "allocation.register_unit",
            format!(
                "is {}, more than the {} registers of an SM",
                p.allocation.register_unit, l.registers_per_sm
            ),
        );
    }
    memory(&c, p)?;
    classes(&c, p)
}

fn memory(c: &Checker<'_>, p: &Profile) -> Result<(), ProfileError> {
    c.power_of_two("global.line_bytes", p.global.line_bytes)?;
    c.power_of_two("global.sector_bytes", p.global.sector_bytes)?;
    c.positive("global.cycles_per_transaction", p.global.cycles_per_transaction)?;
    c.positive("global.sm_bytes_per_clock", p.global.sm_bytes_per_clock)?;
    c.positive("global.sm_write_bytes_per_clock", p.global.sm_write_bytes_per_clock)?;
    c.positive("global.sm_atomic_cycles", p.global.sm_atomic_cycles)?;
    c.positive("atomics.units", p.atomics.units.into())?;
    c.power_of_two("atomics.unit_bytes", p.atomics.unit_bytes)?;
    if p.atomics.unit_stripe_bytes != 0 {
        c.power_of_two("atomics.unit_stripe_bytes", p.atomics.unit_stripe_bytes)?;
    }
    if let Some(cycles) = p.atomics.whole_sector_cycles {
        c.positive("atomics.whole_sector_cycles", cycles)?;
    }
    if p.global.sector_bytes > p.global.line_bytes {
        return c.fail(
            "global.sector_bytes",
            format!("is {}, more than the line of {}", p.global.sector_bytes, p.global.line_bytes),
        );
    }
    if p.global.load_in_l1 && p.l1.is_none() {
        return c.fail("global.load_in_l1", "is true, but there is no [l1]".to_owned());
    }
    if p.global.local_in_l1 && p.l1.is_none() {
        return c.fail("global.local_in_l1", "is true, but there is no [l1]".to_owned());
    }
    let half = |x| matches!(x, Protocol::HalfWarpInOrder | Protocol::HalfWarpSegments);
    if half(p.global.load) != (p.shared.rule == BankRule::HalfWarpBroadcast) {
        return c.fail(
            "shared.rule",
            "and global.load disagree on whether requests are half-warps".to_owned(),
        );
    }
    c.power_of_two("shared.banks", p.shared.banks)?;
    if p.shared.banks > 32 {
        return c.fail("shared.banks", format!("is {}, at most 32 are modelled", p.shared.banks));
    }
    let bank_bytes = if p.shared.rule == BankRule::WideBanks { 8 } else { 4 };
    if p.shared.bank_bytes != bank_bytes {
        return c.fail(
            "shared.bank_bytes",
            format!("is {}, the rule needs {bank_bytes}", p.shared.bank_bytes),
        );
    }
    c.positive("shared.step_cycles", p.shared.step_cycles)?;
    c.positive("constant.uniform_cycles", p.constant.uniform_cycles)?;
    c.positive("constant.address_cycles", p.constant.address_cycles)?;
    c.cache("constant.cache", &p.constant.cache)?;
    for (key, cache) in [("texture", &p.texture), ("l1", &p.l1), ("l2", &p.l2)] {
        if let Some(cache) = cache {
            c.cache(key, cache)?;
        }
    }
    let d = &p.dram;
    c.positive("dram.bandwidth_gbps", d.bandwidth_gbps)?;
    c.positive("dram.bus_bits", d.bus_bits.into())?;
    c.power_of_two("dram.interleave_bytes", d.interleave_bytes)?;
    c.power_of_two("dram.burst_bytes", d.burst_bytes)?;
    if !(d.efficiency > 0.0 && d.efficiency <= 1.0) {
        return c.fail("dram.efficiency", format!("is {}, must lie in (0, 1]", d.efficiency));
    }
    if let Some(l2) = p.l2.as_ref().filter(|l2| l2.groups > 0) {
        c.positive("l2.group_bytes_per_clock", l2.group_bytes_per_clock)?;
    }
    if let Some(l2) = &p.l2
        && l2.hit_latency >= d.latency
    {
        return c.fail(
            "dram.latency",
            format!("is {}, not above an L2 hit's {}", d.latency, l2.hit_latency),
        );
    }
    c.positive("link.pinned_gbps", p.link.pinned_gbps)?;
    c.positive("link.pageable_gbps", p.link.pageable_gbps)
}

fn classes(c: &Checker<'_>, p: &Profile) -> Result<(), ProfileError> {
    for (class, timing) in &p.class {
        let key = format!("class.{}", class.name());
        c.positive(&format!("{key}.per_clock"), timing.per_clock)?;
        c.positive(&format!("{key}.instructions"), timing.instructions.into())?;
        if timing.pipes.is_empty() {
            return c.fail(&format!("{key}.pipes"), "names no pipe".to_owned());
        }
        for pipe in &timing.pipes {
            if !p.pipes.contains_key(pipe) {
                return c.fail(&format!("{key}.pipes"), format!("names unknown pipe '{pipe}'"));
            }
        }
    }
    // Classes that came with a later generation are absent from an earlier one; the basic ones
    // every profile needs.
    for class in [
        Class::IntAdd,
        Class::Logic,
        Class::F32Fma,
        Class::Move,
        Class::Branch,
        Class::LoadGlobal,
        Class::StoreGlobal,
    ] {
        if !p.class.contains_key(&class) {
            return Err(ProfileError::MissingKey {
                file: c.file.to_owned(),
                key: format!("class.{}", class.name()),
            });
        }
    }
    Ok(())
}
