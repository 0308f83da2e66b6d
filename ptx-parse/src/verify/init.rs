//! Initial values of variables (PTX ISA 5.4.4).

use super::Verifier;
use super::declare::Layout;
use super::operands::immediate;
use super::scope::Binding;
use crate::ast::{Arg, Imm, Operand, Var};
use crate::diag::Code;
use crate::module::{Relocation, RelocationTarget, Symbol};
use crate::names::Name;
use ptx_isa::types::{TyClass, ptx};
use ptx_isa::{Space, Ty};

/// Most bytes from a variable's start to the end of its last value: values stand in the verified module.
const LARGEST_INITIAL: usize = 256 << 20;

impl Verifier<'_> {
    pub(super) fn initialise(
        &mut self,
        symbol: &mut Symbol,
        var: &Var,
        layout: &Layout,
        init: &Operand,
    ) {
        let span = self.span_of(var.name);
        let name = self.text(var.name.name);
        if !matches!(symbol.space, Space::Global | Space::Const) {
            self.error(Code::Initializer, span, format!("`{name}` cannot have an initial value"))
                .note("only `.global` and `.const` variables have one");
            return;
        }
        if var.linkage == crate::ast::Linkage::Extern {
            self.error(
                Code::Initializer,
                span,
                format!("external `{name}` cannot have an initial value"),
            );
            return;
        }
        if layout.ty.class() == TyClass::Opaque {
            return;
        }
        let ast = self.ast;
        let mut dims: Vec<u64> = ast.ints(var.dims).to_vec();
        if var.vector > 0 {
            dims.push(u64::from(var.vector));
        }
        if matches!(dims.first(), Some(&Var::UNSIZED | 0)) {
            let count = match ast.arg(init) {
                Arg::Vector(items) => items.len() as u64,
                _ => 1,
            };
            dims[0] = count.max(1);
            symbol.size = dims.iter().product::<u64>() * u64::from(layout.ty.bytes());
        }
        self.level(symbol, layout.ty, &dims, 0, init);
        while symbol.init.last() == Some(&0) {
            symbol.init.pop();
        }
    }

    /// Values for an array of dimensions `dims` at byte `at`.
    fn level(&mut self, symbol: &mut Symbol, ty: Ty, dims: &[u64], at: u64, init: &Operand) {
        let ast = self.ast;
        match (ast.arg(init), dims.split_first()) {
            (Arg::Vector(items), Some((&count, inner))) => {
                let step = inner.iter().product::<u64>() * u64::from(ty.bytes());
                if items.len() as u64 > count {
                    let message = format!("{} values for {count} elements", items.len());
                    self.error(Code::Initializer, init.span(), message);
                    return;
                }
                for (i, item) in items.iter().enumerate() {
                    self.level(symbol, ty, inner, at + i as u64 * step, item);
                }
            }
            (Arg::Vector(_), None) => {
                self.error(Code::Initializer, init.span(), "braces around a single value")
                    .help("remove them, or declare an array");
            }
            (_, Some(_)) => {
                self.error(Code::Initializer, init.span(), "an array's values stand in braces");
            }
            (_, None) => self.scalar(symbol, ty, at, init),
        }
    }

    fn scalar(&mut self, symbol: &mut Symbol, ty: Ty, at: u64, init: &Operand) {
        let ast = self.ast;
        let bytes = ty.bytes() as usize;
        match ast.arg(init) {
            Arg::Imm(imm) => {
                let float = matches!(imm, Imm::F32(_) | Imm::F64(_));
                let wants_float = matches!(ty, Ty::F32 | Ty::F64);
                // Bits of a float's width take floats as well.
                let either = matches!(ty, Ty::B32 | Ty::B64);
                let ty = match ty {
                    Ty::B32 if float => Ty::F32,
                    Ty::B64 if float => Ty::F64,
                    ty => ty,
                };
                if float != wants_float && !either || ty == Ty::F16 || ty == Ty::F16x2 {
                    let wanted =
                        if wants_float { "a floating-point constant" } else { "an integer" };
                    self.error(Code::Initializer, init.span(), format!("`{ty}` takes {wanted}"));
                    return;
                }
                let bits = immediate(imm, ty).to_le_bytes();
                let start = at as usize;
                if bits.iter().any(|&b| b != 0) {
                    if start + bytes > LARGEST_INITIAL {
                        self.error(
                            Code::Initializer,
                            init.span(),
                            format!("values beyond the first {LARGEST_INITIAL} bytes are not kept"),
                        )
                        .help("let a kernel or the program write them");
                        return;
                    }
                    if symbol.init.len() < start + bytes {
                        symbol.init.resize(start + bytes, 0);
                    }
                    let n = bytes.min(8);
                    symbol.init[start..start + n].copy_from_slice(&bits[..n]);
                }
            }
            Arg::Name { name, neg: false, not: false, part: None } => {
                self.address(symbol, ty, at, init, name, 0, false, None);
            }
            Arg::Offset { name, offset } => {
                self.address(symbol, ty, at, init, name, offset, false, None);
            }
            Arg::Generic { name, offset } => {
                self.address(symbol, ty, at, init, name, offset, true, None);
            }
            Arg::Mask(mask, inner) => self.masked(symbol, ty, at, mask, inner),
            _ => {
                self.error(Code::Initializer, init.span(), "this is no constant")
                    .help("initial values are numbers and addresses: `x`, `x+4`, `generic(x)`");
            }
        }
    }

    fn masked(&mut self, symbol: &mut Symbol, ty: Ty, at: u64, mask: &Operand, inner: &Operand) {
        let ast = self.ast;
        let span = mask.span();
        self.need(span, "a mask on an address", ptx(7, 1), 0);
        let bits = match ast.arg(mask) {
            Arg::Imm(Imm::Signed(n)) => n as u64,
            Arg::Imm(Imm::Unsigned(n)) => n,
            _ => 0,
        };
        let shift = bits.trailing_zeros();
        if bits == 0 || bits >> shift != 0xff || shift % 8 != 0 {
            self.error(Code::Initializer, span, "a mask selects one byte")
                .help("write `0xff(x)`, `0xff00(x)`, … `0xff00000000000000(x)`");
            return;
        }
        let shift = Some(shift as u8);
        match ast.arg(inner) {
            Arg::Name { name, .. } => self.address(symbol, ty, at, inner, name, 0, false, shift),
            Arg::Offset { name, offset } => {
                self.address(symbol, ty, at, inner, name, offset, false, shift);
            }
            Arg::Generic { name, offset } => {
                self.address(symbol, ty, at, inner, name, offset, true, shift);
            }
            _ => {
                self.error(Code::Initializer, inner.span(), "a mask applies to an address");
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // one relocation, field by field
    fn address(
        &mut self,
        symbol: &mut Symbol,
        ty: Ty,
        at: u64,
        init: &Operand,
        name: Name,
        addend: i64,
        generic: bool,
        shift: Option<u8>,
    ) {
        let span = init.span();
        let text = self.text(name);
        let target = match self.scopes.get(name) {
            Binding::Symbol(id) => {
                let space = self.module.symbols[id as usize].space;
                if !matches!(space, Space::Global | Space::Const) {
                    self.error(
                        Code::Initializer,
                        span,
                        format!("the address of `{text}` is no constant"),
                    )
                    .note(
                        "only `.global` and `.const` variables and functions have a fixed address",
                    );
                    return;
                }
                RelocationTarget::Symbol(id)
            }
            Binding::Func(id) if addend == 0 && !generic => RelocationTarget::Function(id),
            // Not bound yet: its own address.
            Binding::None if symbol.name == text => {
                RelocationTarget::Symbol(self.module.symbols.len() as u32)
            }
            _ => {
                self.error(
                    Code::Initializer,
                    span,
                    format!("`{text}` is not declared before this place"),
                );
                return;
            }
        };
        let byte = shift.is_some();
        let whole = !byte && u32::from(self.module.info.address_bits) <= ty.bits();
        let fits = matches!(ty.class(), TyClass::Bits | TyClass::Uint | TyClass::Sint)
            && (whole || byte && ty.bits() == 8 || !byte && ty.bits() == 32);
        if !fits {
            let help = format!("use `.u{}`", self.module.info.address_bits);
            self.error(Code::Initializer, span, format!("`{ty}` cannot hold an address"))
                .help(help);
            return;
        }
        symbol.relocations.push(Relocation {
            offset: at,
            bytes: ty.bytes() as u8,
            target,
            addend,
            generic,
            shift: shift.unwrap_or(0),
        });
    }
}
