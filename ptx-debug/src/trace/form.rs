//! The format of a trace: text or records.

use super::binary::Binary;
use super::event::{Instruction, Issue, Touch, TraceFormat};
use super::text::Lines;

/// Makes bytes of events.
pub(super) enum Form {
    Lines(Lines),
    Binary(Binary),
}

impl Form {
    pub(super) fn new(
        format: TraceFormat,
        instructions: &[Instruction],
        out: &mut Vec<u8>,
    ) -> Form {
        match format {
            TraceFormat::Binary => Form::Binary(Binary::new(instructions, out)),
            _ => Form::Lines(Lines::new(format, instructions, out)),
        }
    }

    #[inline]
    pub(super) fn issue(&mut self, event: &Issue<'_>, out: &mut Vec<u8>) {
        match self {
            Form::Lines(form) => form.issue(event, out),
            Form::Binary(form) => form.issue(event, out),
        }
    }

    pub(super) fn access(&mut self, event: &Touch<'_>, out: &mut Vec<u8>) {
        match self {
            Form::Lines(form) => form.access(event, out),
            Form::Binary(form) => form.access(event, out),
        }
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Form::Lines(form) => form.end(out),
            Form::Binary(form) => form.end(out),
        }
    }
}
