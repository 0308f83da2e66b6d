//! Kernels whose threads run one by one and meet where PTX says so: at barriers of any number and count, at operations
//! over the warp wherever its lanes are, at products of a warpgroup.
//!
//! Where lanes run together, code must know which of them do. Where each thread goes its own way, nothing has to be
//! known: it stops at what it does with others, leaves its operands in the warp's rows, and goes on when the worker has
//! done that for all who take part, as the interpreter does. Scalar code is slower than code of vectors, so this is for
//! kernels that have no other form, and for who asks ([`crate::Options::meets`]).
//!
//! `split` ends blocks at such places, `code` is what threads do there, `places` who is where, `settle` brings them
//! together.

mod code;
mod places;
mod settle;
mod split;

pub(crate) use places::Places;
pub(crate) use split::{meets, split};
