//! Parts of a module that are there, or that are read from a container on first use.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use crate::container::error::Error;

type Read<T> = Arc<dyn Fn() -> Result<T, Error> + Send + Sync>;
type Made<T> = (T, Option<Error>);

/// A part of a module. Use it as a `&T`; what a container holds is read then, once.
///
/// A part that cannot be read is empty and has [`Lazy::damage`]. [`lower`](crate::lower::lower) asks for that, so
/// that no kernel runs without it.
#[derive(Clone)]
pub struct Lazy<T> {
    made: Arc<OnceLock<Made<T>>>,
    read: Option<Read<T>>,
}

impl<T: Default> Lazy<T> {
    /// A part that is read on first use.
    pub(crate) fn late(read: Read<T>) -> Lazy<T> {
        Lazy { made: Arc::default(), read: Some(read) }
    }

    fn made(&self) -> &Made<T> {
        self.made.get_or_init(|| match self.read.as_ref().map(|read| read()) {
            Some(Ok(value)) => (value, None),
            Some(Err(error)) => (T::default(), Some(error)),
            None => (T::default(), None),
        })
    }

    /// Why the part cannot be read, if so.
    pub fn damage(&self) -> Option<&Error> {
        self.made().1.as_ref()
    }
}

impl<T: Default> From<T> for Lazy<T> {
    fn from(value: T) -> Lazy<T> {
        Lazy { made: Arc::new(OnceLock::from((value, None))), read: None }
    }
}

impl<T: Default> Default for Lazy<T> {
    fn default() -> Lazy<T> {
        Lazy::from(T::default())
    }
}

impl<T: Default> Deref for Lazy<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.made().0
    }
}

impl<T: Default + Clone> DerefMut for Lazy<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.made();
        let cell = Arc::make_mut(&mut self.made);
        &mut cell.get_mut().expect("made before").0
    }
}

impl<T: Default + fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
