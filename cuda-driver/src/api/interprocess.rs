//! Memory and events of other processes.

use std::sync::Arc;

use super::symbol::functions;
use crate::context;
use crate::error::Error;
use crate::event::{self, EVENTS, Event};
use crate::interprocess::{Name, Passed, memory};
use c_border::Out;

functions! {
    cuIpcGetMemHandle [4010 => cuIpcGetMemHandle] (name: Out<Passed>, pointer: u64) {
        context::current()?;
        Ok(name.required()?.set(memory::name(pointer)?.pass())?)
    }

    cuIpcOpenMemHandle [4010 => cuIpcOpenMemHandle, 11000 => cuIpcOpenMemHandle_v2]
    (pointer: Out<u64>, name: Passed, flags: u32) {
        context::current()?;
        Ok(pointer.required()?.set(memory::open(&Name::passed(&name), flags)?)?)
    }

    cuIpcCloseMemHandle [4010 => cuIpcCloseMemHandle] (pointer: u64) {
        memory::close(pointer)
    }

    cuIpcGetEventHandle [4010 => cuIpcGetEventHandle] (name: Out<Passed>, event: usize) {
        context::current()?;
        name.required()?;
        // As an H200 answers (driver 580.159.04).
        if event == 0 {
            return Err(Error::InvalidValue);
        }
        Ok(name.set(event::get(event)?.name()?.pass())?)
    }

    cuIpcOpenEventHandle [4010 => cuIpcOpenEventHandle] (event: Out<usize>, name: Passed) {
        let context = context::current()?;
        event.required()?;
        Ok(event.set(EVENTS.give(Arc::new(Event::open(&context, &Name::passed(&name))?)))?)
    }
}
