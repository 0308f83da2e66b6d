//! Variables of the source: which ones a name means at an instruction, and where they are while a kernel runs.

use std::collections::HashMap;

use ptx_isa::Space;
use ptx_isa::meaning::{Src, Uop};
use ptx_parse::code::Program;

use crate::code::{At, CodeMap, Register};
use crate::dwarf::{Home, Leaf, Scope};
use crate::expr::Expr;

/// Where a variable of the source is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Site {
    /// A register.
    Register(String, Register),
    /// An address.
    Memory(Space, u64),
    /// Bytes of the function's local frame.
    Frame(u32),
    /// So many bytes behind the address in a space that is there.
    Pointed(Box<Site>, Space, u64),
}

/// A member or element, as an expression names it.
pub(crate) struct Path<'e> {
    /// As debug information has it, with 0 for each index: `r.first`, `a[0]`.
    pub text: String,
    /// What stands before each index, and the index.
    pub indices: Vec<(String, &'e Expr)>,
}

/// The member or element that an expression names, if it is of that form.
pub(crate) fn path(expr: &Expr) -> Option<Path<'_>> {
    match expr {
        Expr::Name(name) if !name.starts_with('%') => {
            Some(Path { text: name.clone(), indices: Vec::new() })
        }
        Expr::Member(of, name) => {
            let mut of = path(of)?;
            of.text = format!("{}.{name}", of.text);
            Some(of)
        }
        Expr::Index(of, index) => {
            let mut of = path(of)?;
            let before = of.text.clone();
            of.text.push_str("[0]");
            of.indices.push((before, index));
            Some(of)
        }
        _ => None,
    }
}

/// The component of a vector that a name means: `x`, `s3`, `sF`.
pub(crate) fn component(name: &str) -> Option<u64> {
    match name {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        "w" => Some(3),
        _ => {
            let digit = name.strip_prefix(['s', 'S']).filter(|d| d.len() == 1)?;
            u64::from_str_radix(digit, 16).ok()
        }
    }
}

/// A scope in a function of the program.
pub(crate) struct Placed {
    /// Its number among the scopes of the text.
    number: usize,
    /// Its instructions, from and up to.
    pieces: Vec<(u32, u32)>,
    /// It is a function in the place of a call, and others' variables are not meant in it.
    inlined: bool,
}

/// The scopes of a function, outer ones first. Each lies in the one around it.
pub(crate) fn placed(function: &str, labels: &[(String, u32)], scopes: &[Scope]) -> Vec<Placed> {
    let label = |name: &str| labels.iter().find(|(l, _)| l == name).map(|(_, at)| *at);
    let begins = |s: &Scope| {
        s.parent.is_none()
            && !s.function.is_empty()
            && (s.function == function || s.begin.as_ref().is_some_and(|b| label(b).is_some()))
    };
    let Some(root) = scopes.iter().position(begins) else { return Vec::new() };
    let mut out = vec![Placed { number: root, pieces: vec![(0, u32::MAX)], inlined: false }];
    for (number, scope) in scopes.iter().enumerate().skip(root + 1) {
        let Some(parent) = scope.parent else { break };
        let around = out.iter().find(|p| p.number == parent).map(|p| p.pieces.clone());
        let pieces = match &scope.pieces {
            Some(pieces) => {
                pieces.iter().filter_map(|(b, e)| Some((label(b)?, label(e)?))).collect()
            }
            None => around.unwrap_or_default(),
        };
        out.push(Placed { number, pieces, inlined: scope.inlined.is_some() });
    }
    out
}

/// Offsets in the local frame of the `.local` variables of a function: where instructions take their addresses.
pub(crate) fn frames(program: &Program, function: u32) -> HashMap<String, u32> {
    let mut out = HashMap::new();
    let Some(f) = program.functions.get(function as usize) else { return out };
    for inst in &f.insts {
        let uops = &f.uops[inst.uops.start as usize..inst.uops.end as usize];
        let frame = uops.iter().find_map(|uop| {
            let sources = match uop {
                Uop::Pure { args, .. } => &args[..],
                Uop::Effect { src, .. } => src,
            };
            sources.iter().find_map(|v| match v.src {
                Src::Frame(at) | Src::FrameLow(at) => Some(at),
                _ => None,
            })
        });
        let Some(at) = frame else { continue };
        let span = inst.span.start as usize..inst.span.end as usize;
        let text = program.source.get(span).unwrap_or("");
        let name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        for (n, _) in text.char_indices().filter(|(n, c)| {
            name(*c) && !text[..*n].ends_with(|c: char| name(c) || c == '%' || c == '.')
        }) {
            let rest = &text[n..];
            let end = rest.find(|c: char| !name(c)).unwrap_or(rest.len());
            // `[name+4]` takes an address behind the variable's.
            let more = rest[end..].trim_start().strip_prefix('+').map(str::trim_start);
            let more = more
                .map_or("0", |m| &m[..m.find(|c: char| !c.is_ascii_digit()).unwrap_or(m.len())]);
            let more: u32 = more.parse().unwrap_or(0);
            if let Some(base) = at.checked_sub(more) {
                out.entry(rest[..end].to_owned()).or_insert(base);
            }
        }
    }
    out
}

impl CodeMap {
    /// The scopes that an instruction is in, the innermost first: those whose variables names mean there, and then
    /// those of functions that call the one that is inlined there.
    fn around(&self, at: At) -> (Vec<&Scope>, Vec<&Scope>) {
        let (mut near, mut far, mut inside) = (Vec::new(), Vec::new(), true);
        for placed in self.placed(at.0).iter().rev() {
            if !placed.pieces.iter().any(|(b, e)| (*b..*e).contains(&at.1)) {
                continue;
            }
            let scope = &self.scopes()[placed.number];
            if inside {
                near.push(scope)
            } else {
                far.push(scope)
            }
            inside &= !placed.inlined;
        }
        (near, far)
    }

    /// The innermost function that an instruction is in by source: its name, and whom it is inlined into.
    pub fn function_at(&self, at: At) -> String {
        let (near, far) = self.around(at);
        let mut inlined = near.into_iter().chain(far).filter_map(|s| s.inlined.as_deref());
        let name = self.function_name(at.0);
        inlined.next().map_or_else(|| name.to_owned(), |f| format!("{f}, inlined into {name}"))
    }

    /// Which of the functions that are inlined an instruction is in, if it is in one.
    pub(crate) fn inlining(&self, at: At) -> Option<usize> {
        let holds =
            |p: &&Placed| p.inlined && p.pieces.iter().any(|(b, e)| (*b..*e).contains(&at.1));
        self.placed(at.0).iter().rev().find(holds).map(|p| p.number)
    }

    /// Variables of the source whose names mean them at an instruction, outer ones first.
    pub(crate) fn leaves(&self, at: At) -> Vec<&Leaf> {
        let root = |l: &Leaf| {
            let end = l.path.find(['.', '[', '-']).unwrap_or(l.path.len());
            l.path[..end].to_owned()
        };
        let (near, _) = self.around(at);
        let mut out = Vec::new();
        for (n, scope) in near.iter().enumerate().rev() {
            let hidden = |l: &Leaf| {
                near[..n].iter().any(|s| s.leaves.iter().any(|inner| root(inner) == root(l)))
            };
            out.extend(scope.leaves.iter().filter(|l| !hidden(l)));
        }
        out
    }

    /// A variable of the source that a name means at an instruction, or a member of one. A name that means none there
    /// may mean one elsewhere in the function, if it is the only one.
    pub(crate) fn leaf(&self, at: At, path: &str) -> Option<&Leaf> {
        let same = |l: &&Leaf| l.path == path || l.path.replace("->", ".") == path;
        let of = |s: &&Scope| s.leaves.iter().any(|l| same(&l));
        let (near, far) = self.around(at);
        let outside = self.scopes().iter().filter(|s| s.parent.is_none() && s.function.is_empty());
        let mut found = near.into_iter().chain(outside).chain(far).find(of);
        if found.is_none() {
            let mut elsewhere =
                self.placed(at.0).iter().map(|p| &self.scopes()[p.number]).filter(of);
            found = elsewhere.next().filter(|_| elsewhere.next().is_none());
        }
        found?.leaves.iter().find(same)
    }

    /// Where a variable of the source is; `None` where the code does not say.
    pub(crate) fn site(&self, function: u32, home: &Home) -> Option<Site> {
        match home {
            Home::Pointed(at, space, offset) => {
                Some(Site::Pointed(Box::new(self.site(function, at)?), *space, *offset))
            }
            Home::Register(name) => {
                self.register(function, name).map(|r| Site::Register(name.clone(), r))
            }
            Home::Variable(name, offset) => match self.variable(name) {
                Some(v) => Some(Site::Memory(v.space, v.address + offset)),
                None => {
                    let base = self.frame_of(function, name)?;
                    Some(Site::Frame(base + *offset as u32))
                }
            },
        }
    }
}
