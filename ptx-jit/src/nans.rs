//! Where the bits of NaNs are seen.

use std::collections::HashMap;

use ptx_isa::Kind;
use ptx_isa::uop::Op as Pure;

use crate::ir::{BlockId, Func, Inst, Op, Val};

/// Whether `op` computes with the host's arithmetic, whose NaN differs from PTX's.
fn makes_host_nan(op: Pure) -> bool {
    use Pure::*;
    matches!(
        op,
        AddF32
            | SubF32
            | MulF32
            | FmaF32
            | RintF32
            | TruncF32
            | FloorF32
            | CeilF32
            | AbsF32
            | NegF32
            | MinF32
            | MaxF32
    )
}

/// Whether `v` is a constant that is a number.
fn number(f: &Func, v: Val) -> bool {
    match (f.as_const(v), f.insts[v as usize].kind) {
        (Some(c), Kind::W) => !f32::from_bits(c as u32).is_nan(),
        (Some(c), Kind::D) => !f64::from_bits(c).is_nan(),
        _ => false,
    }
}

/// What a phi or a choice is one of.
fn ways(f: &Func, v: Val) -> Option<&[Val]> {
    let i = &f.insts[v as usize];
    match i.op {
        Op::Phi => Some(&i.args),
        Op::Pure(Pure::SelW, _) => Some(&i.args[..2]),
        _ => None,
    }
}

/// Whether the result of `op` is the same for every NaN operand.
fn ignores_payload(op: Pure) -> bool {
    use Pure::*;
    makes_host_nan(op)
        || matches!(
            op,
            EqF32
                | NeF32
                | LtF32
                | LeF32
                | NumF32
                | SatF32
                | DivF32
                | SqrtF32
                | AddFtzF32
                | SubFtzF32
                | MulFtzF32
                | FmaFtzF32
                | CvtRzS32F32
                | CvtRzU32F32
        )
}

/// Which values' bits somebody looks at: an operation to which NaNs are not all alike, an effect, or a phi or a choice
/// of which that is true.
fn seen(f: &Func) -> Vec<bool> {
    let mut seen = vec![false; f.insts.len()];
    let mut work: Vec<Val> = f.blocks.iter().filter_map(|b| b.term.value()).collect();
    for v in f.blocks.iter().flat_map(|b| &b.insts) {
        match f.insts[*v as usize].op {
            Op::Pure(op, _) if ignores_payload(op) => {}
            // Through phis and choices only what is seen of them.
            _ if ways(f, *v).is_some() => {}
            _ => work.extend(f.reads(*v)),
        }
    }
    while let Some(v) = work.pop() {
        if !std::mem::replace(&mut seen[v as usize], true) {
            work.extend(ways(f, v).unwrap_or_default());
        }
    }
    seen
}

/// Puts [`Op::Canon`] where the bits of a NaN that the host made could be seen.
///
/// Arithmetic gives "raw" values. A phi, or a choice, of raw values and numbers is raw too. Whoever looks at the
/// bits reads the canonical copy, which stands right behind the definition. Nothing is done for a phi whose bits nobody
/// sees.
pub(crate) fn nans(f: &mut Func) {
    let n = f.insts.len();
    // A phi or a choice is raw while every argument is raw or a constant number.
    let mut raw: Vec<bool> = (0..n)
        .map(|v| match f.insts[v].op {
            // What a number limits is one.
            Op::Pure(Pure::MinF32 | Pure::MaxF32, _) => {
                !f.insts[v].args.iter().any(|a| number(f, *a))
            }
            Op::Pure(Pure::SelW, _) => true,
            Op::Pure(op, _) => makes_host_nan(op),
            Op::Phi => f.insts[v].kind != Kind::P,
            _ => false,
        })
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for v in 0..n {
            if raw[v]
                && let Some(ways) = ways(f, v as Val)
                && !ways.iter().all(|a| raw[*a as usize] || number(f, *a))
            {
                raw[v] = false;
                changed = true;
            }
        }
    }
    // A raw phi must hold at least one raw operation; one of constants only stays plain.
    let mut fed = vec![false; n];
    for v in 0..n {
        fed[v] = raw[v] && ways(f, v as Val).is_none();
    }
    changed = true;
    while changed {
        changed = false;
        for v in 0..n {
            let fed_by = |ways: &[Val]| ways.iter().any(|a| fed[*a as usize]);
            if raw[v] && !fed[v] && ways(f, v as Val).is_some_and(fed_by) {
                fed[v] = true;
                changed = true;
            }
        }
    }
    let raw = fed;
    let seen = seen(f);
    // A copy per block that wants one: at its top, or right behind the definition.
    let mut canon: HashMap<(Val, BlockId), Val> = HashMap::new();
    let mut want = |f: &mut Func, v: Val, b: BlockId| -> Val {
        if !raw[v as usize] {
            return v;
        }
        *canon.entry((v, b)).or_insert_with(|| {
            let kind = f.insts[v as usize].kind;
            f.insts.push(Inst { op: Op::Canon, kind, args: vec![v] });
            f.insts.len() as Val - 1
        })
    };
    let mut home = vec![BlockId::MAX; n];
    for b in 0..f.blocks.len() {
        for v in f.blocks[b].insts.clone() {
            home[v as usize] = b as BlockId;
            let at = b as BlockId;
            match f.insts[v as usize].op {
                Op::Pure(Pure::SelW, _) if raw[v as usize] || !seen[v as usize] => {}
                Op::Pure(op, _) if !ignores_payload(op) => {
                    let mut args = f.insts[v as usize].args.clone();
                    args.iter_mut().for_each(|a| *a = want(f, *a, at));
                    f.insts[v as usize].args = args;
                }
                Op::Phi if !raw[v as usize] && seen[v as usize] => {
                    let mut args = f.insts[v as usize].args.clone();
                    for (a, p) in args.iter_mut().zip(f.blocks[b].preds.clone()) {
                        *a = want(f, *a, p);
                    }
                    f.insts[v as usize].args = args;
                }
                Op::Effect(e) => {
                    let mut src = f.effects[e as usize].src.clone();
                    src.iter_mut().for_each(|a| *a = want(f, *a, at));
                    f.effects[e as usize].src = src;
                }
                _ => {}
            }
        }
    }
    let mut by_block: Vec<Vec<(Val, Val)>> = vec![Vec::new(); f.blocks.len()];
    for ((v, b), c) in canon {
        by_block[b as usize].push((v, c));
    }
    for (b, mut wanted) in by_block.into_iter().enumerate() {
        wanted.sort_unstable();
        let list = std::mem::take(&mut f.blocks[b].insts);
        let phis = list.iter().take_while(|v| f.insts[**v as usize].op == Op::Phi).count();
        let mut out = list[..phis].to_vec();
        let behind = |v: Val| home[v as usize] == b as BlockId && f.insts[v as usize].op != Op::Phi;
        out.extend(wanted.iter().filter(|(v, _)| !behind(*v)).map(|w| w.1));
        for v in &list[phis..] {
            out.push(*v);
            out.extend(wanted.iter().filter(|(w, _)| w == v && behind(*w)).map(|w| w.1));
        }
        f.blocks[b].insts = out;
    }
}
