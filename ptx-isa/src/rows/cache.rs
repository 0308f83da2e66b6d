//! Prefetches, priorities and policies of caches (PTX ISA 9.7.9.15 to 9.7.9.18).

use crate::class::Class;
use crate::meaning::V;
use crate::row::{AddressWidth, Exactness, ROW, Row, Sem};
use crate::types::{Space, ptx};

/// Priorities of a cache policy.
const POLICY: &[(&str, &str)] = &[
    ("first", ".L2::evict_last .L2::evict_normal .L2::evict_first .L2::evict_unchanged"),
    ("second", ".L2::evict_first .L2::evict_unchanged"),
];
/// A policy is an opaque value that changes no result; 0 stands for it here.
const POLICIES: Row = Row {
    does: "Makes a cache policy for accesses to take.",
    since: ptx(7, 4),
    sm: 80,
    section: "9.7.9.18",
    class: |_| Class::Move,
    addresses: AddressWidth::Words,
    exact: Exactness::Implementation,
    sem: Sem::Ops(|x| x.wr("d", V::d(0))),
    ..ROW
};
const HINTS: Row = Row {
    section: "9.7.9.15",
    class: |_| Class::Move,
    sem: Sem::Ops(|_| {}),
    since: ptx(2, 0),
    ..ROW
};

const PREFETCH: Row = Row { does: "Brings a cache line closer; a hint.", ..HINTS };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "prefetch{.space}.level [a]",
        sets: &[("space", ".global .local"), ("level", ".L1 .L2")],
        sm: 20,
        ..PREFETCH
    },
    Row {
        syntax: "prefetch{.global}.level [a]",
        sets: &[("level", ".L2::evict_last .L2::evict_normal")],
        since: ptx(7, 4),
        sm: 80,
        ..PREFETCH
    },
    Row {
        syntax: "prefetch{.global}.L1::32B.valid_addr [a]",
        since: ptx(9, 4),
        sm: 90,
        ..PREFETCH
    },
    Row {
        syntax: "prefetch{.space}.tensormap [a]",
        sets: &[("space", ".const .param")],
        since: ptx(8, 0),
        sm: 90,
        addresses: AddressWidth::Words,
        ..PREFETCH
    },
    Row {
        syntax: "prefetchu.L1 [a]",
        does: "Brings a line into the uniform cache; a hint.",
        named: |_, space| space == Space::Global,
        sm: 20,
        ..HINTS
    },
    Row {
        syntax: "applypriority{.global}.L2::evict_normal [a], #size=128:.u32",
        does: "Gives a range of addresses the normal eviction priority; a hint.",
        since: ptx(7, 4),
        sm: 80,
        section: "9.7.9.16",
        ..HINTS
    },
    Row {
        syntax: "applypriority.async.bulk{.global}.bulk_group.L2::evict_normal [a], size=%16:.u32",
        does: "Gives a range of addresses the normal eviction priority; a hint.",
        since: ptx(9, 4),
        sm: 100,
        targets: "sm_107f",
        section: "9.7.10.18",
        exact: Exactness::Manual,
        ..HINTS
    },
    Row {
        syntax: "discard{.global}.L2 [a], #size=128:.u32",
        does: "Drops the cached data of a range without writing it back.",
        since: ptx(7, 4),
        sm: 80,
        section: "9.7.9.17",
        ..HINTS
    },
    Row {
        syntax: "createpolicy.fractional.first{.second}.b64 d:.u64{, fraction=>0..1:.f32}",
        sets: POLICY,
        ..POLICIES
    },
    Row {
        syntax: "createpolicy.range{.global}.first{.second}.b64 d:.u64, [a], primary=0..total:.u32, total:.u32",
        sets: POLICY,
        ..POLICIES
    },
    Row {
        syntax: "createpolicy.range.fabric.first{.second}.b64 d:.u64, [id:.u32, offset:.u64], primary=0..total:.u32, total:.u32",
        sets: POLICY,
        since: ptx(9, 4),
        sm: 100,
        ..POLICIES
    },
    Row { syntax: "createpolicy.cvt.L2.b64 d:.u64, a:.u64", ..POLICIES },
];
