//! Instructions that have a cheaper equivalent.

use ptx_timing::Report;
use ptx_timing::isa::{Operation, Ty};
use ptx_timing::report::Line;

use super::dataflow::{Flow, integer, operation, parts};
use super::finding::{Finding, Kind, capability, places};
use crate::number::count;

/// Adds what is found.
pub(super) fn find(report: &Report, out: &mut Vec<Finding>) {
    out.extend(multiplications(report));
    let flow = Flow::new(&report.lines);
    out.extend(double_constants(report, &flow));
    out.extend(divisions(report, &flow));
}

fn executed(report: &Report) -> impl Iterator<Item = &Line> {
    report.lines.iter().filter(|l| l.issues > 0)
}

fn issues(lines: &[&Line]) -> u64 {
    lines.iter().map(|l| l.issues).sum()
}

fn multiplications(report: &Report) -> Option<Finding> {
    let (slow, evidence, remedy): (&str, _, _) = match capability(report).0 {
        1 => (
            "int-mul",
            "32-bit integer multiplications",
            "On compute capability 1.x a 32-bit multiplication takes four times as long as a 24-bit one. Where both factors fit in 24 bits (indices mostly do), use mul24: mul24.lo and mad24.lo in PTX, mul24 and mad24 in OpenCL C. Later devices are the other way round, so provide two kernels.",
        ),
        _ => (
            "int-mul24",
            "24-bit integer multiplications",
            "From compute capability 2.0 on mul24 is slower than a 32-bit multiplication; use mul.lo and mad.lo. Where a kernel is to run on 1.x as well, provide two and choose by the device.",
        ),
    };
    let hits: Vec<&Line> = executed(report).filter(|l| l.class == slow).collect();
    if hits.is_empty() {
        return None;
    }
    let evidence =
        format!("Warps executed {} {evidence}, in {}.", count(issues(&hits)), places(&hits));
    Some(Finding::new(Kind::Mul24, evidence, remedy).about(report, &hits))
}

fn is(opcode: &str, op: Operation) -> bool {
    operation(opcode).0 == op
}

/// Whether an instruction converts between these types.
fn converts(text: &str, to: Ty, from: Ty) -> bool {
    operation(parts(text).opcode) == (Operation::Convert, vec![to, from])
}

/// Arithmetic in double precision between a widening and a narrowing conversion, with a literal.
fn double_constants(report: &Report, flow: &Flow<'_>) -> Option<Finding> {
    let widened = |line: &Line, operand: &str| {
        flow.definition(&line.function, operand)
            .is_some_and(|d| converts(&d.text, Ty::F64, Ty::F32))
    };
    let literal = |line: &Line, operand: &str| {
        let hexadecimal = |s: &str| s.starts_with("0d") || s.starts_with("0D");
        hexadecimal(operand)
            || operand.parse::<f64>().is_ok()
            || flow.definition(&line.function, operand).is_some_and(|d| {
                let p = parts(&d.text);
                is(p.opcode, Operation::Move) && p.operands.get(1).is_some_and(|o| hexadecimal(o))
            })
    };
    let narrowed = |line: &Line, register: &str| {
        let uses = flow.uses(&line.function, register);
        !uses.is_empty() && uses.iter().all(|u| converts(&u.text, Ty::F32, Ty::F64))
    };
    let hits: Vec<&Line> = executed(report)
        .filter(|line| {
            let p = parts(&line.text);
            let (op, types) = operation(p.opcode);
            let arithmetic = matches!(
                op,
                Operation::Add
                    | Operation::Sub
                    | Operation::Mul
                    | Operation::Div
                    | Operation::Fma
                    | Operation::Mad
            );
            let Some((destination, sources)) = p.operands.split_first() else { return false };
            arithmetic
                && types.last() == Some(&Ty::F64)
                && sources.iter().any(|s| widened(line, s))
                && sources.iter().any(|s| literal(line, s))
                && narrowed(line, destination)
        })
        .collect();
    if hits.is_empty() {
        return None;
    }
    let evidence = format!(
        "A single-precision value is widened, combined with a double-precision constant and narrowed again, in {} ({} warp instructions and as many conversions each way).",
        places(&hits),
        count(issues(&hits)),
    );
    let remedy = "Write constants of single-precision expressions with the suffix f (3.141592653589793f, 1.0f, 0.5f); without it the compiler must convert and compute in double precision.";
    Some(Finding::new(Kind::DoubleConstant, evidence, remedy).about(report, &hits))
}

fn divisions(report: &Report, flow: &Flow<'_>) -> Option<Finding> {
    let value = |line: &Line, operand: &str| {
        integer(operand).or_else(|| {
            let definition = flow.definition(&line.function, operand)?;
            let p = parts(&definition.text);
            is(p.opcode, Operation::Move).then(|| p.operands.get(1).copied().and_then(integer))?
        })
    };
    let hits: Vec<(&Line, u64)> = executed(report)
        .filter_map(|line| {
            let p = parts(&line.text);
            let (op, types) = operation(p.opcode);
            let division = matches!(op, Operation::Div | Operation::Rem);
            let whole = types.last().is_some_and(|t| t.is_int());
            if !(division && whole) {
                return None;
            }
            let divisor = value(line, p.operands.get(2)?)?;
            divisor.is_power_of_two().then_some((line, divisor))
        })
        .collect();
    let (first, divisor) = *hits.first()?;
    let lines: Vec<&Line> = hits.iter().map(|h| h.0).collect();
    let evidence = format!(
        "Line {} divides by {divisor}; {} warp instructions divide by powers of two, in {}.",
        first.ptx_line,
        count(issues(&lines)),
        places(&lines),
    );
    let remedy = format!(
        "Integer division and remainder are particularly costly. With n a power of two, i / n is i >> log2(n) and i % n is i & (n - 1) (for signed i: if it is not negative); here: shift by {}, mask with {}.",
        divisor.trailing_zeros(),
        divisor - 1
    );
    Some(Finding::new(Kind::PowerOfTwoDivision, evidence, remedy).about(report, &lines))
}
