//! Addresses in operands: `[name+offset]`, and variables by name (PTX ISA 6.4.1, 6.4.3).

use super::Verifier;
use super::opcode::{Candidate, Spec};
use super::operands::{Fit, What, immediate};
use super::scope::Binding;
use crate::ast::{Arg, Imm, Operand as AstOperand, flag};
use crate::diag::{Code, Diag};
use crate::module::Operand;
use crate::names::Name;
use crate::span::Span;
use ptx_isa::class::Class;
use ptx_isa::meaning::Selection;
use ptx_isa::row::AddressWidth;
use ptx_isa::types::TyClass;
use ptx_isa::{Match, Operation, Space, Ty};

/// Whether an instruction loads or stores.
fn moves(c: &Candidate) -> bool {
    matches!(c.matched.row.op, Operation::Load | Operation::Store)
}

impl Verifier<'_> {
    /// The address of a variable or function as a value; `None` for other names.
    pub(super) fn address_value(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        binding: Binding,
        offset: i64,
    ) -> Option<Fit<Operand>> {
        let (operand, space) = match binding {
            Binding::Symbol(id) => {
                (Operand::Symbol(id, offset), self.module.symbols[id as usize].space)
            }
            Binding::Var(id) => (Operand::Var(id, offset), self.body.vars[id as usize].space),
            Binding::Param(id) => (Operand::Param(id, offset), self.param_space()),
            Binding::Func(id) if offset == 0 => (Operand::Func(id), Space::Generic),
            _ => return None,
        };
        if spec.count.is_some() {
            return Some(Err((What::NeedsScalar, *op)));
        }
        // To ptxas a function is a number of whatever type.
        if matches!(operand, Operand::Func(_)) {
            return Some(Ok(operand));
        }
        if let Some(want) = spec.ty.filter(|ty| ty.class() == TyClass::Opaque) {
            let own = match binding {
                Binding::Symbol(id) => {
                    let symbol = &self.module.symbols[id as usize];
                    // No element of an array stands for an object, and neither does the first one.
                    (!symbol.array).then_some(symbol.ty)
                }
                Binding::Param(id) => self.param_ty(id),
                _ => None,
            };
            let fits = own.is_some_and(|own| self.names_object(own, want, spec));
            return Some(if fits { Ok(operand) } else { Err((What::Object(want), *op)) });
        }
        if spec.space.is_some()
            && let Err(e) = self.same_space(space, spec.space, op)
        {
            return Some(Err(e));
        }
        if let Some(want) = spec.ty {
            let near = matches!(
                space,
                Space::Shared
                    | Space::Local
                    | Space::ParamFunc
                    | Space::ParamEntry
                    | Space::Generic
            );
            let integer = matches!(want.class(), TyClass::Bits | TyClass::Uint | TyClass::Sint);
            if !integer || want == Ty::Pred || want.bits() < 32 {
                return Some(Err((What::Constant(want), *op)));
            }
            // ptxas cuts an address with an offset to the width.
            if want.bits() == 32
                && !near
                && offset == 0
                && let Err(e) = self.narrow_address(op)
            {
                return Some(Err(e));
            }
        }
        Some(Ok(operand))
    }

    /// Whether a variable of type `own` is an object of kind `want`. In unified mode there are no samplers: one that is
    /// named besides the texture counts for nothing, and most of what there is to ask of one is asked of the texture.
    fn names_object(&self, own: Ty, want: Ty, spec: &Spec) -> bool {
        if want != Ty::SamplerRef || self.module.info.target.texmode_independent {
            return own == want;
        }
        if spec.register {
            return spec.relaxed && own == Ty::TexRef;
        }
        own.class() == TyClass::Opaque || own.bits() == 64
    }

    /// The type of a parameter or result of the function under way.
    fn param_ty(&self, id: u32) -> Option<Ty> {
        // A second definition of a name is checked, but is no function of the module.
        let f = self.module.functions.get(self.function)?;
        f.rets.iter().chain(&f.params).nth(id as usize).map(|p| p.ty)
    }

    /// The state space of the parameters of the function under way.
    fn param_space(&self) -> Space {
        if self.in_entry { Space::ParamEntry } else { Space::ParamFunc }
    }

    /// Name and byte offset of `x[3]`.
    pub(super) fn indexed(&mut self, base: &AstOperand, index: &AstOperand) -> Option<(Name, i64)> {
        let (Arg::Name { name, .. }, Arg::Imm(Imm::Signed(index))) =
            (self.ast.arg(base), self.ast.arg(index))
        else {
            return None;
        };
        let bytes = match self.scopes.get(name) {
            Binding::Symbol(id) => self.module.symbols[id as usize].ty.bytes(),
            Binding::Var(id) => self.body.vars[id as usize].ty.bytes(),
            _ => return None,
        };
        Some((name, index.checked_mul(i64::from(bytes))?))
    }

    pub(super) fn memory(&mut self, spec: &Spec, op: &AstOperand, c: &Candidate) -> Fit<Operand> {
        let ast = self.ast;
        let space = spec.space;
        let width = c.matched.row.addresses;
        let (name, offset) = match ast.arg(op) {
            Arg::Mem { name, offset, .. } => (name, offset),
            Arg::Index(base, index) => {
                self.indexed(base, index).ok_or((What::NeedsAddress, *op))?
            }
            Arg::Name { name, neg: false, not: false, part: None } if spec.bare => (name, 0),
            Arg::Offset { name, offset } if spec.bare => (name, offset),
            // Of constants without brackets, ptxas takes the bits of floats.
            Arg::Imm(imm @ Imm::F32(_)) if spec.bare && op.flags & flag::BITS != 0 => {
                return Ok(self.constant_address(imm));
            }
            Arg::MemList { items: [item], .. } => {
                let item = *item;
                return self.lone_part(spec, op, &item, c);
            }
            _ => return Err((What::NeedsAddress, *op)),
        };
        let binding = self.lookup(name);
        let base = match binding {
            Binding::Reg(id) => {
                let ty = self.body.regs[id as usize].ty;
                let integer = matches!(ty.class(), TyClass::Bits | TyClass::Uint | TyClass::Sint);
                let bare = !matches!(ast.arg(op), Arg::Mem { .. });
                if !(integer || bare && ty != Ty::Pred) || ty.bits() > 64 {
                    return Err((What::AddressType(ty), *op));
                }
                // The parameters of a function have names only.
                if c.matched.has(".param::func") && moves(c) {
                    return Err((What::Space(Space::Generic, Space::ParamFunc), *op));
                }
                match width {
                    AddressWidth::Tensor if ty.bits() != 32 => {
                        return Err((What::TensorAddress(ty), *op));
                    }
                    AddressWidth::ModuleWords if ty.bits() < 32 => {
                        return Err((What::AddressType(ty), *op));
                    }
                    AddressWidth::Module | AddressWidth::ModuleWords
                        if ty.bits() == 32 && (c.generic || space == Some(Space::Global)) =>
                    {
                        self.narrow_address(op)?;
                    }
                    AddressWidth::AnyBelow(_) if ty.bits() == 32 && self.needs_width(space, c) => {
                        self.narrow_address(op)?;
                    }
                    AddressWidth::Words if ty.bits() < 32 && spec.leading => {
                        return Err((What::AddressType(ty), *op));
                    }
                    AddressWidth::GenericWords if ty.bits() < 32 && c.generic => {
                        return Err((What::AddressType(ty), *op));
                    }
                    AddressWidth::Module
                    | AddressWidth::ModuleWords
                    | AddressWidth::Any
                    | AddressWidth::AnyBelow(_)
                    | AddressWidth::Words
                    | AddressWidth::GenericWords
                    | AddressWidth::Tensor => {}
                }
                Operand::Reg(id, Selection::Whole)
            }
            Binding::Symbol(_) | Binding::Var(_) | Binding::Param(_)
                if width == AddressWidth::Tensor =>
            {
                return Err((What::NeedsTensorAddress, *op));
            }
            Binding::Symbol(id) => {
                let symbol = &self.module.symbols[id as usize];
                let own = symbol.space;
                if moves(c) && symbol.ty.class() == TyClass::Opaque {
                    return Err((What::OpaqueVariable, *op));
                }
                self.same_space(own, space, op)?;
                if !(c.matched.row.named)(&c.matched, own) {
                    return Err((What::NeedsRegister, *op));
                }
                // Constant memory has generic addresses, but its names stand for them in fences alone.
                if own == Space::Const
                    && space.is_none()
                    && !matches!(c.matched.class(), Class::FenceBlock | Class::FenceDevice)
                {
                    return Err((What::NeedsConst, *op));
                }
                Operand::Symbol(id, 0)
            }
            Binding::Var(id) => {
                let own = self.body.vars[id as usize].space;
                self.same_space(own, space, op)?;
                if !(c.matched.row.named)(&c.matched, own) {
                    return Err((What::NeedsRegister, *op));
                }
                Operand::Var(id, 0)
            }
            Binding::Param(id) => {
                if moves(c) && self.param_ty(id).is_some_and(|ty| ty.class() == TyClass::Opaque) {
                    return Err((What::OpaqueVariable, *op));
                }
                if self.in_entry && c.matched.has(".param::func") {
                    return Err((What::Space(Space::ParamEntry, Space::ParamFunc), *op));
                }
                self.same_space(self.param_space(), space, op)?;
                self.direction(id, c, op)?;
                Operand::Param(id, 0)
            }
            Binding::None => return Err((What::Unknown(name), *op)),
            _ => return Err((What::NeedsAddress, *op)),
        };
        let at = self.body.operands.len() as u32;
        self.body.operands.push(base);
        Ok(Operand::Addr(at, offset))
    }

    fn constant_address(&mut self, imm: Imm) -> Operand {
        let at = self.body.operands.len() as u32;
        self.body.operands.push(Operand::Imm(immediate(imm, Ty::U64)));
        Operand::Addr(at, 0)
    }

    /// `[16]`, `[v.x]`: what is neither a register nor a variable in brackets.
    fn lone_part(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        item: &AstOperand,
        c: &Candidate,
    ) -> Fit<Operand> {
        match self.ast.arg(item) {
            Arg::Imm(imm @ (Imm::Signed(_) | Imm::Unsigned(_))) => {
                if c.matched.row.addresses == AddressWidth::Tensor {
                    return Err((What::NeedsTensorAddress, *item));
                }
                if spec.space != Some(Space::Local) {
                    return Err((What::ConstantAddress, *item));
                }
                Ok(self.constant_address(imm))
            }
            // A component of a vector register.
            Arg::Name { .. } => {
                let ty = if self.module.info.address_bits == 64 { Ty::B64 } else { Ty::B32 };
                let spec = Spec { ty: Some(ty), count: None, dest: false, ..*spec };
                let base = self.value(&spec, item, c.traits)?;
                let at = self.body.operands.len() as u32;
                self.body.operands.push(base);
                Ok(Operand::Addr(at, 0))
            }
            _ => Err((What::NeedsAddress, *op)),
        }
    }

    /// Results are written and parameters read.
    fn direction(&self, param: u32, c: &Candidate, op: &AstOperand) -> Fit<()> {
        let writes = c.matched.row.op == Operation::Store;
        match (param < self.returns, writes) {
            (false, true) => Err((What::ReadOnlyParam, *op)),
            (true, false) => Err((What::WriteOnlyResult, *op)),
            _ => Ok(()),
        }
    }

    /// Whether addresses have 64 bits for certain: the module says so, or its target has no others.
    fn wide_addresses(&self) -> bool {
        let modern = self.module.info.target.sm >= super::header::FIRST_WITHOUT_32;
        self.module.info.address_bits == 64 && (self.sized || modern)
    }

    /// Addresses of a module with 64-bit addresses are converted at that width.
    pub(super) fn narrow_conversion(&self, m: &Match, text: &str) -> Option<Box<Diag>> {
        let narrow =
            m.ty("type").is_some_and(|ty| ty.bits() < u32::from(self.module.info.address_bits));
        if m.row.op != Operation::ConvertAddress || !narrow || !self.wide_addresses() {
            return None;
        }
        let message = format!("`{text}` converts 32-bit addresses, the module's have 64 bits");
        let mut diag = Diag::error(Code::Type, Span::default(), message);
        diag.help("write the type `.u64`");
        Some(Box::new(diag))
    }

    /// Whether an address that may be narrow for older targets is as wide as the module's for this one.
    pub(super) fn needs_width(&self, space: Option<Space>, c: &Candidate) -> bool {
        matches!(c.matched.row.addresses, AddressWidth::AnyBelow(sm) if self.module.info.target.sm >= sm)
            && space == Some(Space::Global)
    }

    /// A 32-bit global or generic address: a matter of the module's address size.
    pub(super) fn narrow_address(&mut self, op: &AstOperand) -> Fit<()> {
        if self.wide_addresses() {
            return Err((What::NarrowAddress, *op));
        }
        if !self.sized {
            self.narrow.get_or_insert(op.span());
        }
        Ok(())
    }

    /// Whether a variable in `own` space may stand in an instruction on `space`.
    pub(super) fn same_space(&self, own: Space, space: Option<Space>, op: &AstOperand) -> Fit<()> {
        let fits = match (own, space) {
            // `.param` alone stands for either.
            (Space::ParamEntry, Some(Space::ParamFunc)) => true,
            (Space::ParamEntry | Space::ParamFunc, None) => return Err((What::NeedsParam, *op)),
            (_, None) => true,
            (Space::Shared, Some(Space::Shared | Space::SharedCluster)) => true,
            (own, Some(space)) => own == space,
        };
        match (fits, space) {
            (false, Some(space)) => Err((What::Space(own, space), *op)),
            _ => Ok(()),
        }
    }
}
