//! Whether vectors have code of their own for a micro-op, asked of what makes it.

use std::collections::HashMap;

use cranelift_codegen::ir::Function;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use ptx_isa::Kind;
use ptx_isa::uop::Op;

use crate::form::Form;
use crate::ir::{self, Func, Val};
use crate::ops::{Emit, Halves};

/// Answers for a kernel. Many of its instructions are alike.
pub(crate) struct Emits {
    form: Form,
    known: HashMap<(Op, u32, Vec<Option<u64>>), bool>,
}

impl Emits {
    pub(crate) fn new(form: Form) -> Emits {
        Emits { form, known: HashMap::new() }
    }

    /// Whether `v` is a micro-op of vectors that calls a function for its lanes.
    pub(crate) fn calls(&mut self, f: &Func, v: Val) -> bool {
        let i = &f.insts[v as usize];
        let ir::Op::Pure(op, k) = i.op else { return false };
        if f.has_code(op, k) {
            return false;
        }
        let constants: Vec<Option<u64>> = i.args.iter().map(|a| f.as_const(*a)).collect();
        let form = self.form;
        !*self
            .known
            .entry((op, k, constants))
            .or_insert_with_key(|(op, k, constants)| has_code(form, *op, *k, constants))
    }
}

/// Makes the code and throws it away.
fn has_code(form: Form, op: Op, k: u32, constants: &[Option<u64>]) -> bool {
    let (mut scratch, mut context) = (Function::new(), FunctionBuilderContext::new());
    let mut b = FunctionBuilder::new(&mut scratch, &mut context);
    let block = b.create_block();
    b.switch_to_block(block);
    let mut operand = |kind: &Kind| [(); 2].map(|()| b.append_block_param(block, form.of(*kind)));
    let operands: Vec<Halves> = op.args().iter().map(&mut operand).collect();
    Emit { b: &mut b, vector: true, form }.pure(op, k, &operands, constants).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_decide() {
        for form in [Form::AVX2, Form::AVX512] {
            let by = |op, constants: &[Option<u64>]| has_code(form, op, 0, constants);
            assert!(by(Op::FunnelL, &[None, None, Some(7)]));
            assert!(by(Op::BfeUW, &[None, Some(3), Some(5)]));
            assert!(!by(Op::BfeUW, &[None, None, Some(5)]));
            assert!(by(Op::AddW, &[None, None]));
            assert!(!by(Op::RemUD, &[None, None]));
        }
    }
}
