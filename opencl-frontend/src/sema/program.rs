//! Rules about the whole program: what is used is defined, and nothing calls itself.

use super::analyzer::Sema;
use super::hir::FunctionId;
use crate::diag::{Code, Diag};
use crate::source::Span;

impl Sema<'_> {
    /// What is used is defined.
    pub(super) fn check_definitions(&mut self) {
        for (id, unit, span) in std::mem::take(&mut self.undefined) {
            let global = &self.globals[id.0 as usize];
            if global.bytes.is_none() && !self.session.has_errors() {
                let message =
                    format!("constant `{}` is declared but not defined", self.text(global.name));
                let unit = self.units[unit as usize].clone();
                self.session.report_at(Diag::error(Code::Undeclared, message), &unit, span);
            }
        }
        for f in 0..self.functions.len() {
            let callees: Vec<(FunctionId, Span)> = self.functions[f].calls.clone();
            for (callee, span) in callees {
                if self.functions[callee.0 as usize].body.is_none() && !self.session.has_errors() {
                    let name = self.text(self.functions[callee.0 as usize].name);
                    let diag = Diag::error(
                        Code::Undeclared,
                        format!("function `{name}` is declared but not defined"),
                    );
                    let unit = self.units[self.functions[f].unit as usize].clone();
                    self.session.report_at(diag, &unit, span);
                }
            }
        }
    }

    /// Refuses recursion (6.9.i), with the cycle.
    pub(super) fn check_recursion(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.functions.len()];
        let mut reports = Vec::new();
        for start in 0..self.functions.len() {
            // Explicit stack: (function, next callee).
            let mut stack: Vec<(usize, usize)> = vec![(start, 0)];
            if marks[start] != Mark::New {
                continue;
            }
            marks[start] = Mark::Open;
            while let Some((f, next)) = stack.last_mut() {
                let Some(&(callee, span)) = self.functions[*f].calls.get(*next) else {
                    marks[*f] = Mark::Done;
                    stack.pop();
                    continue;
                };
                *next += 1;
                let c = callee.0 as usize;
                match marks[c] {
                    Mark::New => {
                        marks[c] = Mark::Open;
                        stack.push((c, 0));
                    }
                    Mark::Open => {
                        let from = stack.iter().position(|(f, _)| *f == c).unwrap_or(0);
                        let cycle: Vec<usize> = stack[from..].iter().map(|(f, _)| *f).collect();
                        reports.push((cycle, span, stack.last().map_or(0, |s| s.0)));
                    }
                    Mark::Done => {}
                }
            }
        }
        for (cycle, span, caller) in reports {
            let mut path: Vec<String> =
                cycle.iter().map(|f| self.text(self.functions[*f].name)).collect();
            let first = path[0].clone();
            path.push(first.clone());
            let message = format!("`{first}` calls itself; OpenCL C does not allow recursion");
            let mut diag = Diag::error(Code::Recursion, message);
            if cycle.len() > 1 {
                diag = diag.note(None, format!("through {}", path.join(" -> ")));
            }
            let unit = self.units[self.functions[caller].unit as usize].clone();
            self.session.report_at(diag, &unit, span);
        }
    }
}
