//! The linker.

use std::sync::Arc;

use super::symbol::functions;
use crate::context;
use crate::error::{Error, Result};
use crate::image::MOST_READ;
use crate::link::{LINKS, Link, Options};
use c_border::{In, Out, Raw, Text};

fn get(handle: usize) -> Result<Arc<Link>> {
    crate::driver::get()?;
    LINKS.get(handle).ok_or(Error::InvalidHandle)
}

functions! {
    cuLinkCreate [5050 => cuLinkCreate, 6050 => cuLinkCreate_v2]
    (count: u32, options: In<u32>, values: Out<usize>, state: Out<usize>) {
        context::current()?;
        state.required()?;
        let options = Options::read(count, options, values)?;
        Ok(state.set(LINKS.add(Arc::new(Link::new(options))))?)
    }

    cuLinkAddData [5050 => cuLinkAddData, 6050 => cuLinkAddData_v2]
    (state: usize, kind: u32, data: Raw, size: usize, name: Text, count: u32, options: In<u32>, values: Out<usize>) {
        let link = get(state)?;
        Options::read(count, options, values)?;
        let name = if name.is_null() { "input".to_owned() } else { name.get()? };
        let data = data.bytes(0, size)?;
        link.add(kind, &name, &data, crate::driver::get()?)
    }

    cuLinkAddFile [5050 => cuLinkAddFile, 6050 => cuLinkAddFile_v2]
    (state: usize, kind: u32, path: Text, count: u32, options: In<u32>, values: Out<usize>) {
        let link = get(state)?;
        Options::read(count, options, values)?;
        let path = path.get()?;
        let data = environment::files::read(path.as_ref(), MOST_READ)
            .map_err(|_| Error::FileNotFound)?;
        link.add(kind, &path, &data, crate::driver::get()?)
    }

    cuLinkComplete [5050 => cuLinkComplete] (state: usize, image: Out<usize>, size: Out<usize>) {
        let link = get(state)?;
        image.required()?;
        let (at, bytes) = link.complete(crate::driver::get()?)?;
        image.set(at)?;
        size.put(bytes);
        Ok(())
    }

    cuLinkDestroy [5050 => cuLinkDestroy] (state: usize) {
        crate::driver::get()?;
        LINKS.remove(state).map(|_| ()).ok_or(Error::InvalidHandle)
    }
}
