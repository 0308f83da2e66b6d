//! Operands as values: registers, literals, vectors, special registers, addresses.

use super::Verifier;
use super::opcode::{Spec, Traits};
use super::operands::{Fit, What, agrees, immediate};
use super::scope::Binding;
use crate::ast::{Arg, Imm, Operand as AstOperand, OperandKind, Selector, flag};
use crate::module::Operand;
use crate::names::Name;
use ptx_isa::Ty;
use ptx_isa::meaning::Selection;
use ptx_isa::special::Sreg;
use ptx_isa::syntax::Form;
use ptx_isa::types::TyClass;

impl Verifier<'_> {
    /// A register, constant, vector or address as a value.
    #[inline]
    pub(super) fn value(&mut self, spec: &Spec, op: &AstOperand, traits: Traits) -> Fit<Operand> {
        let ast = self.ast;
        if spec.least && op.kind != OperandKind::Vector {
            let scalar = Spec { count: None, least: false, nothing: false, ..*spec };
            if spec.nothing {
                return self.value(&scalar, op, traits).map(|_| Operand::Absent);
            }
            if spec.lone && spec.count == Some(1) {
                return self.value(&scalar, op, traits);
            }
        }
        if spec.scalar
            && let Some(count) = spec.count
            && let Arg::Name { name, .. } = ast.arg(op)
            && matches!(self.lookup(name), Binding::Reg(_))
        {
            let scalar = Spec { count: None, least: false, scalar: false, ..*spec };
            let given = self.value(&scalar, op, traits)?;
            let first = self.body.operands.len() as u32;
            self.body.operands.push(given);
            self.body.operands.extend((1..count).map(|_| Operand::Imm(0)));
            return Ok(Operand::Vector(first..first + count));
        }
        match ast.arg(op) {
            Arg::Name { name, neg, not, part } => {
                let binding = self.lookup(name);
                if spec.fills.is_some() {
                    return self.filling_name(spec, op, binding, traits);
                }
                if let (Binding::Reg(id), None, false, false, None, None) =
                    (binding, spec.count, neg, not, part, spec.selector)
                {
                    return match spec.ty {
                        Some(want) => {
                            let ty = self.body.regs[id as usize].ty;
                            let fits = agrees(ty, want, spec.relaxed) || spec.any && ty != Ty::Pred;
                            if fits || self.holds_handle(ty, want) {
                                Ok(Operand::Reg(id, Selection::Whole))
                            } else {
                                Err((What::Type(ty, want), *op))
                            }
                        }
                        None => Ok(Operand::Reg(id, Selection::Whole)),
                    };
                }
                self.name_value(spec, op, traits, name, binding, (neg, not), part)
            }
            Arg::Imm(_) | Arg::Sink | Arg::Offset { .. } if spec.fills.is_some() => {
                Err((What::NeedsVector(2), *op))
            }
            Arg::Imm(_) if spec.count.is_some() => {
                Err((What::NeedsVector(spec.count.unwrap_or(0)), *op))
            }
            Arg::Imm(_) if spec.dest => Err((What::NotConstant, *op)),
            // Of constants, ptxas takes the bits of floats as metadata.
            Arg::Imm(Imm::F32(_)) if spec.register && spec.mixed && op.flags & flag::BITS != 0 => {
                let any = Spec { register: false, plain: false, ..*spec };
                self.value(&any, op, traits)
            }
            Arg::Imm(_) if spec.register => Err((What::NeedsRegister, *op)),
            Arg::Imm(imm) => self.constant(spec, op, imm),
            Arg::Vector(items) => self.vector(spec, op, items, traits),
            Arg::Sink if traits.sink && (spec.dest || spec.element) => Ok(Operand::Sink),
            Arg::Sink => Err((What::Sink, *op)),
            Arg::Group([inner]) if !spec.dest => {
                let inner = *inner;
                match ast.arg(&inner) {
                    Arg::Imm(_) => self.value(spec, &inner, traits),
                    _ => Err((What::NeedsRegister, *op)),
                }
            }
            // A sum has no parts; elsewhere ptxas takes it for a register.
            Arg::Offset { .. }
                if (spec.selector.is_some() || spec.register && spec.selectors) && !spec.dest =>
            {
                Err((What::NeedsRegister, *op))
            }
            Arg::Offset { .. } if self.called(spec) => Err((What::Argument, *op)),
            Arg::Offset { name, offset } if !spec.dest && spec.form == Form::Value => {
                let binding = self.lookup(name);
                if let Binding::Reg(id) = binding {
                    return self.sum(spec, op, id, offset);
                }
                match self.address_value(spec, op, binding, offset) {
                    Some(_) if matches!(binding, Binding::Func(_)) => Err((What::NotValue, *op)),
                    Some(fit) => fit,
                    None if binding == Binding::None => Err((What::Unknown(name), *op)),
                    None => Err((What::NotValue, *op)),
                }
            }
            Arg::Index(base, index) if (spec.names || traits.addresses) && !spec.dest => {
                let (name, offset) = self.indexed(base, index).ok_or((What::NotValue, *op))?;
                let binding = self.lookup(name);
                self.address_value(spec, op, binding, offset).unwrap_or(Err((What::NotValue, *op)))
            }
            Arg::Mem { .. } | Arg::MemList { .. } => Err((What::NotAddress, *op)),
            Arg::Pair(..) => Err((What::Pair, *op)),
            _ => Err((What::NeedsRegister, *op)),
        }
    }

    /// Elements in braces.
    fn vector(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        items: &[AstOperand],
        traits: Traits,
    ) -> Fit<Operand> {
        if let Some(total) = spec.fills {
            return self.filling(spec, op, items, total, traits);
        }
        let Some(count) = spec.count else {
            return match items {
                // A vector of one is its element.
                [one] if spec.one => {
                    let one = *one;
                    self.value(spec, &one, traits)
                }
                // Of registers the first one counts.
                [first, ..]
                    if spec.one && spec.register || spec.first && matches!(items.len(), 2 | 4) =>
                {
                    let first = *first;
                    self.value(spec, &first, traits)
                }
                _ => Err((What::NeedsScalar, *op)),
            };
        };
        let given = items.len() as u32;
        let longer = spec.least && given > count && matches!(given, 2 | 4);
        if given != count && !longer {
            return Err((What::NeedsVector(count), *op));
        }
        if items.iter().all(|item| item.kind == OperandKind::Sink) {
            return Err((What::NothingWritten, *op));
        }
        let element = Spec { count: None, least: false, scalar: false, element: true, ..*spec };
        let traits = Traits { sink: spec.dest || traits.sink, ..traits };
        if items.iter().any(|item| item.kind == OperandKind::Offset) {
            return Err((What::NeedsRegister, *op));
        }
        let element = self.element(element, items)?;
        let mut list: [Operand; 8] = [const { Operand::Absent }; 8];
        if items.len() <= 8 {
            for (to, item) in list.iter_mut().zip(items) {
                *to = self.value(&element, item, traits)?;
            }
            let first = self.body.operands.len() as u32;
            self.body.operands.extend(list.into_iter().take(items.len()));
            return Ok(Operand::Vector(first..first + items.len() as u32));
        }
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.push(self.value(&element, item, traits)?);
        }
        let first = self.body.operands.len() as u32;
        self.body.operands.extend(list);
        Ok(Operand::Vector(first..first + items.len() as u32))
    }

    /// What the elements of a vector must be, once it is known that they go together: neighbours are of one kind, or
    /// one of them has no type (`.b32`); registers are as wide as the first element if that is one. A register without
    /// a type leaves the vector without one, so that its elements may have any.
    fn element(&mut self, element: Spec, items: &[AstOperand]) -> Fit<Spec> {
        let mut first = None;
        let mut before: Option<Ty> = None;
        let (mut untyped, mut integers) = (None, true);
        for (i, item) in items.iter().enumerate() {
            let (own, register) = match self.ast.arg(item) {
                Arg::Name { name, part: None, .. } => match self.lookup(name) {
                    Binding::Reg(id) => (self.body.regs[id as usize].ty, true),
                    _ => continue,
                },
                Arg::Imm(Imm::Signed(_) | Imm::Unsigned(_)) => (Ty::S32, false),
                Arg::Imm(Imm::F32(_) | Imm::F64(_)) => (Ty::F32, false),
                _ => continue,
            };
            let kind = |ty: Ty| match ty.class() {
                TyClass::Sint => TyClass::Uint,
                class => class,
            };
            let untyped_pair = |a: Ty| kind(a) == TyClass::Bits || kind(own) == TyClass::Bits;
            // The number of a layer is not of the coordinates' type.
            let neighbour = before.filter(|_| !(element.coordinates && i <= 2));
            if let Some(before) = neighbour
                && kind(before) != kind(own)
                && !untyped_pair(before)
            {
                return Err((What::Type(own, before), *item));
            }
            before = Some(own);
            // A constant in first place takes registers of any width.
            let width = *first.get_or_insert(register.then_some(own));
            if let Some(width) = width
                && register
                && width.bits() != own.bits()
            {
                return Err((What::Type(own, width), *item));
            }
            if register && kind(own) == TyClass::Bits {
                untyped = untyped.or(Some((width, *item)));
            }
            integers &= register && kind(own) == TyClass::Uint;
        }
        let Some(want) = element.ty else {
            // Coordinates behind the number of a layer have 32 bits.
            return match first.flatten() {
                Some(ty) if element.coordinates && !element.dest && ty.bits() != 32 => {
                    Err((What::Type(ty, Ty::B32), items[0]))
                }
                _ => Ok(element),
            };
        };
        let own = matches!(want.class(), TyClass::Opaque | TyClass::Half | TyClass::Pred);
        if element.register {
            return Ok(element);
        }
        if want.is_packed() || own {
            let any = untyped.and_then(|(width, _)| width).is_some_and(|w| w.bits() == want.bits());
            return Ok(Spec { any: element.any || any, ..element });
        }
        match untyped {
            Some((Some(width), item))
                if width.bits() != want.bits()
                    && !(element.relaxed && width.bits() > want.bits()) =>
            {
                Err((What::Type(width, want), item))
            }
            Some(_) => Ok(Spec { any: true, ..element }),
            None if element.mixed && want.class() == TyClass::Bits && first.flatten().is_some() => {
                let first = first.flatten().unwrap_or(want);
                Err((What::Type(first, want), items[0]))
            }
            // ptxas does not tell integers from floats where all are registers.
            None if integers && !element.mixed && want.class() == TyClass::Float => {
                let width = first.flatten().unwrap_or(want);
                Ok(Spec { any: width.bits() == want.bits(), ..element })
            }
            None => Ok(element),
        }
    }

    /// Whether a register of type `reg` may hold the handle of a texture, sampler or surface.
    fn holds_handle(&self, reg: Ty, want: Ty) -> bool {
        want.class() == TyClass::Opaque
            && matches!(reg.class(), TyClass::Bits | TyClass::Uint | TyClass::Sint)
            && (reg.bits() == 64 || reg.bits() == 32 && self.module.info.address_bits == 32)
    }

    /// Whether ptxas calls a function of its own with the operand.
    fn called(&self, spec: &Spec) -> bool {
        let (first, end) = spec.called;
        (first..end).contains(&self.module.info.target.sm)
    }

    /// `%r1+4` as a value: a register with a constant added to it.
    fn sum(&self, spec: &Spec, op: &AstOperand, id: u32, offset: i64) -> Fit<Operand> {
        let ty = self.body.regs[id as usize].ty;
        if spec.count.is_some() {
            return Err((What::NeedsVector(spec.count.unwrap_or(0)), *op));
        }
        let want = spec.ty.unwrap_or(ty);
        let handle = self.holds_handle(ty, want);
        // ptxas does not look at the width of a sum where the instruction's type is meant.
        // ptxas takes floats as well, and crashes on them unless told not to optimise.
        let integer = matches!(ty.class(), TyClass::Bits | TyClass::Uint | TyClass::Sint);
        if !integer || ty.bits() > 64 {
            return Err((What::OffsetOfFloat, *op));
        }
        if spec.plain && !agrees(ty, want, false) {
            return Err((What::Type(ty, want), *op));
        }
        let number = want != Ty::Pred && want.class() != TyClass::Opaque;
        if !number && !handle || handle && spec.register {
            return Err((What::Type(ty, want), *op));
        }
        Ok(Operand::Sum(id, offset))
    }

    /// `mov`'s vectors: two or four elements whose widths sum to the type's.
    fn filling(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        items: &[AstOperand],
        total: u32,
        traits: Traits,
    ) -> Fit<Operand> {
        let each = match items.len() {
            2 => total / 2,
            4 => total / 4,
            _ => return Err((What::NeedsVector(2), *op)),
        };
        let ty = match each {
            8 => Ty::B8,
            16 => Ty::B16,
            32 => Ty::B32,
            64 => Ty::B64,
            _ => return Err((What::NeedsVector(2), *op)),
        };
        let (mut first_float, mut any) = (false, false);
        for (i, item) in items.iter().enumerate() {
            match self.ast.arg(item) {
                Arg::Imm(Imm::F32(_) | Imm::F64(_)) => first_float |= i == 0,
                Arg::Name { name, part: None, .. } => {
                    let Binding::Reg(id) = self.lookup(name) else { continue };
                    let own = self.body.regs[id as usize].ty;
                    // A float in first place takes no wider registers, as integers do.
                    if first_float && own.bits() != each {
                        return Err((What::Type(own, ty), *item));
                    }
                    any |= own.class() == TyClass::Float && own.bits() == each;
                }
                _ => {}
            }
        }
        let count = Some(items.len() as u32);
        let element = Spec { fills: None, ty: Some(ty), count, any: spec.any || any, ..*spec };
        self.value(&element, op, traits)
    }

    /// A vector register as `mov`'s vector.
    fn filling_name(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        binding: Binding,
        traits: Traits,
    ) -> Fit<Operand> {
        let Binding::Regs(first, count) = binding else {
            return Err((What::NeedsVector(2), *op));
        };
        let ty = self.body.regs[first as usize].ty;
        let total = spec.fills.unwrap_or(0);
        if ty.bits() * u32::from(count) != total {
            return Err((What::NeedsVector(2), *op));
        }
        let spec = Spec { fills: None, ty: Some(ty), count: Some(u32::from(count)), ..*spec };
        self.value(&spec, op, traits)
    }

    /// The slower half of [`Verifier::value`] for names.
    #[allow(clippy::too_many_arguments)]
    fn name_value(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        traits: Traits,
        name: Name,
        binding: Binding,
        (neg, not): (bool, bool),
        part: Option<Selector>,
    ) -> Fit<Operand> {
        if neg && !spec.minus {
            return Err((What::Minus, *op));
        }
        let want = spec.ty;
        match binding {
            Binding::Reg(id) => {
                if let Some(count) = spec.count {
                    return Err((What::NeedsVector(count), *op));
                }
                let ty = self.body.regs[id as usize].ty;
                if let Some(want) = want
                    && !agrees(ty, want, spec.relaxed)
                    && !self.holds_handle(ty, want)
                {
                    return Err((What::Type(ty, want), *op));
                }
                if not {
                    return if (spec.negatable || !spec.dest) && ty == Ty::Pred {
                        Ok(Operand::NotReg(id))
                    } else {
                        Err((What::Negation, *op))
                    };
                }
                let part = self.selector(spec, op, part)?;
                Ok(if neg { Operand::MinusReg(id, part) } else { Operand::Reg(id, part) })
            }
            Binding::Regs(first, count) => {
                if not || neg {
                    return Err((What::Negation, *op));
                }
                let ty = self.body.regs[first as usize].ty;
                if let Some(want) = want
                    && !agrees(ty, want, spec.relaxed)
                    && !self.holds_handle(ty, want)
                {
                    return Err((What::Type(ty, want), *op));
                }
                match (part.and_then(component), spec.count) {
                    (Some(i), None) if i < u32::from(count) => {
                        Ok(Operand::Reg(first + i, Selection::Whole))
                    }
                    (Some(_), None) => Err((What::Selector, *op)),
                    (None, Some(n)) if n == u32::from(count) && part.is_none() => {
                        let at = self.body.operands.len() as u32;
                        let ids = first..first + n;
                        self.body.operands.extend(ids.map(|id| Operand::Reg(id, Selection::Whole)));
                        Ok(Operand::Vector(at..at + n))
                    }
                    (None, None) => Err((What::WholeVector, *op)),
                    (_, Some(n)) => Err((What::NeedsVector(n), *op)),
                }
            }
            Binding::Special(_) | Binding::Specials(_) | Binding::Envreg(_) if not => {
                Err((What::Negation, *op))
            }
            Binding::Special(_) | Binding::Specials(_) | Binding::Envreg(_) => {
                self.special_value(spec, op, traits, binding, part)
            }
            Binding::None => Err((What::Unknown(name), *op)),
            _ if spec.dest => Err((What::NeedsRegister, *op)),
            Binding::Func(_) if self.called(spec) => Err((What::Argument, *op)),
            // A function's name is a number wherever an integer goes.
            Binding::Func(_)
                if part.is_none()
                    && !not
                    && !neg
                    && !spec.plain
                    && (!spec.register || spec.mixed) =>
            {
                self.address_value(spec, op, binding, 0).unwrap_or(Err((What::NotValue, *op)))
            }
            _ if !(spec.names || traits.addresses) || part.is_some() || not || neg => {
                Err((What::NotValue, *op))
            }
            _ => self.address_value(spec, op, binding, 0).unwrap_or(Err((What::NotValue, *op))),
        }
    }

    /// The selector after a register, as the slot wants it.
    fn selector(&self, spec: &Spec, op: &AstOperand, part: Option<Selector>) -> Fit<Selection> {
        match (part, spec.selector) {
            (None, None | Some((_, true))) => Ok(Selection::Whole),
            (None, Some((_, false))) => Err((What::NeedsSelector, *op)),
            (Some(_), None) => Err((What::Selector, *op)),
            (Some(part), Some((selector, _))) => {
                let text = match part {
                    Selector::Other => self.ast.part_text(op),
                    known => known.text(),
                };
                selector.parse(text).ok_or((What::Selector, *op))
            }
        }
    }

    /// A special register, or one component of it.
    fn special_value(
        &mut self,
        spec: &Spec,
        op: &AstOperand,
        traits: Traits,
        binding: Binding,
        part: Option<Selector>,
    ) -> Fit<Operand> {
        if spec.dest {
            return Err((What::ReadOnly, *op));
        }
        if !traits.specials {
            return Err((What::Special, *op));
        }
        if let Binding::Specials(first) = binding {
            let first = usize::from(first);
            let at = |i: usize| Operand::Special(Sreg::ALL[first + i]);
            let least = Sreg::ALL[first].least_bits();
            let agrees =
                spec.ty.is_none_or(|want| special_fits(Ty::U32, least, want, spec.relaxed));
            return match (part.and_then(component), spec.count) {
                _ if !agrees => Err((What::Special, *op)),
                (Some(i), None) => Ok(at(i as usize)),
                (None, Some(4)) if part.is_none() => {
                    let start = self.body.operands.len() as u32;
                    self.body.operands.extend((0..4).map(at));
                    Ok(Operand::Vector(start..start + 4))
                }
                (None, None) if part.is_none() => Err((What::WholeVector, *op)),
                _ => Err((What::Selector, *op)),
            };
        }
        if part.is_some() {
            return Err((What::Selector, *op));
        }
        let (ty, least, operand) = match binding {
            Binding::Special(s) => (s.ty(), s.least_bits(), Operand::Special(s)),
            Binding::Envreg(n) => (Ty::B32, 32, Operand::Envreg(n)),
            _ => return Err((What::Special, *op)),
        };
        match spec.ty {
            Some(want) if !special_fits(ty, least, want, spec.relaxed) => {
                Err((What::Type(ty, want), *op))
            }
            _ if spec.count.is_some() => Err((What::NeedsVector(spec.count.unwrap_or(0)), *op)),
            _ => Ok(operand),
        }
    }

    /// A literal.
    pub(super) fn constant(&mut self, spec: &Spec, op: &AstOperand, imm: Imm) -> Fit<Operand> {
        let Some(ty) = spec.ty else {
            let ty = if matches!(imm, Imm::F32(_)) { Ty::B32 } else { Ty::B64 };
            return Ok(Operand::Imm(immediate(imm, ty)));
        };
        let integer = matches!(imm, Imm::Signed(_) | Imm::Unsigned(_));
        let fits = match ty.class() {
            _ if spec.any && ty.bits() <= 32 => true,
            TyClass::Pred | TyClass::Uint | TyClass::Sint => integer,
            TyClass::Float => !integer,
            TyClass::Half => false,
            TyClass::Opaque => false,
            TyClass::Bits => match ty {
                _ if ty.is_packed() => false,
                _ if integer => true,
                _ if spec.plain => false,
                // 32 bits can be given as `0f…`, 64 bits as a double.
                Ty::B32 => op.flags & flag::BITS != 0 && matches!(imm, Imm::F32(_)),
                Ty::B64 => matches!(imm, Imm::F64(_)),
                _ => false,
            },
        };
        if fits { Ok(Operand::Imm(immediate(imm, ty))) } else { Err((What::Constant(ty), *op)) }
    }
}

/// Whether a special register of type `ty`, of which `least` bits may be read, may be read as `want`.
fn special_fits(ty: Ty, least: u32, want: Ty, relaxed: bool) -> bool {
    if ty == Ty::Pred || want == Ty::Pred {
        return ty == want;
    }
    let integer = matches!(want.class(), TyClass::Bits | TyClass::Uint | TyClass::Sint);
    let narrow = (least..=ty.bits()).contains(&want.bits());
    integer && (narrow || relaxed && ty.bits() > want.bits())
}

fn component(part: Selector) -> Option<u32> {
    match part {
        Selector::X => Some(0),
        Selector::Y => Some(1),
        Selector::Z => Some(2),
        Selector::W => Some(3),
        _ => None,
    }
}
