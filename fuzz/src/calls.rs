//! Sequences of calls of a C API, chosen by bytes: which function, which of the handles that were made before (also
//! ended ones, null and numbers that are none), which sizes and flags.
//!
//! A table names the functions and the kinds of their arguments. Pointers are always to memory that is large enough for
//! what the other arguments say: a caller who breaks that has no driver to blame.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bytes::Bytes;

/// A function as every one can be called: up to 15 integers or pointers.
#[rustfmt::skip]
type Function = unsafe extern "C" fn(
    u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
) -> u64;

/// Calls that were made in this process.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Calls that the targets `cuda` and `opencl_calls` have made in this process.
pub fn steps() -> u64 {
    STEPS.load(Ordering::Relaxed)
}

/// Words of the memory that pointers lead to.
const WORDS: usize = 1 << 18;
/// Words of it that a pointer has behind it at least.
const BEHIND: usize = 1 << 17;

/// Memory of the program that calls. It is never freed: what a driver does later may still use it.
fn memory() -> *mut u64 {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    let make = || Vec::leak(vec![0u64; WORDS]).as_mut_ptr().expose_provenance();
    std::ptr::with_exposed_provenance_mut(*MEMORY.get_or_init(make))
}

/// A function of a table.
pub struct Call {
    /// Its name.
    pub name: &'static str,
    address: usize,
    /// Kinds of its arguments.
    kinds: Vec<&'static str>,
    /// The kind of what it returns, where that is a handle.
    returns: Option<&'static str>,
}

impl Call {
    /// Whether it waits for what was asked for before, by a flag of its own.
    pub fn waits(&self) -> bool {
        self.kinds.get(2) == Some(&"1") && self.name.contains("Enqueue")
    }
}

/// The functions of a table: a line each, `NAME KIND… [= KIND]`; `address` finds them.
pub fn table(text: &'static str, address: impl Fn(&str) -> usize) -> Vec<Call> {
    let call = |line: &'static str| {
        let (call, returns) =
            line.split_once('=').map_or((line, None), |(call, made)| (call, Some(made.trim())));
        let mut words = call.split_whitespace();
        let name = words.next()?;
        Some(Call { name, address: address(name), kinds: words.collect(), returns })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(call).collect()
}

/// The function of that name.
///
/// # Panics
/// When the table has none.
pub fn find<'t>(table: &'t [Call], name: &str) -> &'t Call {
    table.iter().find(|call| call.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Most calls of an input.
const MOST_CALLS: usize = 200;

/// What a sequence of calls has made so far.
pub struct Caller<'a> {
    /// Choices.
    pub bytes: Bytes<'a>,
    handles: HashMap<&'static str, Vec<u64>>,
    /// Where the next pointer leads.
    at: usize,
    /// Only handles of the kind that is asked for: a call that ends something must not end what stays.
    strict: bool,
}

impl<'a> Caller<'a> {
    /// A caller with nothing.
    pub fn new(data: &'a [u8]) -> Caller<'a> {
        Caller { bytes: Bytes(data), handles: HashMap::new(), at: 0, strict: false }
    }

    /// Adds a handle.
    pub fn made(&mut self, kind: &'static str, handle: u64) {
        self.handles.entry(kind).or_default().push(handle);
    }

    /// The handles of a kind, ended ones too.
    pub fn all(&self, kind: &str) -> Vec<u64> {
        self.handles.get(kind).cloned().unwrap_or_default()
    }

    /// A handle of a kind; now and then none, or one of another kind.
    fn handle(&mut self, kind: &str) -> u64 {
        let choice = self.bytes.byte();
        match choice {
            0 => return 0,
            1 => return 0x1234,
            2 if !self.strict => {
                let mut all: Vec<u64> = self.handles.values().flatten().copied().collect();
                all.sort_unstable();
                return if all.is_empty() { 1 } else { *self.bytes.pick(&all) };
            }
            _ => {}
        }
        match self.handles.get(kind) {
            // New ones are likelier than old ones.
            Some(all) if choice & 1 == 0 => all[all.len() - 1],
            Some(all) => all[usize::from(choice >> 1) % all.len()],
            None => 0,
        }
    }

    /// Memory for an argument, filled with `words`.
    pub fn place(&mut self, words: &[u64]) -> u64 {
        let room = words.len().max(16);
        if self.at + room > WORDS - BEHIND {
            self.at = 0;
        }
        // SAFETY: in the memory, of which BEHIND words lie behind every place; the calls that read and write it take
        // it as raw bytes.
        let to = unsafe { memory().add(self.at) };
        for (n, word) in words.iter().enumerate() {
            // SAFETY: as above.
            unsafe { to.add(n).write_volatile(*word) };
        }
        self.at += room;
        to.expose_provenance() as u64
    }

    /// The word at a place.
    fn read(place: u64) -> u64 {
        // SAFETY: `place` is from `place`.
        unsafe { std::ptr::with_exposed_provenance::<u64>(place as usize).read_volatile() }
    }

    /// A number of a kind: small mostly.
    fn number(&mut self) -> u64 {
        match self.bytes.byte() {
            0 => u64::MAX,
            1 => 1 << 40,
            2 => u64::from(u32::MAX),
            3 => 0x8000_0000,
            4 => self.bytes.word(),
            n => u64::from(n) - 5,
        }
    }

    fn argument(&mut self, kind: &'static str, out: &mut Vec<(&'static str, u64)>) -> u64 {
        if let Some(made) = kind.strip_prefix('>') {
            let place = self.place(&[0; 32]);
            out.push((made, place));
            return place;
        }
        if let Some(listed) = kind.strip_prefix('*') {
            // A list of handles.
            let list: Vec<u64> = (0..4).map(|_| self.handle(listed)).collect();
            return self.place(&list);
        }
        if let Ok(number) = kind.parse::<u64>() {
            return number;
        }
        match kind {
            "out" => self.place(&[0; 512]),
            "host" => self.place(&[0x0101_0101_0101_0101; 64]),
            "null" => 0,
            // Bytes of the caller's memory, offsets and counts that a place has room for.
            "bytes" => *self.bytes.pick(&[0, 1, 4, 16, 64, 100, 256, 1000, 4096]),
            "few" => u64::from(self.bytes.byte() % 5),
            "flag" => u64::from(self.bytes.byte() & 1),
            "extent" => self.extent(),
            "size" => match self.bytes.byte() {
                n @ 0..240 => u64::from(n) * 17,
                240 => 1 << 45,
                241 => u64::MAX,
                242 => 1 << 20,
                n => u64::from(n),
            },
            "number" => self.number(),
            "extents" => {
                let all: Vec<u64> = (0..3).map(|_| self.extent().min(33)).collect();
                self.place(&all)
            }
            "numbers" => {
                let all: Vec<u64> = (0..12).map(|_| self.number()).collect();
                self.place(&all)
            }
            "parameters" => {
                // A list of pointers to arguments.
                let values: Vec<u64> = (0..4).map(|_| self.handle("memory")).collect();
                let values: Vec<u64> =
                    values.into_iter().map(|value| self.place(&[value])).collect();
                self.place(&values)
            }
            "argument" => {
                // What an argument of an OpenCL kernel is set to.
                let value =
                    if self.bytes.byte() & 1 == 0 { self.handle("memory") } else { self.number() };
                self.place(&[value])
            }
            // What the driver follows without asking whose it is.
            "image" | "name" | "callback" | "device" => {
                let all = self.all(kind);
                *self.bytes.pick(&all)
            }
            "descriptor" => {
                let [width, height] = [self.extent(), self.extent()];
                let format = [0x20, 0x01, 0x0a, 0x77][self.bytes.below(4)];
                let channels = [4, 1, 2, 3][self.bytes.below(4)];
                self.place(&[width, height, format | channels << 32])
            }
            "descriptor3" => {
                let [width, height, depth] = [self.extent(), self.extent(), self.extent()];
                let format = 0x20 | [4u64, 1, 2, 3][self.bytes.below(4)] << 32;
                let flags = u64::from(self.bytes.byte() & 7);
                self.place(&[width, height, depth, format, flags])
            }
            "resource" => {
                let array = self.handle("array");
                let kind = self.bytes.below(4) as u64;
                self.place(&[kind, array, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            "image_format" => {
                let order = [0x10b5u64, 0x10b0, 0x10b2][self.bytes.below(3)];
                let ty = [0x10d2u64, 0x10de, 0x10d7][self.bytes.below(3)];
                self.place(&[order | ty << 32])
            }
            "sources" => {
                let text = *self.bytes.pick(&self.all("image"));
                self.place(&[text])
            }
            "zeros" => self.place(&[0; 24]),
            // A device's own memory.
            "properties" => self.place(&[1, 1, 0, 0]),
            "kernel_node" => {
                let function = self.handle("function");
                let block = self.extent();
                let mut none = Vec::new();
                let parameters = self.argument("parameters", &mut none);
                self.place(&[function, 1 << 32 | 2, block << 32 | 1, 1 << 32 | 1, 0, parameters, 0])
            }
            "fill_node" => {
                let at = self.handle("memory");
                let element = [1, 2, 4, 3][self.bytes.below(4)];
                let [width, height] = [self.extent(), self.extent()];
                self.place(&[at, 64, element << 32 | 7, width, height])
            }
            "host_node" => {
                let function = *self.bytes.pick(&self.all("callback"));
                self.place(&[function, 0])
            }
            kind => self.handle(kind),
        }
    }

    fn extent(&mut self) -> u64 {
        *self.bytes.pick(&[1, 1, 2, 4, 8, 16, 33, 64, 0])
    }

    /// Makes the calls that the bytes choose, until there are no more bytes; `before` is called before each.
    pub fn calls(&mut self, table: &[Call], mut before: impl FnMut(&mut Self, &Call)) {
        for _ in 0..MOST_CALLS {
            if self.bytes.0.is_empty() {
                break;
            }
            let call = &table[self.bytes.below(table.len())];
            before(self, call);
            self.call(call);
        }
    }

    fn call(&mut self, call: &Call) {
        let mut made = Vec::new();
        self.strict = call.name.contains("Release") || call.name.contains("Retain");
        let all: Vec<u64> = call.kinds.iter().map(|kind| self.argument(kind, &mut made)).collect();
        self.exactly(call, &all, &made);
    }

    /// Makes a call with these arguments, 15 at most; of `made`, what the driver put there is a handle.
    pub fn exactly(&mut self, call: &Call, arguments: &[u64], made: &[(&'static str, u64)]) -> u64 {
        STEPS.fetch_add(1, Ordering::Relaxed);
        let mut all = [0; 15];
        all[..arguments.len()].copy_from_slice(arguments);
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = all;
        // SAFETY: the address of a function of the API; pointers lead to memory that has room.
        let result = unsafe {
            let address = std::ptr::with_exposed_provenance::<()>(call.address);
            let function: Function = std::mem::transmute(address);
            function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
        };
        for (kind, place) in made {
            match Self::read(*place) {
                0 => {}
                handle => self.made(kind, handle),
            }
        }
        if let Some(kind) = call.returns
            && result != 0
        {
            self.made(kind, result);
        }
        result
    }
}
