//! Where variables of the source are while a kernel runs.

use ptx_isa::Space;
use ptx_isa::meaning::{Src, Uop};

use crate::code::{CodeMap, Register};
use crate::dwarf::{Home, Leaf};
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
    /// So many bytes behind the address that is there.
    Pointed(Box<Site>, u64),
}

/// The name of a member or element as debug information has it: `r.first`, `a[3]`.
pub(crate) fn path(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) if !name.starts_with('%') => Some(name.clone()),
        Expr::Member(of, name) => Some(format!("{}.{name}", path(of)?)),
        Expr::Index(of, index) => match **index {
            Expr::Int(n) => Some(format!("{}[{n}]", path(of)?)),
            _ => None,
        },
        _ => None,
    }
}

impl CodeMap {
    /// A variable of the source in a function, or a member of one.
    pub(crate) fn leaf(&self, function: u32, path: &str) -> Option<&Leaf> {
        let same = |l: &&Leaf| l.path == path || l.path.replace("->", ".") == path;
        self.leaves(function).iter().find(same)
    }

    /// Where a variable of the source is; `None` where the code does not say.
    pub(crate) fn site(&self, function: u32, home: &Home) -> Option<Site> {
        match home {
            Home::Pointed(at, offset) => {
                Some(Site::Pointed(Box::new(self.site(function, at)?), *offset))
            }
            Home::Register(name) => {
                self.register(function, name).map(|r| Site::Register(name.clone(), r))
            }
            Home::Variable(name, offset) => match self.variable(name) {
                Some(v) => Some(Site::Memory(v.space, v.address + offset)),
                None => {
                    let base = self.local_variable(function, name)?;
                    Some(Site::Frame(base + *offset as u32))
                }
            },
        }
    }

    /// Offset in the local frame of the `.local` variable of that name: where an instruction takes
    /// its address.
    fn local_variable(&self, function: u32, name: &str) -> Option<u32> {
        let f = self.kernel.program().functions.get(function as usize)?;
        for (n, inst) in f.insts.iter().enumerate() {
            let text = self.text((function, n as u32));
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
            if !words.into_iter().any(|w| w == name) {
                continue;
            }
            let uops = &f.uops[inst.uops.start as usize..inst.uops.end as usize];
            for uop in uops {
                let sources = match uop {
                    Uop::Pure { args, .. } => &args[..],
                    Uop::Effect { src, .. } => src,
                };
                for v in sources {
                    if let Src::Frame(at) | Src::FrameLow(at) = v.src {
                        return Some(at);
                    }
                }
            }
        }
        None
    }
}
