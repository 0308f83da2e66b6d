//! `libcuda.so.1` without a GPU: the CUDA driver API over [`ptx_runtime`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the exported functions, one table: symbol, CUDA version, body |
//! | [`ffi`] | the border to C; the only unsafe code |
//! | [`handles`] | handles that programs hold |
//! | [`driver`], [`context`] | device, primary context, contexts |
//! | [`block`], [`pool`], [`copy`], [`texture`] | memory, copies, arrays, texture objects |
//! | [`image`], [`fatbin`], [`link`], [`module`] | images, fat binaries, linking, modules and libraries |
//! | [`grid`] | what cooperative launches need |
//! | [`schedule`], [`stream`], [`work`] | queues and their threads, streams and events, what they do |
//! | [`capture`], [`graph`] | stream capture and graphs |
//! | [`attributes`] | what the device answers about itself |

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the CUDA driver API has 64-bit handles and addresses");

pub mod api;
pub mod attributes;
pub mod block;
pub mod capture;
pub mod context;
pub mod copy;
pub mod driver;
pub mod error;
pub mod fatbin;
pub mod ffi;
pub mod graph;
pub mod grid;
pub mod handles;
pub mod image;
pub mod link;
pub mod module;
pub mod pool;
pub mod schedule;
pub mod stream;
pub mod texture;
pub mod work;
