use super::*;

fn level(bytes: u64, ways: u32, write: WritePolicy) -> CacheLevel {
    CacheLevel {
        bytes,
        line_bytes: 128,
        sector_bytes: 32,
        ways,
        shared_kb: Vec::new(),
        write,
        hit_latency: 0,
        bytes_per_clock: 1.0,
        request_bytes: 0,
        request_min_bytes: 0,
        dirty_bytes: 0,
        write_request_bytes: 0,
        far_cycles: 0,
        merged_sms: 0,
        groups: 0,
        group_bytes_per_clock: 0.0,
        write_cost: 1.0,
        partial_write_cost: 1.0,
        fill_cost: None,
        spread: Vec::new(),
        sm_spread: Vec::new(),
    }
}

/// The copy of a line in the other half of a cache is gone when the line is written.
#[test]
fn copies_last_until_the_line_is_written() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteBack));
    let first = c.read_line(0, 1);
    assert!(!first.copied);
    c.copy(first.place);
    assert!(c.read_line(0, 1).copied && !c.read_line(128, 1).copied);
    c.write_line(0, 2, &[32; MAX_SECTORS]);
    assert!(!c.read_line(0, 1).copied);
}

/// Fills are known for as long as they matter, however long a launch is.
#[test]
fn fills_of_long_launches() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteBack));
    let early = c.read_line(0, 1).place;
    c.fill(early, 1, 5);
    let late = c.read_line(128, 1).place;
    c.fill(late, 1, 1 << 40);
    let later = c.read_line(256, 1).place;
    c.fill(later, 1, (1 << 40) - 7);
    let ready = [0, 128, 256].map(|address| c.read_line(address, 1).ready);
    assert_eq!(ready, [0, 1 << 40, (1 << 40) - 7]);
}

/// Local memory stays where it was stored, as far as there is room.
#[test]
fn kept_lines_are_read_without_a_fill() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
    c.write_line(0, 3, &[32; MAX_SECTORS]);
    assert_eq!(c.read_line(0, 3).hit, 0);
    c.keep_line(4096, 3);
    assert_eq!(c.read_line(4096, 7).hit, 3);
}

#[test]
fn sectors_fill_one_by_one() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
    assert!(c.read(0).fill);
    assert!(c.read(31).hit);
    assert!(c.read(32).fill, "same line, other sector");
    assert!(c.read(64).fill);
    assert!(c.read(0).hit);
    assert_eq!(c.counts().read_hits, 2);
    assert_eq!(c.counts().read_misses, 3);
}

#[test]
fn least_recently_used_leaves_first() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
    for line in 0..8 {
        c.read(line * 128);
    }
    c.read(0);
    c.read(8 * 128);
    assert!(c.read(0).hit);
    assert!(c.read(128).fill, "line 1 was the oldest");
}

#[test]
fn write_back_keeps_and_evicts_dirty_sectors() {
    let mut c = Cache::new(&level(256, 2, WritePolicy::WriteBack));
    let first = c.write(0, 32);
    assert_eq!((first.hit, first.fill, first.write_through), (false, false, false));
    c.write(32, 8);
    c.write(64, 16);
    c.write(64, 16);
    assert!(c.read(0).hit);
    assert!(c.read(64).hit, "written in two parts");
    c.read(128);
    let third = c.read(256);
    assert_eq!(third.evicted, Some(Evicted { address: 0, sectors: 3, partial: 1 }));
    assert_eq!(c.counts().written_back, 3);
    c.write(256, 8);
    c.write(288, 8);
    assert!(c.read(256).hit, "was read before");
    assert!(c.read(288).fill, "only 8 bytes are there");
}

#[test]
fn write_evict_drops_the_sector() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteEvict));
    c.read(0);
    let store = c.write(0, 32);
    assert!(store.hit && store.write_through);
    assert!(!c.read(0).hit);
}

#[test]
fn write_through_keeps_but_does_not_allocate() {
    let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
    assert!(!c.write(0, 32).hit);
    assert!(!c.read(0).hit);
    assert!(c.write(0, 32).hit);
    assert!(c.read(0).hit);
}

/// A working set that fits hits after the first lap, one of twice the size never does under
/// least-recently-used replacement with one set.
#[test]
fn capacity() {
    for (lines, hits) in [(8, 8), (16, 0)] {
        let mut c = Cache::new(&level(1024, 8, WritePolicy::WriteThrough));
        for _ in 0..2 {
            for line in 0..lines {
                c.read(line * 128);
            }
        }
        assert_eq!(c.counts().read_hits, hits);
    }
}
