//! Handles and their reference counts.
//!
//! A handle is the address of a header whose only word is the address of the dispatch table, which is all that the
//! loader reads. Handles that programs pass are looked up in a table, so a wrong one is an error code and never an
//! access. An object lives as long as the program or another object holds it, and its handle is good that long.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use crate::cl::{Error, Result};

/// A kind of object with handles.
pub trait Object: Sized + Send + Sync + 'static {
    /// The code for a handle that is none of this kind.
    const INVALID: Error;
    /// All of them.
    fn registry() -> &'static Registry<Self>;
    /// This one's handle.
    fn handle(&self) -> &Handle<Self>;
    /// The program has its first reference now, or no reference any more.
    fn held(&self, _: bool) {}
}

thread_local! {
    static RUNNING: Cell<&'static str> = const { Cell::new("") };
}

/// The function of the API that the thread is in now, empty for none; the one before.
pub fn runs(function: &'static str) -> &'static str {
    RUNNING.replace(function)
}

/// What a handle points to.
#[repr(transparent)]
struct Header {
    /// The address of the dispatch table. Read by loaders only.
    _table: usize,
}

/// Address of the dispatch table; 0 until a loader has asked for the platform.
static TABLE: AtomicUsize = AtomicUsize::new(0);

/// Sets what the handles of objects lead to. The table knows the functions and these know the objects, so it is brought
/// here rather than named.
pub fn set_table(address: usize) {
    TABLE.store(address, Ordering::Release);
}

/// All objects of a kind.
pub struct Registry<T>(RwLock<BTreeMap<usize, Entry<T>>>);

struct Entry<T> {
    object: Weak<T>,
    /// Held while the program has references.
    kept: Option<Arc<T>>,
    users: u32,
    /// The function that gave it to the program.
    maker: &'static str,
}

/// The handle of an object, if the program was given one.
pub struct Handle<T: Object>(OnceLock<Box<Header>>, std::marker::PhantomData<fn() -> T>);

impl<T: Object> Default for Handle<T> {
    fn default() -> Self {
        Handle(OnceLock::new(), std::marker::PhantomData)
    }
}

impl<T: Object> Handle<T> {
    /// The handle as a number; 0 if there is none.
    pub fn get(&self) -> usize {
        self.0.get().map_or(0, |header| std::ptr::from_ref::<Header>(header).expose_provenance())
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.0.get().is_some() {
            let gone = T::registry().write().remove(&self.get());
            drop(gone);
        }
    }
}

impl<T: Object> Registry<T> {
    /// An empty one.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Registry(RwLock::new(BTreeMap::new()))
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<usize, Entry<T>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<usize, Entry<T>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the program a new object, with one reference.
pub fn publish<T: Object>(object: Arc<T>) -> usize {
    let own = object.handle();
    own.0.get_or_init(|| Box::new(Header { _table: TABLE.load(Ordering::Acquire) }));
    let handle = own.get();
    object.held(true);
    let entry = Entry {
        object: Arc::downgrade(&object),
        kept: Some(object),
        users: 1,
        maker: RUNNING.get(),
    };
    T::registry().write().insert(handle, entry);
    handle
}

/// The functions that made those objects to which the program has references, an entry for each.
pub fn makers<T: Object>() -> Vec<&'static str> {
    T::registry().read().values().filter(|e| e.users > 0).map(|e| e.maker).collect()
}

/// Objects of a kind that live.
pub fn all<T: Object>() -> Vec<Arc<T>> {
    T::registry().read().values().filter_map(|e| e.object.upgrade()).collect()
}

/// The object of a handle.
pub fn get<T: Object>(handle: usize) -> Result<Arc<T>> {
    let all = T::registry().read();
    all.get(&handle).and_then(|e| e.object.upgrade()).ok_or(T::INVALID)
}

/// One reference more.
pub fn retain<T: Object>(handle: usize) -> Result {
    let mut all = T::registry().write();
    let entry = all.get_mut(&handle).ok_or(T::INVALID)?;
    if entry.kept.is_none() {
        let object = entry.object.upgrade().ok_or(T::INVALID)?;
        object.held(true);
        entry.kept = Some(object);
    }
    entry.users += 1;
    Ok(())
}

/// One reference less.
pub fn release<T: Object>(handle: usize) -> Result {
    let mut all = T::registry().write();
    let entry = all.get_mut(&handle).filter(|e| e.users > 0).ok_or(T::INVALID)?;
    entry.users -= 1;
    let last = if entry.users == 0 { entry.kept.take() } else { None };
    // The object may go now, which takes the table again.
    drop(all);
    if let Some(last) = last {
        last.held(false);
    }
    Ok(())
}

/// References that the program has.
pub fn users<T: Object>(object: &T) -> u32 {
    T::registry().read().get(&object.handle().get()).map_or(0, |e| e.users)
}

/// Declares the registry of a kind.
#[macro_export]
macro_rules! object {
    ($ty:ty, $invalid:ident $(, $held:expr)?) => {
        impl $crate::registry::Object for $ty {
            const INVALID: $crate::cl::Error = $crate::cl::Error::$invalid;
            fn registry() -> &'static $crate::registry::Registry<Self> {
                static ALL: $crate::registry::Registry<$ty> = $crate::registry::Registry::new();
                &ALL
            }
            fn handle(&self) -> &$crate::registry::Handle<Self> {
                &self.handle
            }
            $(fn held(&self, held: bool) {
                $held(self, held);
            })?
        }
    };
}
