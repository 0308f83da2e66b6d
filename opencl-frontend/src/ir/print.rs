//! The IR as text, for tests and for looking at.

use std::fmt::Write;

use super::func::{Edge, Func, Term};
use super::op::{Op, Ty, Val};

/// Prints a function.
pub fn print(f: &Func) -> String {
    let mut out = String::new();
    let name = |v: Val| match f.op(v) {
        Op::Const(bits) => match f.ty(v) {
            Ty::F32 => format!("{:?}f", f32::from_bits(*bits as u32)),
            Ty::F64 => format!("{:?}", f64::from_bits(*bits)),
            Ty::I32 => format!("{}", *bits as i32),
            _ => format!("{}", *bits as i64),
        },
        _ => format!("v{}", v.0),
    };
    let _ = writeln!(out, "kernel {}", f.name);
    for (i, block) in f.blocks.iter().enumerate() {
        if matches!(block.term, Term::Open) {
            continue;
        }
        let params: Vec<String> =
            block.params.iter().map(|p| format!("{}: {:?}", name(*p), f.ty(*p))).collect();
        let _ = writeln!(out, "b{i}({}):", params.join(", "));
        for &v in &block.insts {
            let mut op = *f.op(v);
            let mut operands = Vec::new();
            op.map_operands(|o| {
                operands.push(name(o));
                o
            });
            let operation = match &op {
                Op::Bin(b, ..) => format!("{b:?}"),
                Op::Un(u, _) => format!("{u:?}"),
                Op::Tern(t, ..) => format!("{t:?}"),
                Op::Cmp(c, ..) => format!("{c:?}"),
                Op::Select(..) => "Select".into(),
                Op::Load(m, _) | Op::LoadVec(m, _, _) | Op::Store(m, ..) | Op::StoreVec(m, ..) => {
                    let verb = match op {
                        Op::Load(..) => "Load".into(),
                        Op::LoadVec(_, _, n) => format!("Load{n}"),
                        Op::Store(..) => "Store".into(),
                        _ => "StoreVec".to_string(),
                    };
                    format!(
                        "{verb} {:?} {:?} +{}{}",
                        m.space,
                        m.ty,
                        m.offset,
                        if m.volatile { " volatile" } else { "" }
                    )
                }
                other => format!("{other:?}"),
            };
            let _ =
                writeln!(out, "    v{}: {:?} = {operation} {}", v.0, f.ty(v), operands.join(", "));
        }
        let edge = |e: &Edge| {
            let args: Vec<String> = e.args.iter().map(|a| name(*a)).collect();
            format!("b{}({})", e.block.0, args.join(", "))
        };
        let _ = match &block.term {
            Term::Jump(e) => writeln!(out, "    jump {}", edge(e)),
            Term::Branch(c, a, b) => {
                writeln!(out, "    branch {}, {}, {}", name(*c), edge(a), edge(b))
            }
            Term::Return => writeln!(out, "    return"),
            Term::Open => Ok(()),
        };
    }
    out
}
