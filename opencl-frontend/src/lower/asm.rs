//! Assembly of the program.

use smallvec::smallvec;

use super::state::{Lower, Value, ty_of};
use crate::ir::{Asm, AsmInputs, AsmOperand, Op, Ty, UnOp, Val};
use crate::sema::hir::{AsmOperand as Input, AsmOutput, AsmPiece, Expr};
use crate::types::{QualType, Scalar};

impl Lower<'_> {
    pub(super) fn assembly(&mut self, text: &[AsmPiece], outputs: &[AsmOutput], inputs: &[Input]) {
        let mut values: Vec<Val> = Vec::new();
        // Where each operand of the text is found.
        let mut operands: Vec<AsmOperand> = (0..outputs.len()).map(AsmOperand::Output).collect();
        for input in inputs {
            let bits = input.value.constant().filter(|_| input.literal);
            operands.push(match bits {
                Some(bits) => AsmOperand::Literal(bits as i64),
                None => {
                    let v = self.scalar(&input.value);
                    values.push(self.in_class(v, self.program.types.size(input.value.ty.id)));
                    AsmOperand::Input(values.len() - 1)
                }
            });
        }
        let mut written = Vec::new();
        for output in outputs {
            let register = register(output.scalar);
            let before = output.reads.then(|| {
                let old = self.old_value(&output.object);
                values.push(self.in_class(old, Some(output.scalar.size())));
                values.len() - 1
            });
            written.push((register, before));
        }
        let pieces = text.iter().map(|piece| match piece {
            AsmPiece::Text(text) => (text.clone(), None),
            AsmPiece::Operand(n) => (String::new(), Some(operands[*n])),
        });
        let asm = Asm { text: pieces.collect(), outputs: written };
        let types: Vec<Ty> = asm.outputs.iter().map(|o| o.0).collect();
        self.f.asm.push(asm);
        let number = self.f.asm.len() as u32 - 1;
        let asm = self.emit(Op::Asm(number, AsmInputs::new(&values)), Ty::None);
        for (i, (output, ty)) in outputs.iter().zip(types).enumerate() {
            let v = self.emit(Op::Extract(asm, i as u8), ty);
            let v = match self.program.types.scalar(output.object.ty.id) {
                Some(Scalar::F16) => v,
                Some(scalar) if ty == Ty::F16 => {
                    let wide = self.emit(Op::Un(UnOp::Bitcast, v), Ty::I32);
                    self.normalize(wide, scalar)
                }
                Some(scalar) => self.normalize(v, scalar),
                None => v,
            };
            let place = self.lvalue(&output.object);
            self.store(place, output.object.ty.value(), Value::Lanes(smallvec![v]));
        }
    }

    /// A value in the kind of register that assembly expects for so many bytes.
    fn in_class(&mut self, v: Val, size: Option<u64>) -> Val {
        match (size, self.f.ty(v)) {
            (Some(2), Ty::I32) => self.emit(Op::Un(UnOp::Bitcast, v), Ty::F16),
            _ => v,
        }
    }

    fn old_value(&mut self, object: &Expr) -> Val {
        let place = self.lvalue(object);
        let ty: QualType = object.ty.value();
        match self.load(place, ty) {
            Value::Lanes(lanes) => lanes[0],
            Value::None | Value::Memory(_) => self.constant(Ty::I64, 0),
        }
    }
}

/// The kind of register for an operand. What has 16 bits lives in 32 elsewhere, but for halves.
fn register(scalar: Scalar) -> Ty {
    if scalar.size() == 2 { Ty::F16 } else { ty_of(scalar) }
}
