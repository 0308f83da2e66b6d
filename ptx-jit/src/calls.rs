//! Which functions a call may go to.

use flow::Graph;
use ptx_parse::code::{ArgumentLocation, Call, CallArg, Callee, Flow, Function, Program};

/// Whether a function takes and gives what a call through a pointer does. One that does not is called by no program
/// that is right, and ends the launch.
fn fits(call: &Call, f: &Function) -> bool {
    let pair = |(arg, own): (&CallArg, &ArgumentLocation)| match (arg, own) {
        (CallArg::Sink, _) => true,
        (CallArg::Value(v), ArgumentLocation::Reg(r)) => v.kind == r.kind,
        (CallArg::Frame { bytes, .. }, ArgumentLocation::Frame { bytes: own, .. }) => bytes == own,
        (CallArg::Value(_), ArgumentLocation::Frame { .. })
        | (CallArg::Frame { .. }, ArgumentLocation::Reg(_)) => false,
    };
    call.args.len() == f.params.len()
        && call.rets.len() == f.rets.len()
        && call.args.iter().zip(&f.params).all(pair)
        && call.rets.iter().zip(&f.rets).all(pair)
}

/// The functions of the program that a call may go to.
pub(crate) fn callees(program: &Program, call: &Call) -> Vec<usize> {
    let functions = &program.functions;
    match call.callee {
        Callee::Direct(f) => vec![f as usize],
        Callee::Indirect(_) => {
            (1..functions.len()).filter(|n| fits(call, &functions[*n])).collect()
        }
    }
}

/// Who calls whom, by index in [`Program::functions`].
pub(crate) fn call_graph(program: &Program) -> Graph {
    Graph::new(program.functions.len(), |f| {
        let mut all: Vec<u32> = program.functions[f as usize]
            .insts
            .iter()
            .filter_map(|i| if let Flow::Call(call) = &i.flow { Some(call) } else { None })
            .flat_map(|call| callees(program, call))
            .map(|f| f as u32)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    })
}
