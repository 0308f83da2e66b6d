//! What the device answers about itself (`cuDeviceGetAttribute`).

use ptx_runtime::timing::Profile;

/// Answers of an H200 (driver 580.159.04) to every attribute that does not come from the profile; those of
/// features that this driver does not have are 0.
const H200: &[(u32, i32)] = &[
    (9, 65536),
    (11, 2147483647),
    (14, 512),
    (15, 1),
    (17, 0),
    (18, 0),
    (19, 1),
    (20, 0),
    (21, 131072),
    (22, 131072),
    (23, 65536),
    (24, 16384),
    (25, 16384),
    (26, 16384),
    (27, 32768),
    (28, 32768),
    (29, 2048),
    (30, 512),
    (31, 1),
    (32, 1),
    (33, 0),
    (34, 0),
    (35, 0),
    (40, 3),
    (41, 1),
    (42, 32768),
    (43, 2048),
    (44, 1),
    (45, 32768),
    (46, 32768),
    (47, 8192),
    (48, 8192),
    (49, 32768),
    (50, 0),
    (51, 32),
    (52, 32768),
    (53, 32768),
    (54, 2046),
    (55, 32768),
    (56, 131072),
    (57, 65536),
    (58, 16384),
    (59, 16384),
    (60, 16384),
    (61, 32768),
    (62, 2048),
    (63, 32768),
    (64, 32768),
    (65, 2048),
    (66, 32768),
    (67, 32768),
    (68, 2046),
    (69, 268435456),
    (70, 131072),
    (71, 65000),
    (72, 2097120),
    (73, 32768),
    (74, 32768),
    (77, 32768),
    (78, 1),
    (79, 1),
    (80, 1),
    (83, 1),
    (84, 0),
    (85, 0),
    (86, 0),
    (88, 0),
    (89, 1),
    (90, 1),
    (91, 1),
    (92, 0),
    (93, 0),
    (94, 0),
    (95, 1),
    (96, 0),
    (98, 0),
    (99, 1),
    (100, 0),
    (101, 0),
    (102, 1),
    (103, 1),
    (104, 0),
    (105, 0),
    (107, 0),
    (108, 0),
    (109, 0),
    (110, 0),
    (112, 0),
    (113, 1),
    (114, 0),
    (115, 1),
    (116, 0),
    (117, 0),
    (118, 0),
    (119, 0),
    (120, 1),
    (121, 0),
    (122, 1),
    (123, 1),
    (124, 0),
    (125, 1),
    (126, 1),
    (127, 1),
    (128, 0),
    (129, 0),
    (130, 0),
    (131, -1),
    (132, 0),
    (133, 0),
    (134, -1),
    (135, 0),
    (136, 0),
    (137, 0),
    (138, 0),
    (139, 0),
    (140, 0),
    (141, 0),
    (142, 0),
    (143, 0),
    (144, 0),
    (145, 0),
    (146, 0),
    (147, 0),
];

/// Attribute `id`, or nothing if there is none of that number.
pub fn attribute(p: &Profile, id: u32) -> Option<i32> {
    let cc = p.device.compute_capability;
    let sm = u32::from(cc.major) * 10 + u32::from(cc.minor);
    let int = |n: u32| n.min(i32::MAX as u32) as i32;
    let since = |first: u32, value: i32| if sm >= first { value } else { 0 };
    let l = &p.limits;
    Some(match id {
        1 => int(l.max_threads_per_block),
        2..=4 => int(l.max_block_dim[id as usize - 2]),
        5..=7 => int(l.max_grid_dim[id as usize - 5]),
        // Without opting in a block has 48 KiB at most.
        8 => int(l.max_shared_bytes_per_block.min(crate::module::DEFAULT_SHARED)),
        10 => int(l.warp_size),
        12 | 82 => int(l.registers_per_sm),
        13 => (p.clock.sm_mhz * 1e3) as i32,
        16 => int(p.device.multiprocessors),
        36 => memory_clock_khz(p),
        37 => int(p.dram.bus_bits),
        38 => p.l2.as_ref().map_or(0, |c| i32::try_from(c.bytes).unwrap_or(i32::MAX)),
        39 => int(l.max_threads_per_sm),
        75 => i32::from(cc.major),
        76 => i32::from(cc.minor),
        81 => int(l.shared_bytes_per_sm),
        87 => single_to_double(p),
        97 => int(l.max_shared_bytes_per_block),
        106 => int(l.max_blocks_per_sm),
        111 => int(p.allocation.shared_reserved_per_block),
        // Managed memory, stream priorities, cooperative launches, clusters, tensor maps.
        83 | 89 => since(30, 1),
        78 => since(35, 1),
        95 => since(60, 1),
        120 | 127 => since(90, 1),
        _ => H200.binary_search_by_key(&id, |a| a.0).ok().map(|at| H200[at].1)?,
    })
}

/// Double data rate: two transfers of the bus per clock.
fn memory_clock_khz(p: &Profile) -> i32 {
    (p.dram.bandwidth_gbps * 8e6 / f64::from(p.dram.bus_bits) / 2.0) as i32
}

fn single_to_double(p: &Profile) -> i32 {
    use ptx_runtime::timing::Class;
    let rate = |c| {
        p.class.get(&c).map_or(0.0, |t: &ptx_runtime::timing::profile::ClassTiming| t.per_clock)
    };
    let double = rate(Class::F64Fma);
    if double > 0.0 { (rate(Class::F32Fma) / double) as i32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_device_answers_as_an_h200() {
        let p = ptx_runtime::device::profile("H200").unwrap();
        assert!(H200.is_sorted_by_key(|a| a.0));
        let recorded = [
            (1, 1024),
            (5, 2147483647),
            (8, 49152),
            (10, 32),
            (12, 65536),
            (13, 1980000),
            (16, 132),
            (37, 6016),
            (38, 62914560),
            (39, 2048),
            (75, 9),
            (76, 0),
            (81, 233472),
            (87, 2),
            (97, 232448),
            (106, 32),
            (111, 1024),
            (115, 1),
        ];
        for (id, value) in recorded {
            assert_eq!(attribute(&p, id), Some(value), "attribute {id}");
        }
        assert_eq!(attribute(&p, 0), None);
        assert_eq!(attribute(&p, 9999), None);
    }

    #[test]
    fn other_devices_answer_from_their_profile() {
        let p = ptx_runtime::device::profile("8800 GTX").unwrap();
        assert_eq!(attribute(&p, 75), Some(1));
        assert_eq!(attribute(&p, 1), Some(512));
        assert_eq!(attribute(&p, 8), Some(16384));
        assert_eq!(attribute(&p, 95), Some(0));
    }
}
