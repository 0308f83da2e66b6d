//! Large functions are optimised on threads of their own while the next ones are lowered.

use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, available_parallelism, scope};

use super::optimize;
use crate::ir::Func;
use crate::options::Options;

/// Values of a function from which on a thread pays.
const LARGE: usize = 20_000;

enum State<'s> {
    Here(Box<Func>),
    Elsewhere(ScopedJoinHandle<'s, Option<Func>>),
}

impl State<'_> {
    fn done(self) -> Option<Func> {
        match self {
            State::Here(f) => Some(*f),
            State::Elsewhere(thread) => match thread.join() {
                Ok(f) => f,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

/// Runs all passes on each function; they come back in their order. `stack` is in bytes.
pub fn optimize_each<K, E>(
    functions: impl Iterator<Item = (K, Result<Func, E>)>,
    options: &Options,
    stack: usize,
) -> Vec<(K, Result<Func, E>)> {
    let most = available_parallelism().map_or(1, NonZero::get);
    let mut done = Vec::new();
    scope(|scope| {
        let mut pending: std::collections::VecDeque<(K, Result<State<'_>, E>)> = Default::default();
        let mut running = 0;
        for (key, function) in functions {
            let mut f = match function {
                Ok(f) => f,
                Err(e) => {
                    pending.push_back((key, Err(e)));
                    continue;
                }
            };
            if most == 1 || f.values.len() < LARGE {
                optimize(&mut f, options);
                pending.push_back((key, Ok(State::Here(Box::new(f)))));
                continue;
            }
            while running >= most {
                let Some((key, state)) = pending.pop_front() else { break };
                running -= usize::from(matches!(state, Ok(State::Elsewhere(_))));
                done.push((key, state.map(State::done)));
            }
            // The host may have no room for a thread: then it is still here.
            let place = Arc::new(Mutex::new(Some(f)));
            let take = |place: &Mutex<Option<Func>>| {
                place.lock().unwrap_or_else(PoisonError::into_inner).take()
            };
            let shared = Arc::clone(&place);
            let work = move || {
                let mut f = take(&shared)?;
                optimize(&mut f, options);
                Some(f)
            };
            match Builder::new().stack_size(stack).spawn_scoped(scope, work) {
                Ok(thread) => {
                    running += 1;
                    pending.push_back((key, Ok(State::Elsewhere(thread))));
                }
                Err(_) => {
                    if let Some(mut f) = take(&place) {
                        optimize(&mut f, options);
                        pending.push_back((key, Ok(State::Here(Box::new(f)))));
                    }
                }
            }
        }
        done.extend(pending.into_iter().map(|(key, state)| (key, state.map(State::done))));
    });
    // Each thread was given its function.
    let there = |(key, f): (K, Result<Option<Func>, E>)| match f {
        Ok(f) => f.map(|f| (key, Ok(f))),
        Err(e) => Some((key, Err(e))),
    };
    done.into_iter().filter_map(there).collect()
}
