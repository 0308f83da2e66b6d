//! From an instruction of the table to its timing class.
//!
//! The table's own class says which family an instruction belongs to; here the types and modifiers
//! of the chosen form refine it, since a 64-bit multiply costs something else than a 32-bit one.

use ptx_isa::Class as Isa;
use ptx_isa::special::Sreg;

use crate::class::Class;

/// Modifiers of an opcode.
struct Opcode<'a> {
    name: &'a str,
    parts: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    fn has(&self, part: &str) -> bool {
        self.parts.contains(&part)
    }

    /// The types among the modifiers, in order.
    fn types(&self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.parts.iter().copied().filter(|p| type_bits(p).is_some())
    }

    /// Whether the operation works on 64-bit values: by its first type (`setp.lt.u64`), which for
    /// everything classified this way is that of the operands.
    fn wide(&self) -> bool {
        self.types().next().and_then(type_bits) == Some(64)
    }

    fn float(&self, bits: u32) -> bool {
        self.types().any(|t| t.starts_with('f') && type_bits(t) == Some(bits))
    }

    fn half(&self) -> bool {
        self.types().any(|t| t.starts_with("f16") || t.starts_with("bf16"))
    }
}

/// Size of a type modifier; `None` for another modifier.
fn type_bits(part: &str) -> Option<u32> {
    let (kind, bits) = part.split_at(part.find(|c: char| c.is_ascii_digit())?);
    if !matches!(kind, "u" | "s" | "b" | "f" | "bf" | "tf" | "e") {
        return None;
    }
    let digits: String = bits.chars().take_while(char::is_ascii_digit).collect();
    let bits: u32 = digits.parse().ok()?;
    (kind != "e").then_some(bits)
}

/// Timing class of an instruction. `text` is the instruction as written, guard and operands
/// included or not: `@%p mul.wide.u32 %rd1, %r1, 4;`.
pub fn classify(isa: Isa, text: &str) -> Class {
    let mut words = text.split_whitespace().skip_while(|w| w.starts_with('@'));
    let mut parts = words.next().unwrap_or("").trim_end_matches(';').split('.');
    let opcode = Opcode { name: parts.next().unwrap_or(""), parts: parts.collect() };
    let operands = words.last().unwrap_or("");
    by_name(&opcode, operands).unwrap_or_else(|| by_family(isa, &opcode))
}

/// Instructions that their name decides, whatever family the table has them in.
fn by_name(op: &Opcode<'_>, last_operand: &str) -> Option<Class> {
    Some(match op.name {
        "mov" if Sreg::parse(last_operand.trim_end_matches(';')).is_some() => {
            Class::SpecialRegister
        }
        "selp" => Class::Select,
        "popc" | "clz" | "brev" | "bfind" | "fns" => Class::BitCount,
        "bfe" | "bfi" | "bmsk" | "szext" => Class::Bitfield,
        "prmt" => Class::Shift,
        "dp4a" | "dp2a" => Class::Dot,
        "mul24" | "mad24" => Class::IntMul24,
        "redux" => Class::Redux,
        "match" => Class::Match,
        "vote" | "activemask" | "elect" => Class::Vote,
        "ldmatrix" | "stmatrix" => Class::LoadMatrix,
        "tex" | "tld4" | "suld" | "sust" | "sured" | "txq" | "suq" => Class::Texture,
        "ret" | "exit" | "bra" | "brx" | "call" => Class::Branch,
        "min" | "max" | "abs" | "neg" | "sad" => match () {
            () if op.half() => Class::F16,
            () if op.float(64) => Class::F64MinMax,
            () if op.float(32) => Class::F32MinMax,
            () => Class::IntMinMax,
        },
        _ => return None,
    })
}

fn by_family(isa: Isa, op: &Opcode<'_>) -> Class {
    match isa {
        Isa::Int => {
            if op.wide() {
                Class::IntAdd64
            } else {
                Class::IntAdd
            }
        }
        Isa::IntMul | Isa::IntMul64 => match (op.wide(), op.has("hi"), op.has("wide")) {
            (_, _, true) if op.has("u16") || op.has("s16") => Class::IntMul,
            (_, _, true) => Class::IntMulWide,
            (true, true, _) => Class::IntMulHi64,
            (true, false, _) => Class::IntMul64,
            (false, true, _) => Class::IntMulHi,
            (false, false, _) => Class::IntMul,
        },
        Isa::IntDiv if op.wide() => Class::IntDiv64,
        Isa::IntDiv => Class::IntDiv,
        Isa::Logic => Class::Logic,
        Isa::Shift if op.wide() => Class::Shift64,
        Isa::Shift => Class::Shift,
        Isa::BitField => Class::Bitfield,
        // The type of the compared values comes last (set.lt.u32.f64).
        Isa::Compare => match op.types().next_back().and_then(type_bits) {
            Some(64) => Class::Compare64,
            _ => Class::Compare,
        },
        Isa::Move | Isa::Misc => Class::Move,
        Isa::FAdd => Class::F32Add,
        Isa::FMul => Class::F32Mul,
        Isa::FFma => Class::F32Fma,
        Isa::FDiv if op.name == "rcp" => Class::F32Rcp,
        Isa::FDiv => Class::F32Div,
        Isa::FSqrt => Class::F32Sqrt,
        Isa::Special => special(op),
        Isa::DAdd | Isa::DMul => Class::F64Add,
        Isa::DFma => Class::F64Fma,
        Isa::DDiv if op.name == "rcp" => Class::F64Rcp,
        Isa::DDiv => Class::F64Div,
        Isa::DSqrt => Class::F64Sqrt,
        Isa::Half => Class::F16,
        Isa::Convert | Isa::Convert64 => convert(op),
        Isa::Video => Class::IntMinMax,
        Isa::Load => space(op, Class::LoadGlobal, Class::LoadShared),
        Isa::Store => space(op, Class::StoreGlobal, Class::StoreShared),
        Isa::Atomic => space(op, Class::AtomicGlobal, Class::AtomicShared),
        Isa::Texture | Isa::Surface => Class::Texture,
        Isa::Barrier if op.has("warp") => Class::WarpSync,
        Isa::Barrier => Class::Barrier,
        Isa::Fence if op.has("cta") => Class::FenceBlock,
        Isa::Fence => Class::FenceDevice,
        Isa::WarpSync => Class::WarpSync,
        Isa::Shuffle => Class::Shuffle,
        Isa::Vote => Class::Vote,
        Isa::Reduce => Class::Redux,
        Isa::Branch | Isa::Call | Isa::Exit => Class::Branch,
        Isa::Matrix => matrix(op),
        Isa::Async => space(op, Class::LoadGlobal, Class::LoadShared),
    }
}

fn special(op: &Opcode<'_>) -> Class {
    if op.half() {
        return Class::F16Mufu;
    }
    match (op.name, op.float(64)) {
        ("rcp", true) => Class::F64Rcp,
        ("rsqrt" | "sqrt", true) => Class::F64Sqrt,
        ("rcp", _) => Class::F32RcpApprox,
        ("sqrt", _) => Class::F32SqrtApprox,
        ("rsqrt", _) => Class::F32Rsqrt,
        ("lg2", _) => Class::F32Lg2,
        ("sin" | "cos", _) => Class::F32SinCos,
        ("div", _) => Class::F32DivApprox,
        _ => Class::F32Ex2,
    }
}

fn convert(op: &Opcode<'_>) -> Class {
    let types: Vec<&str> = op.types().collect();
    let float = |t: &&str| t.starts_with('f') || t.starts_with("bf");
    let wide = types.iter().any(|t| type_bits(t) == Some(64));
    match (types.iter().any(float), wide) {
        (true, true) => Class::Convert64,
        (false, _) => Class::ConvertInt,
        (true, false) if types.iter().all(float) && op.half() => Class::ConvertF16,
        // Narrow formats (e4m3x2 and the like) are packed as 16-bit floats are.
        (true, false) if types.len() == 1 => Class::ConvertF16,
        (true, false) => Class::Convert,
    }
}

fn space(op: &Opcode<'_>, global: Class, shared: Class) -> Class {
    let of = |name: &str| op.parts.iter().any(|p| p.split("::").next() == Some(name));
    match () {
        // An asynchronous copy names both; the global side is what takes time.
        () if of("shared") && !of("global") => shared,
        () if of("const") || of("param") => Class::LoadConst,
        () => global,
    }
}

fn matrix(op: &Opcode<'_>) -> Class {
    if op.float(64) {
        return Class::MmaF64;
    }
    // k times the element size: m16n8k16 of 16 bits, m16n8k8 of tf32, m16n8k32 of 8 bits.
    let depth = op
        .parts
        .iter()
        .find_map(|p| p.starts_with('m').then(|| p.rsplit_once('k')?.1.parse::<u32>().ok())?);
    let element = op
        .types()
        .find(|t| !matches!(*t, "f32" | "s32"))
        .and_then(type_bits)
        .map_or(16, |bits| if bits == 32 { 32 } else { bits });
    match depth {
        Some(k) if k * element.max(8) <= 128 => Class::MmaSmall,
        _ => Class::MmaLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class that the table gives a mnemonic, for text as a user writes it.
    fn of(isa: Isa, text: &str) -> &'static str {
        classify(isa, text).name()
    }

    #[test]
    fn types_and_modifiers_decide() {
        for (isa, text, class) in [
            (Isa::Int, "add.s32 %r1, %r2, %r3;", "int-add"),
            (Isa::Int, "@!%p1 add.s64 %rd1, %rd2, %rd3;", "int-add64"),
            (Isa::Int, "abs.s32 %r1, %r2;", "int-minmax"),
            (Isa::IntMul, "mul.lo.s32 a, b, c;", "int-mul"),
            (Isa::IntMul, "mul.wide.u32 a, b, 4;", "int-mul-wide"),
            (Isa::IntMul, "mul.wide.s16 a, b, c;", "int-mul"),
            (Isa::IntMul, "mad.hi.u32 a, b, c, d;", "int-mul-hi"),
            (Isa::IntMul, "mul.hi.u64 a, b, c;", "int-mul-hi64"),
            (Isa::IntMul, "mad.lo.s64 a, b, c, d;", "int-mul64"),
            (Isa::IntMul, "mad24.lo.s32 a, b, c, d;", "int-mul24"),
            (Isa::IntDiv, "rem.u64 a, b, c;", "int-div64"),
            (Isa::Shift, "shl.b64 a, b, c;", "shift64"),
            (Isa::Shift, "shf.l.wrap.b32 a, b, c, d;", "shift"),
            (Isa::BitField, "popc.b64 a, b;", "bit-count"),
            (Isa::Compare, "setp.lt.f64 p, a, b;", "compare64"),
            (Isa::Compare, "set.lt.u32.f64 a, b, c;", "compare64"),
            (Isa::Compare, "setp.ne.s32 p, a, b;", "compare"),
            (Isa::Compare, "selp.b32 a, b, c, p;", "select"),
            (Isa::Move, "mov.u32 %r1, %tid.x;", "special-register"),
            (Isa::Move, "mov.u32 %r1, %tide;", "move"),
            (Isa::Move, "mov.b32 %r1, %r2;", "move"),
            (Isa::FAdd, "add.rn.ftz.f32 a, b, c;", "f32-add"),
            (Isa::FAdd, "max.f32 a, b, c;", "f32-minmax"),
            (Isa::FFma, "fma.rn.f32 a, b, c, d;", "f32-fma"),
            (Isa::FDiv, "div.rn.f32 a, b, c;", "f32-div"),
            (Isa::FDiv, "rcp.rn.f32 a, b;", "f32-rcp"),
            (Isa::Special, "div.approx.f32 a, b, c;", "f32-div-approx"),
            (Isa::Special, "ex2.approx.ftz.f32 a, b;", "f32-ex2"),
            (Isa::Special, "tanh.approx.bf16x2 a, b;", "f16-mufu"),
            (Isa::Special, "rsqrt.approx.f64 a, b;", "f64-sqrt"),
            (Isa::DAdd, "min.f64 a, b, c;", "f64-minmax"),
            (Isa::DFma, "fma.rn.f64 a, b, c, d;", "f64-fma"),
            (Isa::Half, "fma.rn.f16x2 a, b, c, d;", "f16"),
            (Isa::Convert, "cvt.rn.f32.s32 a, b;", "convert"),
            (Isa::Convert, "cvt.rzi.s32.f32 a, b;", "convert"),
            (Isa::Convert, "cvt.rni.f32.f32 a, b;", "convert"),
            (Isa::Convert, "cvt.f64.f32 a, b;", "convert64"),
            (Isa::Convert, "cvt.rn.f16.f32 a, b;", "convert-f16"),
            (Isa::Convert, "cvt.rn.satfinite.e4m3x2.f32 a, b, c;", "convert-f16"),
            (Isa::Convert, "cvt.u64.u32 a, b;", "convert-int"),
            (Isa::Load, "ld.global.cg.v4.f32 {a,b,c,d}, [e];", "load-global"),
            (Isa::Load, "ld.shared::cta.u32 a, [b];", "load-shared"),
            (Isa::Load, "ld.param.u64 a, [p];", "load-const"),
            (Isa::Load, "ld.u32 a, [b];", "load-global"),
            (Isa::Store, "st.shared.u32 [a], b;", "store-shared"),
            (Isa::Atomic, "atom.shared.add.u32 a, [b], c;", "atomic-shared"),
            (Isa::Atomic, "red.global.add.f32 [a], b;", "atomic-global"),
            (Isa::Barrier, "bar.sync 0;", "barrier"),
            (Isa::Barrier, "bar.warp.sync 0xffffffff;", "warp-sync"),
            (Isa::Fence, "membar.cta;", "fence-block"),
            (Isa::Fence, "membar.gl;", "fence-device"),
            (Isa::Matrix, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 a;", "mma-small"),
            (Isa::Matrix, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 a;", "mma-large"),
            (Isa::Matrix, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 a;", "mma-small"),
            (Isa::Matrix, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 a;", "mma-large"),
            (Isa::Matrix, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 a;", "mma-small"),
            (Isa::Matrix, "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 a;", "mma-large"),
            (Isa::Matrix, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 a;", "mma-f64"),
            (Isa::Async, "cp.async.ca.shared.global [a], [b], 16;", "load-global"),
            (Isa::Exit, "exit;", "branch"),
        ] {
            assert_eq!(of(isa, text), class, "{text}");
        }
    }

    #[test]
    fn anything_has_a_class() {
        for text in ["", ";", "@%p", "nonsense.x.y z", "cvt", "mma"] {
            for isa in [Isa::Convert, Isa::Matrix, Isa::Load, Isa::Int, Isa::Special] {
                let _ = classify(isa, text);
            }
        }
    }

    /// Every row of the instruction table has a class with a cost on 9.0.
    #[test]
    fn every_row_has_a_cost_on_9_0() {
        let h200 = crate::Catalog::embedded().unwrap().get("H200").unwrap();
        for (row, _) in ptx_isa::table().rows() {
            let opcode = row.syntax.replace(['{', '}'], "");
            let class = classify(row.class, &opcode);
            assert!(h200.class.contains_key(&class), "{opcode}: {}", class.name());
        }
    }
}
