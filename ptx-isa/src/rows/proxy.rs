//! Fences between proxies (PTX ISA 9.7.15.4).

use super::cluster::C;
use crate::class;
use crate::effect::{Effect, Fence, Order, Proxy, Scope};
use crate::row::{AddressWidth, Row, Sem};
use crate::types::ptx;

const FENCE: Row = Row {
    does: "Orders accesses of one proxy to memory before those of another.",
    section: "9.7.15.4",
    class: class::fence,
    splits: |_| false,
    addresses: AddressWidth::Any,
    // One coherent memory behind every proxy: a full fence orders them all.
    sem: Sem::Ops(|x| {
        let proxies = [
            (".proxy.async", Proxy::Async),
            (".proxy.alias", Proxy::Alias),
            (".proxy.tensormap", Proxy::Tensormap),
        ];
        let proxy = proxies.iter().find(|(word, _)| x.m.row.syntax.contains(word));
        let proxy = proxy.map_or(Proxy::Generic, |(_, proxy)| *proxy);
        let inits = x.m.row.syntax.contains(".mbarrier_init");
        let fence = Fence { order: Order::SeqCst, scope: Scope::Sys, proxy, inits };
        x.effect(Effect::Fence(fence), &[], &[]);
    }),
    ..C
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Fences between proxies.
    Row { syntax: "fence.proxy.alias", since: ptx(7, 5), sm: 70, ..FENCE },
    Row {
        syntax: "fence.proxy.alias.sem.sys",
        sets: &[("sem", ".acquire .release")],
        since: ptx(9, 4),
        ..FENCE
    },
    Row { syntax: "membar.proxy.alias", since: ptx(7, 5), sm: 60, ..FENCE },
    Row {
        syntax: "fence.proxy.async{.space}",
        sets: &[("space", ".global .shared::cta .shared::cluster")],
        since: ptx(8, 0),
        ..FENCE
    },
    Row { syntax: "membar.proxy.async", since: ptx(8, 0), ..FENCE },
    Row { syntax: "fence.proxy.tensormap::generic.release.scope", since: ptx(8, 3), ..FENCE },
    Row {
        syntax: "fence.proxy.tensormap::generic.acquire.scope [a], #size=128:.u32",
        since: ptx(8, 3),
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        since: ptx(8, 6),
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        since: ptx(8, 6),
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.scope",
        sets: &[("scope", ".cta .cluster")],
        since: ptx(9, 4),
        ..FENCE
    },
    Row {
        syntax: "fence.proxy.kind.alias.sem.sys",
        sets: &[
            ("kind", ".generic::fabric .fabric::generic .fabric::fabric"),
            ("sem", ".acquire .release"),
        ],
        since: ptx(9, 3),
        sm: 100,
        ..FENCE
    },
    Row {
        syntax: "fence.acquire.sync_restrict::shared::cluster.cluster",
        since: ptx(8, 6),
        ..FENCE
    },
    Row { syntax: "fence.release.sync_restrict::shared::cta.cluster", since: ptx(8, 6), ..FENCE },
    Row { syntax: "fence.mbarrier_init.release.cluster", since: ptx(8, 0), ..FENCE },
];
