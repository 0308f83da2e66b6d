//! Forgets the values that nothing names any more: tables with an entry per value stay short.

use crate::ir::{Func, Op, Term, Val};

/// Renumbers the values that blocks name, once most are not; their order stays.
pub fn run(f: &mut Func) {
    let placed: usize = f.blocks.iter().map(|b| b.params.len() + b.insts.len()).sum();
    if f.values.len() < 4 * placed {
        return;
    }
    let mut used = vec![false; f.values.len()];
    for block in &f.blocks {
        for &v in block.params.iter().chain(&block.insts) {
            used[v.0 as usize] = true;
            f.op(v).for_each_operand(|o| used[o.0 as usize] = true);
        }
        if let Term::Branch(c, ..) = block.term {
            used[c.0 as usize] = true;
        }
        for edge in block.term.edges() {
            edge.args.iter().for_each(|a| used[a.0 as usize] = true);
        }
    }
    let mut number = Vec::with_capacity(f.values.len());
    let mut next = 0;
    for (data, used) in f.values.iter().zip(&mut used) {
        *used |= matches!(data.op, Op::Undef);
        number.push(Val(next));
        next += u32::from(*used);
    }
    let new = |v: &mut Val| *v = number[v.0 as usize];
    let mut keep = used.iter();
    f.values.retain_mut(|data| {
        data.op.map_operands(|o| number[o.0 as usize]);
        *keep.next().unwrap_or(&true)
    });
    f.retain_consts(|v| {
        let kept = used[v.0 as usize];
        new(v);
        kept
    });
    for block in &mut f.blocks {
        block.params.iter_mut().for_each(new);
        block.insts.iter_mut().for_each(new);
        if let Term::Branch(c, ..) = &mut block.term {
            new(c);
        }
        for edge in block.term.edges_mut() {
            edge.args.iter_mut().for_each(new);
        }
    }
}
