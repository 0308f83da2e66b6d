//! The waits that machine code has in itself.
//!
//! How long arithmetic takes is known, so the assembler writes into each instruction when the next one may issue. It
//! counts as if no time passed at instructions that wait for memory: what such an instruction waits for does not
//! shorten what those behind it wait for each other. Read off the control words of ptxas 13.5 for sm_90.

use super::operands::{NOTHING, OperandPorts};
use super::pipes::PORTS;
use super::plan::{Further, Plan};
use super::report::Stall;
use super::time::FRACTION;
use super::warp::{RegisterState, STATE_BITS};
use crate::event::{Code, Register};
use crate::profile::Profile;
use crate::schedule::Schedule;
use crate::scoreboard::comes_at_a_known_time;

/// Puts them into the instructions of a kernel whose blocks have this order.
pub(super) fn put(
    profile: &Profile,
    code: &Code,
    schedule: &Schedule,
    registers: usize,
    plans: &mut [Plan],
) {
    if !profile.issue.known_waits {
        return;
    }
    let mut state = State {
        further: Further::new(profile),
        schedulers: profile.issue.schedulers.into(),
        shared: profile.pipes.values().map(|p| !p.per_scheduler).collect(),
        registers: vec![0; registers],
        written: Vec::new(),
        pipes: vec![0; profile.pipes.len()],
        ports: OperandPorts::new(profile.issue.operand_words, plans),
    };
    for piece in schedule.pieces() {
        state.put(code, &piece, plans);
    }
}

/// What the assembler knows of a warp within a piece of code.
struct State {
    further: Further,
    schedulers: u64,
    /// Whether the schedulers share each pipe.
    shared: Vec<bool>,
    /// As in a warp, but nothing is known of what comes from memory; and those of which something is known.
    registers: Vec<RegisterState>,
    written: Vec<Register>,
    /// When the pipes take this warp's next instruction.
    pipes: Vec<u64>,
    ports: OperandPorts,
}

impl State {
    /// All that is known is over.
    fn forget(&mut self) {
        self.written.drain(..).for_each(|r| self.registers[r as usize] = 0);
        self.pipes.fill(0);
    }

    fn put(&mut self, code: &Code, piece: &[u32], plans: &mut [Plan]) {
        self.forget();
        let (mut last, mut fetched) = ([NOTHING; 2], 0);
        let (mut at, mut issued, mut ready) = (0, 0, 0);
        for (place, &pc) in piece.iter().enumerate() {
            if place > 0 {
                let plan = &mut plans[pc as usize];
                at = plan.operands_at(&self.registers, (at, Stall::Control), &self.further).0;
                if let [pipe] = plan.pipes[..] {
                    at = at.max(self.pipes[usize::from(pipe)]);
                }
                if plan.pipe_mask & PORTS != 0 {
                    at = at.max(fetched);
                }
                plan.gap = at - issued;
            }
            issued = at;
            if plans[pc as usize].operands_wait {
                fetched = at + self.ports.clocks(plans, pc, last);
            }
            last = [pc, last[0]];
            let plan = &plans[pc as usize];
            if let [pipe] = plan.pipes[..] {
                let times = if self.shared[usize::from(pipe)] { self.schedulers } else { 1 };
                self.pipes[usize::from(pipe)] = at + times * plan.interval / FRACTION;
            }
            let done = at + plan.latency;
            let known = comes_at_a_known_time(&code.instructions[pc as usize]) && !plan.holds;
            for &register in &plan.writes {
                let state = if known { done << STATE_BITS | plan.state } else { 0 };
                self.registers[register as usize] = state;
                self.written.push(register);
            }
            if known && !plan.writes.is_empty() {
                ready = ready.max(done);
            }
            at += plan.issue_cycles;
            // What branches inside comes out when all else is done.
            if plan.holds && !plan.control {
                (fetched, ready) = (0, 0);
                self.forget();
            }
        }
        // Those that come next, wherever that is, find all of them.
        if let Some(&last) = piece.last() {
            let plan = &mut plans[last as usize];
            plan.tail = ready.saturating_sub(issued);
        }
    }
}
