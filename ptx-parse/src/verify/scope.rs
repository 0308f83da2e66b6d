//! What a name means where: one array indexed by name, with undo lists per block.

use crate::names::Name;
use crate::span::Span;
use ptx_isa::Ty;
use ptx_isa::special::Sreg;
use std::sync::Arc;

/// What a name stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Binding {
    /// Nothing that was declared.
    #[default]
    None,
    /// Register.
    Reg(u32),
    /// Vector register: first id and number of components.
    Regs(u32, u8),
    /// Scalar special register.
    Special(Sreg),
    /// `%envregN`.
    Envreg(u8),
    /// Vector special register, its first component in `Sreg::ALL`.
    Specials(u8),
    /// Module variable.
    Symbol(u32),
    /// Variable of the body.
    Var(u32),
    /// Parameter of the function.
    Param(u32),
    /// Function.
    Func(u32),
    /// Label.
    Label(u32),
    /// `.branchtargets` list.
    BranchTargets(u32),
    /// `.calltargets` list.
    CallTargets(u32),
    /// `.callprototype`.
    Prototype(u32),
}

/// `.reg .b32 %r<100>`: registers that exist once they are used.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub prefix: Name,
    pub text: Arc<str>,
    /// Place of the prefix among the module's names of registers.
    pub name: u32,
    pub count: u32,
    pub ty: Ty,
    pub vector: u8,
    pub place: Span,
    /// Index of the scope that declared it.
    pub scope: usize,
}

#[derive(Default)]
struct Scope {
    undo: Vec<(Name, Binding, Span)>,
    families: usize,
}

/// All bindings.
pub(super) struct Scopes {
    bindings: Vec<Binding>,
    /// Where each name was declared, for "defined twice".
    places: Vec<Span>,
    /// Scope that declared each name.
    depth: Vec<u32>,
    stack: Vec<Scope>,
    /// Undo lists of closed scopes, to be used again.
    spare: Vec<Vec<(Name, Binding, Span)>>,
    families: Vec<Family>,
}

impl Scopes {
    pub fn new(names: usize) -> Scopes {
        Scopes {
            bindings: vec![Binding::None; names],
            places: vec![Span::default(); names],
            depth: vec![u32::MAX; names],
            stack: vec![Scope::default()],
            spare: Vec::new(),
            families: Vec::new(),
        }
    }

    pub fn open(&mut self) {
        let undo = self.spare.pop().unwrap_or_default();
        self.stack.push(Scope { undo, families: self.families.len() });
    }

    pub fn close(&mut self) {
        let Some(mut scope) = self.stack.pop() else { return };
        self.families.truncate(scope.families);
        let depth = self.stack.len() as u32;
        for (name, old, place) in scope.undo.drain(..).rev() {
            self.bindings[name.index()] = old;
            self.places[name.index()] = place;
            // The enclosing declaration is in some outer scope; which one does not
            // matter for duplicates unless it is the innermost.
            self.depth[name.index()] =
                if old == Binding::None { u32::MAX } else { depth.wrapping_sub(2) };
        }
        self.spare.push(scope.undo);
    }

    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    #[inline]
    pub fn get(&self, name: Name) -> Binding {
        self.bindings.get(name.index()).copied().unwrap_or_default()
    }

    pub fn place(&self, name: Name) -> Span {
        self.places[name.index()]
    }

    /// Binds a name in the innermost scope; gives the place of an earlier
    /// declaration in the same scope.
    pub fn declare(&mut self, name: Name, binding: Binding, place: Span) -> Result<(), Span> {
        let i = name.index();
        // What could not be read has no name.
        if i >= self.bindings.len() {
            return Ok(());
        }
        let here = self.stack.len() as u32 - 1;
        if self.depth[i] == here && self.bindings[i] != Binding::None {
            return Err(self.places[i]);
        }
        self.set(name, binding, place, here as usize);
        Ok(())
    }

    /// Binds a name in scope number `scope`, whatever it was.
    pub fn set(&mut self, name: Name, binding: Binding, place: Span, scope: usize) {
        let i = name.index();
        if i >= self.bindings.len() {
            return;
        }
        self.stack[scope].undo.push((name, self.bindings[i], self.places[i]));
        self.bindings[i] = binding;
        self.places[i] = place;
        self.depth[i] = scope as u32;
    }

    /// Adds a family; `text` gives a name's text.
    pub fn add_family<'t>(&mut self, family: Family, text: impl Fn(Name) -> &'t str) {
        // A prefix that an outer block declares too: numbers used there are hidden here.
        if self.families.iter().any(|f| f.prefix == family.prefix) {
            for i in 0..self.bindings.len() {
                let name = Name(i as u32);
                if self.bindings[i] != Binding::None
                    && text(name)
                        .as_bytes()
                        .strip_prefix(family.text.as_bytes())
                        .and_then(number)
                        .is_some()
                {
                    self.set(name, Binding::None, Span::default(), self.stack.len() - 1);
                }
            }
        }
        self.families.push(family);
    }

    /// The innermost family with this prefix.
    pub fn family(&self, prefix: Name) -> Option<&Family> {
        self.families.iter().rev().find(|f| f.prefix == prefix)
    }

    /// The innermost family that `text` is a register of, with its number.
    pub fn member(&self, text: &[u8]) -> Option<(&Family, u32)> {
        self.families.iter().rev().find_map(|f| {
            let n = text.strip_prefix(f.text.as_bytes()).and_then(number)?;
            (n < f.count).then_some((f, n))
        })
    }

    /// Where this scope declared one of the names `prefix0` to `prefix{count - 1}` by itself; labels may be called so.
    pub fn declared_member<'t>(
        &self,
        prefix: &str,
        count: u32,
        text: impl Fn(Name) -> &'t str,
    ) -> Option<Span> {
        let here = self.stack.last()?;
        here.undo.iter().find_map(|&(name, ..)| {
            let i = name.index();
            // Registers of other families have no place.
            let declared = self.places[i] != Span::default()
                && !matches!(self.bindings[i], Binding::None | Binding::Label(_));
            let n = text(name).as_bytes().strip_prefix(prefix.as_bytes()).and_then(number)?;
            (declared && n < count).then(|| self.places[i])
        })
    }

    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// Names that mean something now.
    pub fn bound(&self) -> impl Iterator<Item = (Name, Binding)> + '_ {
        let all = self.bindings.iter().enumerate();
        all.filter(|(_, b)| **b != Binding::None).map(|(i, b)| (Name(i as u32), *b))
    }
}

/// Decimal digits without leading zeros.
fn number(digits: &[u8]) -> Option<u32> {
    let canonical = !digits.is_empty() && (digits.len() == 1 || digits[0] != b'0');
    if !canonical {
        return None;
    }
    digits.iter().try_fold(0u32, |n, d| {
        let digit = d.is_ascii_digit().then(|| u32::from(d - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}
