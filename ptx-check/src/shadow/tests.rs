use super::*;

impl Shadow {
    /// Bytes that it has, with what allocations cost.
    fn bytes(&self) -> usize {
        let pages = (self.pages.len() + self.pool.len()) * (size_of::<Cell>() * 128 + 16);
        // A table that has grown is copied: for a moment there are both.
        let lists = (self.pages.capacity() + self.pool.capacity()) * size_of::<Page>() * 3 / 2;
        let slots = self.by_address.capacity() * 8 / 7 * (size_of::<(u64, u32)>() + 1) * 3 / 2;
        let chunks = self.side.chunks.len() * (CHUNK * size_of::<Packed>() + 16);
        let names = self.side.chunks.capacity() * 8 * 3 / 2 + self.direct.capacity() * 4;
        pages + lists + slots + chunks + names + self.threads.bytes()
    }
}

/// Accesses of a word by number: who, warp, lanes, site, bytes, whether it writes.
type Pattern = fn(u32, u32) -> ((u32, u32), u32, u32, u8, bool);

#[test]
fn it_takes_eight_bytes_a_byte() {
    let patterns: [(&str, Pattern); 6] = [
        ("nothing further", |_, _| ((2, 0), 1, 3, 15, true)),
        ("bytes one by one", |_, n| ((2, 0), 1 << (n % 4), 3, 1 << (n % 4), true)),
        ("readers of other blocks", |w, n| ((2 * (w % 7 + n), n), 1 << n, n, 15, false)),
        ("lanes as they come", |w, n| {
            ((2, n), (w * 40 + n).wrapping_mul(2_654_435_769) | 1, 3, 15, false)
        }),
        ("agents and threads", |_, n| ((2 + n % 2, n), 1 << n, n, 15, n % 3 == 0)),
        ("sites", |_, n| ((2, 0), 1, SITES as u32 - 1 - n, 15, n % 2 == 0)),
    ];
    for (what, of) in patterns {
        // Shared memory, global memory, and words far apart.
        for (start, step, words) in [(0, 4, 60_000), (7 << 32, 4, 600_000), (7 << 32, 512, 40_000)]
        {
            let mut shadow = Shadow::default();
            let mut touched = 0;
            for word in 0..words {
                let address = start + u64::from(word) * step;
                let at = shadow.cell(address);
                for n in 0..20 {
                    let (who, lanes, site, bytes, wrote) = of(word, n);
                    let e = Entry::new(who, 5 + n, lanes, site, bytes);
                    match wrote && lanes.is_power_of_two() {
                        true => shadow.get_mut(at).set_write(e, Code::new(who.1, lanes)),
                        false => shadow.set_read(at, e),
                    }
                    if what != "nothing further" {
                        shadow.push(at, (e, wrote));
                    }
                }
                touched = touched.max(shadow.page_count() * PAGE as usize);
                // Tables grow in steps.
                if word % 1024 == 0 || word + 1 == words {
                    let (bytes, most) = (shadow.bytes(), 8 * touched + (1 << 20));
                    assert!(bytes <= most, "{what}, {word} words: {bytes} of {most}");
                }
            }
            // A word of a page that is hardly used has all that it needs.
            let full = match what {
                "nothing further" => false,
                "lanes as they come" => true,
                _ => step == 4,
            };
            assert_eq!(
                shadow.forgot(),
                full,
                "{what}, {words} words: it says what it does not keep"
            );
        }
    }
}

#[test]
fn low_pages_are_found_like_others() {
    let mut shadow = Shadow::default();
    for address in [0x40, 0x7_0000_0000, 0xa00] {
        assert_eq!(shadow.find(address), None);
        let at = shadow.cell(address);
        assert_eq!((shadow.find(address), shadow.cell(address)), (Some(at), at));
    }
    let pages: Vec<u64> = shadow.page_addresses().collect();
    assert_eq!(pages, [0, 0xa00, 0x7_0000_0000]);
}

#[test]
fn a_reader_has_one_place_and_used_pages_are_empty() {
    let mut shadow = Shadow::default();
    let at = shadow.cell(0x40);
    let read = |warp, lanes| Entry::new((2, warp), 5, lanes, 3, 15);
    for n in 0..40 {
        // Two lanes of a warp and another warp by turns.
        let (old, new) = if n % 2 == 0 { (1, 2) } else { (2, 1) };
        shadow.keep_read(at, read(1, old), read(1, new));
    }
    shadow.keep_read(at, read(2, 4), read(1, 2));
    let further: Vec<Further> = shadow.further(at).collect();
    assert!(further.len() <= 3 && further.contains(&(read(2, 4), false)), "{further:?}");
    shadow.get_mut(at).set_write(read(1, 1), Code::new(1, 1));
    let mut next = Shadow::with(shadow.into_pages());
    let at = next.cell(0x1040);
    assert_eq!((next.get(at).write(), next.get(at).has_more()), (Entry::NONE, false));
}

#[test]
fn readers_are_parted_by_warp() {
    let mut shadow = Shadow::default();
    let at = shadow.cell(0x40);
    let entry = |warps| Entry::new((2, 0), 5, 1, 3, 15).of_warps(warps);
    shadow.push(at, (entry(6), false));
    shadow.set_read(at, entry(9));
    shadow.part(at);
    let mut warps: Vec<u32> = shadow.further(at).map(|(e, _)| e.warps).collect();
    warps.push(shadow.read(at).warps);
    assert_eq!(warps, [2, 4, 1, 8]);
    shadow.keep_block(1);
    assert_eq!(shadow.further(at).count(), 3);
    shadow.keep_block(0);
    assert_eq!((shadow.read(at), shadow.get(at).has_more()), (Entry::NONE, false));
}

#[test]
fn further_accesses_come_and_go() {
    let mut shadow = Shadow::default();
    let at = shadow.cell(0x1004);
    assert_eq!(at, shadow.cell(0x1007));
    assert_ne!(at, shadow.cell(0x1008));
    for actor in 0..20 {
        shadow.push(at, (Entry::new((actor, 0), 1, 1, 3, 15), actor == 1));
    }
    assert_eq!((shadow.further(at).count(), shadow.only_reads(at)), (FURTHER, false));
    // More than a word has room for is not what the table has room for.
    assert!(!shadow.forgot());
    shadow.retain(at, |(e, _)| e.who != 1);
    assert!(shadow.only_reads(at), "the write is gone");
    shadow.retain(at, |(e, _)| {
        e.lanes = 6;
        e.who < 3
    });
    let left: Vec<(u32, u32)> = shadow.further(at).map(|(e, _)| (e.who, e.lanes)).collect();
    assert_eq!(left, [(0, 6), (2, 6)]);
    shadow.retain(at, |_| false);
    assert_eq!((shadow.further(at).count(), shadow.get(at).has_more()), (0, false));
    // What is given back is used again.
    let used = shadow.side.used;
    shadow.push(at, (Entry::new((4, 0), 1, 1, 3, 15), true));
    assert_eq!((shadow.side.used, shadow.only_reads(at)), (used, false));
    shadow.forget(at);
    assert_eq!((shadow.only_reads(at), shadow.get(at).has_more()), (true, false));
}
