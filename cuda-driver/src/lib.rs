//! `libcuda.so.1` without a GPU: the CUDA driver API over [`ptx_runtime`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the exported functions, one table: symbol, CUDA version, body |
//! | [`entry`] | what the functions return; [`c_border`] is the border to C |
//! | [`handles`] | handles that programs hold |
//! | [`driver`], [`context`], [`lifetime`] | the device, contexts, what makes and ends them |
//! | [`allocation`], [`memory`], [`pool`], [`copy`], [`texture`] | memory, copies, arrays, texture objects |
//! | [`virtual_memory`], [`pages`] | reserved addresses and what is mapped there |
//! | [`image`], [`link`], [`module`] | images, linking, modules and libraries |
//! | [`grid`] | what cooperative launches need |
//! | [`schedule`], [`stream`], [`event`] | queues and their threads, streams and events |
//! | [`work`], [`launch`], [`ctrl_c`] | what streams do, and what ends it |
//! | [`clock`] | what events read |
//! | [`capture`], [`graph`], [`user_object`] | stream capture and graphs |
//! | [`log`] | the log of errors |
//! | [`attributes`] | what the device answers about itself |

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the CUDA driver API has 64-bit handles and addresses");

pub mod allocation;
pub mod api;
pub mod attributes;
pub mod capture;
pub mod clock;
pub mod context;
pub mod copy;
pub mod ctrl_c;
pub mod driver;
pub mod entry;
pub mod error;
pub mod event;
pub mod graph;
pub mod graph_memory;
pub mod grid;
pub mod handles;
pub mod image;
pub mod interprocess;
pub mod launch;
pub mod lifetime;
pub mod link;
pub mod log;
pub mod memory;
pub mod module;
pub mod pages;
pub mod pool;
pub mod schedule;
pub mod stream;
pub mod texture;
pub mod user_object;
pub mod virtual_memory;
pub mod work;
