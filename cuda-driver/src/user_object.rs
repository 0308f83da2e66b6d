//! User objects: something of the program that lives as long as a graph holds it.

use std::sync::{Arc, Mutex, PoisonError};

use c_border::Raw;
use c_border::callback::{self, HostFn};

use crate::error::{Error, Result};
use crate::handles::Handles;

/// All user objects.
pub static OBJECTS: Handles<UserObject> = Handles::new(16);

/// Something of the program that lives as long as anybody holds it.
pub struct UserObject {
    handle: usize,
    count: Mutex<usize>,
    destroy: HostFn,
    data: Raw,
}

impl UserObject {
    /// An object that is held `count` times.
    pub fn create(destroy: HostFn, data: Raw, count: usize) -> usize {
        let handle = OBJECTS.reserve();
        let count = Mutex::new(count);
        OBJECTS.bind(handle, Arc::new(UserObject { handle, count, destroy, data }));
        handle
    }

    /// Holds it `n` times more.
    pub fn retain(&self, n: usize) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += n;
    }

    /// Lets it go `n` times; the last one calls the program's function.
    pub fn release(&self, n: usize) -> Result {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.checked_sub(n).ok_or(Error::InvalidValue)?;
        let last = *count == 0;
        drop(count);
        if last && OBJECTS.remove(self.handle).is_some() {
            callback::call_host(self.destroy, self.data);
        }
        Ok(())
    }
}

/// What a graph holds of a user object; letting go of it is dropping it.
pub struct Held {
    /// The object.
    pub object: Arc<UserObject>,
    /// How often.
    pub count: usize,
}

impl Held {
    /// Takes over `count` of the holds that there are.
    pub fn moved(object: Arc<UserObject>, count: usize) -> Held {
        Held { object, count }
    }
}

impl Clone for Held {
    fn clone(&self) -> Held {
        self.object.retain(self.count);
        Held { object: Arc::clone(&self.object), count: self.count }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // No more is let go than was taken.
        let _ = self.object.release(self.count);
    }
}
