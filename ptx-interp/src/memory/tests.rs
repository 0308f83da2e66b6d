//! Allocations and accesses by the host.

use super::*;

#[test]
fn allocations_have_guard_space_and_come_back_zeroed() {
    let m = Memory::new(1 << 18).unwrap();
    let a = m.alloc(1000, 1, "a", Access::ReadWrite).unwrap();
    let b = m.alloc(16, 4096, "b", Access::ReadOnly).unwrap();
    assert!(a >= window::GLOBAL && b.is_multiple_of(4096) && b >= a + 1000 + GUARD);
    m.write(a, &[7; 1000]).unwrap();
    let mut out = [0; 3];
    m.read(a + 997, &mut out).unwrap();
    assert_eq!(out, [7; 3]);
    assert!(m.read(a + 998, &mut out).is_err());
    assert!(m.read(a + 1000, &mut out).is_err());
    assert!(m.find(a + 1000).is_none());
    assert_eq!(m.nearest(a + 1000).map(|(x, d)| (x.start, d)), Some((a, 1)));
    assert_eq!(m.nearest(a - 4).map(|(x, d)| (x.start, d)), Some((a, -4)));
    assert_eq!(m.span(b).map(|s| (s.start, s.size, s.writable)), Some((b, 16, false)));
    let epoch = m.epoch();
    m.free(a).unwrap();
    assert_ne!(m.epoch(), epoch);
    assert_eq!(m.free(a), Err(MemoryError::NotAllocated { address: a }));
    let c = m.alloc(1000, 1, "c", Access::ReadWrite).unwrap();
    assert_eq!(c, a);
    m.read(c, &mut out).unwrap();
    assert_eq!(out, [0; 3]);
    m.free(b).unwrap();
    m.free(c).unwrap();
    assert_eq!(m.used(), 0);
    assert_eq!(m.table().top, window::GLOBAL);
}

#[test]
fn a_watcher_is_told_what_the_host_does() {
    struct Log(std::sync::Mutex<Vec<String>>);
    impl MemoryWatcher for Log {
        fn event(&self, event: MemoryEvent<'_>) {
            let text = match event {
                MemoryEvent::Allocated(a) => format!("new {} {}", a.name, a.size),
                MemoryEvent::Freed(a) => format!("gone {}", a.name),
                MemoryEvent::Written { bytes, .. } => format!("written {bytes}"),
                MemoryEvent::Read { bytes, .. } => format!("read {bytes}"),
                MemoryEvent::Copied { bytes, .. } => format!("copied {bytes}"),
                MemoryEvent::LaunchStarts => "launch".into(),
            };
            self.0.lock().unwrap().push(text);
        }
    }
    let m = Memory::new(1 << 16).unwrap();
    let log = Arc::new(Log(Default::default()));
    assert!(m.watch(log.clone()) && !m.watch(log.clone()));
    let a = m.alloc(64, 1, "a", Access::ReadWrite).unwrap();
    m.write(a, &[1; 8]).unwrap();
    m.fill(a, 2, 16).unwrap();
    m.fill_pattern(a, &[1, 2], 3).unwrap();
    m.copy(a + 32, a, 4).unwrap();
    m.read(a, &mut [0; 5]).unwrap();
    assert!(m.write(a + 60, &[0; 5]).is_err());
    m.launch_starts();
    let h = m.alloc_heap(24).unwrap();
    m.free_heap(h).unwrap();
    m.free(a).unwrap();
    let told = log.0.lock().unwrap().join(", ");
    let rest = "launch, new malloc 24, gone malloc, gone a";
    let host = "new a 64, written 8, written 16, written 6, copied 4, read 5";
    assert_eq!(told, format!("{host}, {rest}"));
}

#[test]
fn lent_host_memory() {
    let m = Memory::at(1 << 40, 1 << 16).unwrap();
    let mut host = vec![0u8; 100];
    let at = host.as_mut_ptr();
    // SAFETY: `host` outlives `m`.
    let a = unsafe { m.map_host(at, 100, "lent") }.unwrap();
    m.write(a + 98, &[5, 6]).unwrap();
    assert!(m.write(a + 99, &[5, 6]).is_err());
    assert_eq!(m.used(), 0);
    // SAFETY: as above.
    let again = unsafe { m.map_host(at.wrapping_add(99), 9, "lent") };
    assert!(matches!(again, Err(MemoryError::Mapped { .. })));
    let own = m.alloc(4, 1, "own", Access::ReadWrite).unwrap();
    assert_eq!(own, 1 << 40);
    m.free(a).unwrap();
    assert_eq!(host[97..], [0, 5, 6]);
    assert!(m.find(a).is_none());
}

#[test]
fn identity_mode_reaches_what_is_mapped() {
    // SAFETY: nothing is launched on it.
    let m = unsafe { Memory::identity(1 << 16) }.unwrap();
    let v = m.alloc(16, 1, "variable", Access::ReadOnly).unwrap();
    assert_eq!(m.span(v).map(|s| (s.start, s.size, s.writable)), Some((v, 16, false)));
    // Guard space stays guard space although the host has mapped it.
    assert_eq!(m.span(v + 16), None);
    let host = [7u8; 64];
    let at = host.as_ptr().expose_provenance() as u64;
    let span = m.span(at).unwrap();
    assert!(span.writable && span.start <= at && at + 64 <= span.start + span.size);
    assert_eq!(span.origin().wrapping_add(at as usize).cast_const(), host.as_ptr());
    assert_eq!(m.span(8), None);
    assert!(m.read(at, &mut [0; 4]).is_err());
    m.write(v, &[1; 16]).unwrap();
    m.free(v).unwrap();
}

#[test]
fn limits_and_kernel_heap() {
    let m = Memory::new(1 << 16).unwrap();
    assert!(matches!(
        m.alloc(1 << 17, 1, "x", Access::ReadWrite),
        Err(MemoryError::OutOfMemory { .. })
    ));
    let h = m.alloc_heap(24).unwrap();
    m.set_heap_limit(40);
    assert!(matches!(m.alloc_heap(17), Err(MemoryError::OutOfMemory { used: 24, limit: 40, .. })));
    m.free_heap(m.alloc_heap(16).unwrap()).unwrap();
    let a = m.alloc(24, 1, "a", Access::ReadWrite).unwrap();
    assert!(m.free_heap(a).is_err());
    m.free_heap(h).unwrap();
    m.fill(a, 3, 24).unwrap();
    m.copy(a + 8, a, 16).unwrap();
    assert!(m.copy(a + 9, a, 16).is_err());
}
