//! Tensor maps (PTX ISA 9.7.10.29).

use super::async_copy::at;
use super::cluster::C;
use crate::class;
use crate::matched::Match;
use crate::matrix::run::space_code;
use crate::meaning::{Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, Reach, Row, Sem};
use crate::rows::memory::space;
use crate::tensor::{Field, copy};
use crate::types::{Kind, Ty, ptx};

const TENSORMAP: Row = Row {
    does: "Changes a field of a tensor map.",
    section: "9.7.10.29",
    since: ptx(8, 3),
    targets: "sm_90a sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
    class: class::store,
    addresses: AddressWidth::Words,
    check: Some(replaced_width),
    reach: Reach::Block,
    exact: Exactness::Recorded("tensor copies, H200"),
    sem: Sem::Ops(replace),
    ..C
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Tensor maps.
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], b",
        sets: &[
            ("field", ".global_address .rank"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #ord=0..4:.u32, b",
        sets: &[
            ("field", ".box_dim .global_dim .global_stride .element_stride"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b=0..15:type",
        sets: &[("field", ".elemtype"), ("space", ".global .shared::cta"), ("type", ".b32 .b64")],
        sm: 100,
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b=0..12:type",
        sets: &[("field", ".elemtype"), ("space", ".global .shared::cta"), ("type", ".b32 .b64")],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b=0..2:type",
        sets: &[
            ("field", ".interleave_layout"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b=0|1:type",
        sets: &[("field", ".fill_mode"), ("space", ".global .shared::cta"), ("type", ".b32 .b64")],
        ..TENSORMAP
    },
    // The swizzle within 96 bytes.
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b=0..4:type",
        sets: &[
            ("field", ".swizzle_mode"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        since: ptx(8, 8),
        targets: "sm_103a sm_107a",
        exact: Exactness::Manual,
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.replace.tile.field{.space}.b1024.type [a], #b=0..3:type",
        sets: &[
            ("field", ".swizzle_mode .swizzle_atomicity"),
            ("space", ".global .shared::cta"),
            ("type", ".b32 .b64"),
        ],
        floors: &[Floor {
            tokens: ".swizzle_atomicity",
            since: ptx(8, 6),
            sm: 100,
            targets: "sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
        }],
        ..TENSORMAP
    },
    Row {
        syntax: "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [a], [b], #size=128:.u32",
        does: "Copies a tensor map to global memory and makes it visible there.",
        section: "9.7.15.17",
        class: class::fence,
        since: ptx(8, 3),
        reach: Reach::Block,
        sem: Sem::Ops(|x| {
            let src = [at(x, "a"), at(x, "b"), V::w(u32::MAX)];
            x.warp_joined("tensormap.cp_fenceproxy", copy::copy_map, [0; 4], 2, &src);
        }),
        addresses: AddressWidth::Any,
        ..C
    },
];

fn replace(x: &mut Cx) {
    let Some(field) = Field::parse(x.get("field")) else { return };
    let ord = x.m.notation.slots.iter().any(|s| s.name == "ord");
    let dimension = if ord { x.imm("ord") as u32 } else { 0 };
    let value = x.rd("b");
    let k = [field as u32, dimension, space_code(space(x)), u32::from(value.kind == Kind::D)];
    let src = [at(x, "a"), value];
    x.warp("tensormap.replace", copy::replace, k, &src, &[]);
}

/// Addresses and strides of a tensor map have 64 bits, the rest 32.
fn replaced_width(m: &Match) -> Result<(), String> {
    let field = m.get("field").unwrap_or("");
    let wide = matches!(field, ".global_address" | ".global_stride");
    if (m.ty("type") == Some(Ty::B64)) == wide {
        Ok(())
    } else {
        let need = if wide { ".b64" } else { ".b32" };
        Err(format!("field `{field}` of a tensor map takes type `{need}`"))
    }
}
