//! Initial contents of module-scope variables.

use ptx_parse::code::function_address;
use ptx_parse::module::{RelocationTarget, Symbol};

/// Writes what a variable holds besides zeros, piece by piece at offsets from its start, once the addresses of all symbols
/// are known (0 for those without one). A variable may be larger than the host's memory, its pieces are not.
///
/// # Errors
/// The first of `write`.
pub(crate) fn fill<E>(
    symbol: &Symbol,
    addresses: &[u64],
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let size = usize::try_from(symbol.size).unwrap_or(usize::MAX);
    let given = &symbol.init[..symbol.init.len().min(size)];
    if !given.is_empty() {
        write(0, given)?;
    }
    for relocation in &symbol.relocations {
        // Global and constant addresses are generic ones already, so `generic()` changes nothing.
        let base = match relocation.target {
            RelocationTarget::Symbol(id) => addresses.get(id as usize).copied().unwrap_or(0),
            RelocationTarget::Function(id) => function_address(id),
        };
        let value = base.wrapping_add(relocation.addend as u64) >> relocation.shift;
        let width = usize::from(relocation.bytes).min(8);
        let end = relocation.offset.checked_add(width as u64);
        if end.is_some_and(|end| end <= symbol.size) {
            write(relocation.offset, &value.to_le_bytes()[..width])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_isa::{Space, Ty};
    use ptx_parse::module::{Linkage, Relocation};

    fn symbol(relocations: Vec<Relocation>) -> Symbol {
        Symbol {
            name: "table".into(),
            space: Space::Global,
            ty: Ty::B8,
            align: 8,
            size: 16,
            array: true,
            linkage: Linkage::Internal,
            managed: false,
            init: vec![1, 2, 3],
            relocations,
            span: 0..0,
        }
    }

    fn at(offset: u64, bytes: u8, target: RelocationTarget, addend: i64, shift: u8) -> Relocation {
        Relocation { offset, bytes, target, addend, generic: false, shift }
    }

    /// The variable's bytes, when only what is written is not zero.
    fn image(symbol: &Symbol, addresses: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; symbol.size as usize];
        let filled = fill(symbol, addresses, |at, piece| {
            bytes[at as usize..][..piece.len()].copy_from_slice(piece);
            Ok::<_, ()>(())
        });
        filled.unwrap();
        bytes
    }

    #[test]
    fn only_what_is_given_is_written() {
        let huge = Symbol {
            size: 60_000_000_000,
            ..symbol(vec![at(59_999_999_992, 8, RelocationTarget::Symbol(0), 0, 0)])
        };
        let mut pieces = Vec::new();
        fill(&huge, &[7], |at, piece| {
            pieces.push((at, piece.to_vec()));
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(pieces, [(0, vec![1, 2, 3]), (59_999_999_992, vec![7, 0, 0, 0, 0, 0, 0, 0])]);
    }

    #[test]
    fn missing_bytes_are_zero() {
        assert_eq!(image(&symbol(vec![]), &[])[..4], [1, 2, 3, 0]);
        assert_eq!(image(&symbol(vec![]), &[]).len(), 16);
    }

    #[test]
    fn addresses_are_filled_in() {
        let addresses = [0x1122_3344_5566];
        let relocations = vec![
            at(0, 8, RelocationTarget::Symbol(0), 2, 0),
            at(8, 1, RelocationTarget::Symbol(0), 0, 16),
            at(12, 4, RelocationTarget::Function(1), 0, 0),
        ];
        let bytes = image(&symbol(relocations), &addresses);
        assert_eq!(bytes[..8], 0x1122_3344_5568u64.to_le_bytes());
        assert_eq!(bytes[8], 0x44);
        assert_eq!(bytes[12..], (function_address(1) as u32).to_le_bytes());
    }
}
