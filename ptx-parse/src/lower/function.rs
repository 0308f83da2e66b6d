//! One function: registers, frame, instructions, calls.

use ptx_isa::effect::{Cache, Effect, Mem, MemoryPlace, Order, Scope, Sys};
use std::collections::HashMap;

use ptx_isa::meaning::{Arg, Selection, Src, StackArea, Uop, V};
use ptx_isa::row::{Control, Operation};
use ptx_isa::uop::Op;
use ptx_isa::{Cx, Kind, Match, Sem, Space, Ty};

use super::contract::{self, Fused};
use super::operands::Names;
use super::{LARGEST_FRAME, Layout, blocks, refusal, resolve};
use crate::code::{
    ArgumentLocation, Call, CallArg, Callee, Flow, Function, Inst, Refusal, RegName,
};
use crate::module::{self, Body, CallOperands, Func, Module, Operand, Param};

/// Lowers function `id`.
pub(crate) fn lower_function(
    module: &Module,
    id: u32,
    entry: bool,
    layout: &Layout,
    kernel_params: &[(Param, u32)],
) -> Result<Function, Refusal> {
    let func = &module.functions[id as usize];
    let empty = Body::default();
    let body = func.body.as_deref().unwrap_or(&empty);
    let mut out = Function {
        name: func.name.to_string(),
        id,
        blocks: Vec::new(),
        insts: Vec::with_capacity(body.insts.len() + 1),
        uops: Vec::with_capacity(body.insts.len() * 2),
        regs: [0; 3],
        temps: [0; 3],
        reg_names: Default::default(),
        frame_bytes: if entry { layout.local_bytes } else { 0 },
        stack_bytes: 0,
        local_vars: Vec::new(),
        params: Vec::new(),
        rets: Vec::new(),
        locs: body.locs.clone(),
    };
    let names = place_names(module, id, func, body, layout, kernel_params, entry, &mut out);
    let carry = V { kind: Kind::P, src: Src::Reg(out.regs[Kind::P as usize]) };
    out.regs[Kind::P as usize] += 1;
    out.reg_names[Kind::P as usize].push(made("CC.CF"));

    let stack = entry.then(|| stack_area(module, body, &mut out)).flatten();
    let plan = if module.contraction {
        contract::plan(module, body, entry)
    } else {
        contract::Plan::default()
    };
    let kept = kept_registers(module, body, &plan, &mut out);
    let mut refused: Vec<(usize, String)> = Vec::new();
    let mut args = Vec::new();
    // Types of the slots, by opcode.
    let mut slot_types: Vec<Option<Box<[Option<Ty>]>>> = vec![None; module.matches.len()];
    for (i, inst) in body.insts.iter().enumerate() {
        let m = &module.matches[inst.opcode as usize];
        let first = out.uops.len() as u32;
        let operands = &body.operands[inst.operands.start as usize..inst.operands.end as usize];
        let guard = inst.guard.map(|(r, negated)| (names.regs[r as usize].0, negated));
        let mut flow = Flow::Next;
        if let (0, Some(area), None) = (i, stack, guard)
            && !body.labels.iter().any(|(_, at)| *at == 0)
        {
            out.uops.push(nothing_in_use(area));
        }
        if let Some(copies) = kept.get(&i) {
            keep_factors(copies, m, operands, &names, carry, &mut out);
        }
        // A fused addition has the meaning of the multiply-add.
        let fused = plan.fused.get(&i);
        let m = fused.map_or(m, |f| &f.m);
        match m.row.sem {
            Sem::Ops(_) if plan.dropped.contains(&i) => {}
            Sem::Ops(meaning) => {
                let types: &[Option<Ty>] = match fused {
                    Some(_) => &[],
                    None => slot_types[inst.opcode as usize].get_or_insert_with(|| {
                        m.notation.slots.iter().map(|s| m.slot_ty(s)).collect()
                    }),
                };
                let done = arguments(fused, operands, types, &names, &kept, &mut args, &mut out)
                    .and_then(|()| {
                        let mut x = Cx::new(m, module.info, &args, carry, &mut out.uops);
                        x.stack = stack;
                        meaning(&mut x);
                        x.finish()
                    });
                match done {
                    Ok(mut temps) => {
                        if let Some((g, _)) = guard {
                            protect_guard(&mut out.uops, first as usize, g, &mut temps);
                        }
                        for (most, t) in out.temps.iter_mut().zip(temps) {
                            *most = (*most).max(t);
                        }
                    }
                    Err(why) => refused.push((i, why)),
                }
            }
            Sem::Control(control) => {
                match lower_control(control, operands, body, &names, &mut out) {
                    Ok(f) => flow = f,
                    Err(why) => refused.push((i, why)),
                }
            }
            Sem::None => {
                let why = "this instruction is not executed yet; it is only checked";
                refused.push((i, why.into()));
            }
        }
        out.insts.push(Inst {
            uops: first..out.uops.len() as u32,
            guard,
            flow,
            opcode: inst.opcode,
            span: inst.span.clone(),
            loc: inst.loc,
        });
    }
    out.insts.push(return_at_end(module, body, out.uops.len() as u32));
    let leaders: Vec<u32> = body.labels.iter().map(|(_, at)| *at).collect();
    out.blocks = blocks::build_blocks(&mut out.insts, &leaders, entry);
    match first_reached(&out, refused) {
        Some((i, why)) => Err(refusal(module, id, i, why)),
        None => Ok(out),
    }
}

/// Bytes that a kernel may allocate on its stack.
const STACK_BYTES: u32 = 16 << 10;

/// Room in the frame for what the kernel allocates while it runs, if it does.
fn stack_area(module: &Module, body: &Body, out: &mut Function) -> Option<StackArea> {
    let mut ops = body.insts.iter().map(|i| module.matches[i.opcode as usize].row.op);
    if !ops.any(|op| op == Operation::Stack) {
        return None;
    }
    let used = out.frame_bytes;
    let bottom = used + 16;
    let top = bottom + STACK_BYTES;
    out.frame_bytes = top;
    out.local_vars.push(("(stack)".into(), used, top - used));
    Some(StackArea { used, bottom, top })
}

/// Says that a stack is empty. Local memory is zero at the start of a kernel; this is for those who check what was
/// written.
fn nothing_in_use(area: StackArea) -> Uop {
    let place = MemoryPlace { space: Space::Local, offset: i64::from(area.used) };
    let (order, scope) = (Order::Weak, Scope::default());
    let cache = Cache::Default;
    let word = Mem { place, bytes: 4, count: 1, signed: false, order, scope, cache };
    let (dst, src) = (Vec::new().into(), vec![V::d(0), V::w(0)].into());
    Uop::Effect { effect: Effect::St(word), dst, src }
}

/// Control that runs off the end returns.
fn return_at_end(module: &Module, body: &Body, at: u32) -> Inst {
    Inst {
        uops: at..at,
        guard: None,
        flow: Flow::Ret,
        // The return stands behind the opcodes of the module.
        opcode: module.matches.len() as u32,
        span: body.end.clone(),
        loc: None,
    }
}

/// The first refused instruction that control can reach.
fn first_reached(f: &Function, refused: Vec<(usize, String)>) -> Option<(usize, String)> {
    if refused.is_empty() {
        return None;
    }
    let reached = blocks::reachable(&f.blocks);
    refused
        .into_iter()
        .find(|(i, _)| reached.contains(f.blocks.partition_point(|b| b.end as usize <= *i)))
}

/// Operands as a meaning takes them, into `args`. A fused addition takes the factors of its multiplication too; for
/// all others `types` are those of the slots.
fn arguments(
    fused: Option<&Fused>,
    operands: &[Operand],
    types: &[Option<Ty>],
    names: &Names,
    kept: &HashMap<usize, [V; 2]>,
    args: &mut Vec<Arg>,
    out: &mut Function,
) -> Result<(), String> {
    args.clear();
    match fused {
        Some(f) => args.extend(fused_args(f, &operands[0], names, kept, out)?),
        None => {
            for (ty, op) in types.iter().zip(operands) {
                args.push(names.arg(op, *ty)?);
            }
        }
    }
    Ok(())
}

/// The name of a register that stands nowhere in the text.
fn made(name: &str) -> RegName {
    RegName { base: name.into(), number: None, suffix: "" }
}

/// A new register of a kind, named after what it stands for.
fn fresh(out: &mut Function, kind: Kind, name: &str) -> V {
    let n = &mut out.regs[kind as usize];
    *n += 1;
    out.reg_names[kind as usize].push(made(name));
    V { kind, src: Src::Reg(*n - 1) }
}

/// Registers for the factors that are kept: a product may stand behind its sum in the text.
fn kept_registers(
    module: &Module,
    body: &Body,
    plan: &contract::Plan,
    out: &mut Function,
) -> HashMap<usize, [V; 2]> {
    let mut products: Vec<usize> = plan.kept.iter().copied().collect();
    products.sort_unstable();
    let mut registers = |i: usize| {
        let m = &module.matches[body.insts[i].opcode as usize];
        let kind = m.types().last().map_or(Kind::W, |ty| ty.kind());
        (i, [(); 2].map(|()| fresh(out, kind, "(factor)")))
    };
    products.into_iter().map(&mut registers).collect()
}

/// Copies the factors of a product: something overwrites them before a use, or they stand in no register.
fn keep_factors(
    copies: &[V; 2],
    m: &Match,
    operands: &[Operand],
    names: &Names,
    carry: V,
    out: &mut Function,
) {
    let mut args = Vec::new();
    for (slot, op) in m.notation.slots.iter().zip(operands) {
        args.push(names.arg(op, m.slot_ty(slot)).unwrap_or(Arg::Absent));
    }
    let factors = match ((m.row.factors)(m), &args[1..]) {
        (Some(factors), _) => {
            let mut x = Cx::new(m, names.module.info, &args, carry, &mut out.uops);
            let factors = factors(&mut x);
            if let Ok(temps) = x.finish() {
                for (most, t) in out.temps.iter_mut().zip(temps) {
                    *most = (*most).max(t);
                }
            }
            factors
        }
        (None, [Arg::Val { v: a, .. }, Arg::Val { v: b, .. }, ..]) => [*a, *b],
        // No operand of a product is anything else.
        (None, _) => return,
    };
    for (copy, v) in copies.iter().zip(factors) {
        let op = if v.kind == Kind::D { Op::MovD } else { Op::MovW };
        out.uops.push(Uop::Pure { op, dst: *copy, args: [v, V::w(0), V::w(0)], k: 0 });
    }
}

/// The operands of a multiply-add that stands for an addition and a product.
fn fused_args(
    f: &Fused,
    dest: &Operand,
    names: &Names,
    kept: &HashMap<usize, [V; 2]>,
    out: &mut Function,
) -> Result<[Arg; 4], String> {
    let ty = f.m.slot_ty(&f.m.notation.slots[1]).unwrap_or(Ty::F32);
    let value = |op: &Operand| match names.arg(op, Some(ty))? {
        Arg::Val { v, .. } => Ok(v),
        other => Err(format!("{other:?} is no number")),
    };
    let [mut a, b] = match (&f.factors, kept.get(&f.product)) {
        (Some([a, b]), _) => [value(a)?, value(b)?],
        (None, Some(copies)) => *copies,
        (None, None) => return Err("the factors of its product are not known".into()),
    };
    let mut c = value(&f.addend)?;
    let mut negate = |v: V| {
        let (op, sign) = match ty {
            Ty::F64 => (Op::XorD, V::d(1 << 63)),
            Ty::F32 => (Op::XorW, V::w(1 << 31)),
            Ty::F16x2 | Ty::Bf16x2 => (Op::XorW, V::w(0x8000_8000)),
            _ => (Op::XorW, V::w(0x8000)),
        };
        let dst = fresh(out, v.kind, "(negated)");
        out.uops.push(Uop::Pure { op, dst, args: [v, sign, V::w(0)], k: 0 });
        dst
    };
    if f.minus_product {
        a = negate(a);
    }
    if f.minus_addend {
        c = negate(c);
    }
    let arg = |v: V| Arg::Val { v, ty, part: Selection::Whole };
    Ok([names.arg(dest, Some(ty))?, arg(a), arg(b), arg(c)])
}

/// Gives every register, variable and parameter of the function its place.
#[allow(clippy::too_many_arguments)]
fn place_names<'a>(
    module: &'a Module,
    id: u32,
    func: &Func,
    body: &'a Body,
    layout: &'a Layout,
    kernel_params: &[(Param, u32)],
    entry: bool,
    out: &mut Function,
) -> Names<'a> {
    let mut regs = Vec::with_capacity(body.regs.len());
    for r in &body.regs {
        let (kind, base) = (r.ty.kind(), &module.reg_names[r.name as usize]);
        let mut new = |suffix| {
            let n = &mut out.regs[kind as usize];
            *n += 1;
            let name = RegName { base: base.clone(), number: r.number, suffix };
            out.reg_names[kind as usize].push(name);
            V { kind, src: Src::Reg(*n - 1) }
        };
        let second = (r.ty.bits() == 128).then(|| new(".hi"));
        regs.push((new(""), second));
    }
    // Frames that are larger than a launch takes are only counted: they must not wrap.
    let mut frame = u64::from(out.frame_bytes);
    let mut take = |size: u64, align: u32| {
        let at = frame.next_multiple_of(u64::from(align.max(4)));
        frame = (at + size.min(LARGEST_FRAME)).next_multiple_of(4).min(LARGEST_FRAME);
        at.min(LARGEST_FRAME) as u32
    };
    // Own results and parameters first: the caller finds them at fixed places.
    let mut params = Vec::new();
    if entry {
        params.extend(kernel_params.iter().map(|(_, at)| *at));
    } else {
        let mut location = |p: &Param, params: &mut Vec<u32>| match p.reg {
            Some(r) => {
                params.push(0);
                ArgumentLocation::Reg(regs[r as usize].0)
            }
            None => {
                let offset = take(p.size as u64, p.align);
                params.push(offset);
                ArgumentLocation::Frame { offset, bytes: p.size }
            }
        };
        out.rets = func.rets.iter().map(|p| location(p, &mut params)).collect();
        out.params = func.params.iter().map(|p| location(p, &mut params)).collect();
    }
    let mut local_vars = Vec::new();
    let vars = body.vars.iter().map(|v| match v.space {
        Space::Local => {
            let at = take(v.size.saturating_add(u64::from(layout.gap)), v.align);
            local_vars.push((v.name.to_string(), at, v.size.min(u64::from(u32::MAX)) as u32));
            at
        }
        Space::ParamEntry | Space::ParamFunc => take(v.size, v.align),
        _ => 0,
    });
    let vars = vars.collect();
    out.local_vars = local_vars;
    out.frame_bytes = frame.next_multiple_of(16) as u32;
    Names { module, func: id, entry, body, layout, regs, vars, params }
}

/// A micro-op before the last must not change the guard: it writes a temporary, and a last
/// micro-op moves that.
fn protect_guard(uops: &mut Vec<Uop>, first: usize, guard: V, temps: &mut [u32; 3]) {
    let writes = |u: &Uop| match u {
        Uop::Pure { dst, .. } => *dst == guard,
        Uop::Effect { dst, .. } => dst.contains(&guard),
    };
    let Some(at) = uops[first..].iter().position(writes).map(|i| i + first) else { return };
    if at + 1 == uops.len() {
        return;
    }
    let t = V { kind: Kind::P, src: Src::Temp(temps[Kind::P as usize]) };
    temps[Kind::P as usize] += 1;
    let swap = |v: &mut V| {
        if *v == guard {
            *v = t;
        }
    };
    for (i, u) in uops[at..].iter_mut().enumerate() {
        match u {
            Uop::Pure { dst, args, .. } => {
                if i > 0 {
                    args.iter_mut().for_each(swap);
                }
                swap(dst);
            }
            Uop::Effect { dst, src, .. } => {
                if i > 0 {
                    src.iter_mut().for_each(swap);
                }
                dst.iter_mut().for_each(swap);
            }
        }
    }
    uops.push(Uop::Pure {
        op: ptx_isa::uop::Op::MovP,
        dst: guard,
        args: [t, V::w(0), V::w(0)],
        k: 0,
    });
}

fn lower_control(
    control: Control,
    operands: &[Operand],
    body: &Body,
    names: &Names,
    out: &mut Function,
) -> Result<Flow, String> {
    let target = |label: u32| body.labels[label as usize].1;
    Ok(match (control, operands) {
        (Control::Ret, _) => Flow::Ret,
        (Control::Exit, _) => Flow::Exit,
        (Control::Bra, [Operand::Label(l)]) => Flow::Bra(target(*l)),
        (Control::BrxIdx, [index, Operand::BranchTargets(t)]) => {
            let Arg::Val { v, .. } = names.arg(index, Some(Ty::U32))? else {
                return Err("the index of `brx.idx` is no register".into());
            };
            let targets = body.branch_targets[*t as usize].iter().map(|l| target(*l)).collect();
            Flow::Brx { index: v, targets }
        }
        (Control::Call, [Operand::Call(c)]) => lower_call(c, body, names, out)?,
        (_, other) => return Err(format!("operands {other:?} do not fit")),
    })
}

fn lower_call(
    c: &CallOperands,
    body: &Body,
    names: &Names,
    out: &mut Function,
) -> Result<Flow, String> {
    let module = names.module;
    let list = |r: &std::ops::Range<u32>| &body.operands[r.start as usize..r.end as usize];
    let (args, rets) = (list(&c.args), list(&c.rets));
    let (callee, sizes) = match &c.callee {
        Operand::Func(f) => {
            let f = resolve(module, *f);
            let func = &module.functions[f as usize];
            if func.body.is_none() {
                return system_call(&func.name, args, rets, names, out);
            }
            (
                Callee::Direct(names.layout.functions[&f]),
                (func.params.as_slice(), func.rets.as_slice()),
            )
        }
        Operand::Reg(r, _) => {
            let (params, rets) = match c.targets {
                Some(module::CallTargets::Prototype(p)) => {
                    let p = &body.prototypes[p as usize];
                    (p.params.as_slice(), p.rets.as_slice())
                }
                Some(module::CallTargets::Table(t)) => {
                    match body.call_targets[t as usize].first() {
                        Some(f) => {
                            let f = &module.functions[*f as usize];
                            (f.params.as_slice(), f.rets.as_slice())
                        }
                        None => (&[][..], &[][..]),
                    }
                }
                None => return Err("an indirect call needs a prototype".into()),
            };
            (Callee::Indirect(names.regs[*r as usize].0), (params, rets))
        }
        other => return Err(format!("{other:?} cannot be called")),
    };
    let side = |ops: &[Operand], params: &[Param]| {
        let each = ops.iter().zip(params).map(|(op, p)| call_arg(op, p, names));
        each.collect::<Result<Box<[_]>, _>>()
    };
    Ok(Flow::Call(Box::new(Call {
        callee,
        args: side(args, sizes.0)?,
        rets: side(rets, sizes.1)?,
    })))
}

fn call_arg(op: &Operand, p: &Param, names: &Names) -> Result<CallArg, String> {
    let at =
        |base: u32, off: i64| CallArg::Frame { offset: (base as i64 + off) as u32, bytes: p.size };
    Ok(match op {
        Operand::Sink => CallArg::Sink,
        Operand::Var(v, off) => at(names.vars[*v as usize], *off),
        Operand::Param(i, off) if !names.entry => at(names.params[*i as usize], *off),
        _ => match names.arg(op, Some(p.ty))? {
            Arg::Val { v, .. } => CallArg::Value(v),
            other => return Err(format!("{other:?} cannot be passed to a function")),
        },
    })
}

/// Calls that the driver's runtime answers, by name.
fn system_call(
    name: &str,
    args: &[Operand],
    rets: &[Operand],
    names: &Names,
    out: &mut Function,
) -> Result<Flow, String> {
    let (sys, result) = match name {
        "vprintf" => (Sys::Vprintf, Some(Ty::U32)),
        "malloc" => (Sys::Malloc, Some(Ty::U64)),
        "free" => (Sys::Free, None),
        "__assertfail" => (Sys::AssertFail, None),
        _ => {
            return Err(format!(
                "function `{name}` is declared but not defined here; link its definition or remove the call"
            ));
        }
    };
    let word = if names.module.info.address_bits == 32 { Ty::U32 } else { Ty::U64 };
    let types: &[Ty] = match sys {
        Sys::Vprintf => &[word, word],
        Sys::Malloc | Sys::Free => &[word],
        Sys::AssertFail => &[word, word, Ty::U32, word, word],
    };
    if args.len() != types.len() {
        return Err(format!("`{name}` takes {} arguments, found {}", types.len(), args.len()));
    }
    let mut temps = [0u32; 3];
    let mut temp = |kind: Kind| {
        temps[kind as usize] += 1;
        V { kind, src: Src::Temp(temps[kind as usize] - 1) }
    };
    let mut src = Vec::new();
    for (op, ty) in args.iter().zip(types) {
        let v = match frame_place(op, names) {
            Some(base) => {
                let t = temp(ty.kind());
                let effect = Effect::Ld(word_access(*ty));
                out.uops.push(Uop::Effect { effect, dst: [t].into(), src: [base].into() });
                t
            }
            None => match names.arg(op, Some(*ty))? {
                Arg::Val { v, .. } => v,
                other => return Err(format!("{other:?} cannot be passed to `{name}`")),
            },
        };
        src.push(v);
    }
    let ret_ty = result.map(|t| if t == Ty::U64 { word } else { t });
    let dst: Box<[V]> = ret_ty.iter().map(|t| temp(t.kind())).collect();
    out.uops.push(Uop::Effect { effect: Effect::Sys(sys), dst: dst.clone(), src: src.into() });
    if let (Some(op), Some(v), Some(ty)) = (rets.first(), dst.first(), ret_ty) {
        if let Some(base) = frame_place(op, names) {
            let effect = Effect::St(word_access(ty));
            out.uops.push(Uop::Effect { effect, dst: [].into(), src: [base, *v].into() });
        } else if let Operand::Reg(r, _) = op {
            let op =
                if v.kind == Kind::D { ptx_isa::uop::Op::MovD } else { ptx_isa::uop::Op::MovW };
            let dst = names.regs[*r as usize].0;
            out.uops.push(Uop::Pure { op, dst, args: [*v, V::w(0), V::w(0)], k: 0 });
        }
    }
    for (most, t) in out.temps.iter_mut().zip(temps) {
        *most = (*most).max(t);
    }
    Ok(Flow::Next)
}

/// Frame address of a call parameter block.
fn frame_place(op: &Operand, names: &Names) -> Option<V> {
    let at = match op {
        Operand::Var(v, off) => names.vars[*v as usize] as i64 + off,
        Operand::Param(i, off) if !names.entry => names.params[*i as usize] as i64 + off,
        _ => return None,
    };
    Some(V { kind: Kind::D, src: Src::Frame(at as u32) })
}

fn word_access(ty: Ty) -> Mem {
    Mem {
        place: MemoryPlace { space: Space::ParamFunc, offset: 0 },
        bytes: ty.bytes() as u8,
        count: 1,
        signed: false,
        order: Order::Weak,
        scope: Scope::Cta,
        cache: Default::default(),
    }
}
