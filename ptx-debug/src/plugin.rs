//! Plugins: observers in shared libraries, by a C interface that stays as it is
//! (`include/ptxrun_observer.h`).
//!
//! A library exports `ptxrun_observer`, which returns a table of functions. Callbacks are called on
//! one thread, in the order of execution; what they are given is valid until they return.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use libloading::Library;
use ptx_interp::observer::{Action, EventSet, MemoryAccess, Observer, WarpEvent};
use ptx_interp::{LaunchError, LaunchParams, Memory, Moment, Stats, launch_observed};
use ptx_isa::Space;

use crate::code::CodeMap;
use crate::error::Error;
use crate::session::LaneId;

/// The version of the interface. Libraries of version 1 are taken as well.
pub const VERSION: u32 = 2;

/// Bit of [`Table::wants`]: instructions.
pub const INSTRUCTIONS: u32 = 1;
/// Bit of [`Table::wants`]: accesses to memory.
pub const ACCESSES: u32 = 2;
/// Bit of [`Table::wants`]: how often each instruction was issued, told once in the end.
pub const COUNTS: u32 = 4;

/// What a library exports, as `ptxrun_observer_table` of the header.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct Table {
    /// [`VERSION`].
    pub version: u32,
    /// What it wants to be told.
    pub wants: u32,
    /// A launch begins; what it returns goes to the other functions.
    pub start: Option<unsafe extern "C" fn(launch: *const LaunchInfo) -> *mut c_void>,
    /// Whether it wants to be told of an instruction at all; asked once for each, 0 is no.
    pub filter:
        Option<unsafe extern "C" fn(state: *mut c_void, what: *const InstructionInfo) -> i32>,
    /// A warp issues an instruction.
    pub instruction: Option<unsafe extern "C" fn(state: *mut c_void, warp: *const WarpInfo)>,
    /// A warp accesses memory.
    pub access: Option<unsafe extern "C" fn(state: *mut c_void, access: *const AccessInfo)>,
    /// The launch has ended. The state is the library's to free.
    pub end: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// How often each instruction was issued; before `end`. Libraries of version 1 do not have it.
    pub counts: Option<unsafe extern "C" fn(state: *mut c_void, counts: *const CountsInfo)>,
}

/// The table of version 1.
#[repr(C)]
#[derive(Copy, Clone)]
struct Table1 {
    version: u32,
    wants: u32,
    start: Option<unsafe extern "C" fn(launch: *const LaunchInfo) -> *mut c_void>,
    filter: Option<unsafe extern "C" fn(state: *mut c_void, what: *const InstructionInfo) -> i32>,
    instruction: Option<unsafe extern "C" fn(state: *mut c_void, warp: *const WarpInfo)>,
    access: Option<unsafe extern "C" fn(state: *mut c_void, access: *const AccessInfo)>,
    end: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

impl From<Table1> for Table {
    fn from(t: Table1) -> Table {
        let Table1 { version, wants, start, filter, instruction, access, end } = t;
        Table { version, wants, start, filter, instruction, access, end, counts: None }
    }
}

/// How often instructions were issued, as `ptxrun_counts` of the header.
#[repr(C)]
pub struct CountsInfo {
    /// Instructions: as many as the launch said, by their number.
    pub instructions: *const InstructionInfo,
    /// How often warps issued each; 0 where the filter says no.
    pub issues: *const u64,
    /// How many there are.
    pub count: u32,
    /// Instructions of warps, and of threads, in the whole launch; 0 if it did not end.
    pub warp_instructions: u64,
    /// The same times the lanes that stood together.
    pub thread_instructions: u64,
}

/// A launch, as `ptxrun_launch` of the header.
#[repr(C)]
pub struct LaunchInfo {
    /// The kernel's name.
    pub kernel: *const c_char,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Instructions of the kernel and its functions: they have numbers below this one.
    pub instructions: u32,
}

/// An instruction of the text, as `ptxrun_instruction` of the header.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct InstructionInfo {
    /// Its number.
    pub number: u32,
    /// Line in the PTX text.
    pub line: u32,
    /// Line of the source, 0 if unknown.
    pub source_line: u32,
    /// Its opcode.
    pub opcode: *const c_char,
    /// Its text.
    pub text: *const c_char,
    /// The function's name.
    pub function: *const c_char,
}

/// An instruction that a warp issues, as `ptxrun_warp` of the header.
#[repr(C)]
pub struct WarpInfo {
    /// What [`InstructionInfo`] said of it.
    pub instruction: *const InstructionInfo,
    /// Block.
    pub block: [u32; 3],
    /// Warp of the block.
    pub warp: u32,
    /// Lanes that stand together.
    pub lanes: u32,
    /// Those whose guard holds.
    pub active: u32,
    /// Reads the 32 lanes of a register by its name; 0 if there is none of that name.
    pub read_register: unsafe extern "C" fn(*const WarpInfo, *const c_char, *mut u64) -> i32,
    /// For `read_register`.
    context: *const c_void,
}

/// An access, as `ptxrun_access` of the header.
#[repr(C)]
pub struct AccessInfo {
    /// The instruction.
    pub instruction: *const InstructionInfo,
    /// Block.
    pub block: [u32; 3],
    /// Warp of the block.
    pub warp: u32,
    /// Lanes that access.
    pub lanes: u32,
    /// 0 generic, 1 global, 2 shared, 3 local, 4 constant, 5 parameters, 6 others.
    pub space: u32,
    /// 1 reads, 2 writes, 3 both.
    pub action: u32,
    /// Bytes of a lane.
    pub bytes: u32,
    /// Address of each lane; lanes that do not access hold anything.
    pub addresses: *const u64,
}

/// A library that observes launches.
pub struct Plugin {
    table: Table,
    /// The functions of the table are in it.
    _library: Library,
}

type Entry = unsafe extern "C" fn(version: u32) -> *const Table;

impl Plugin {
    /// Loads a library.
    ///
    /// # Errors
    /// When it cannot be loaded, or speaks another version.
    ///
    /// # Safety
    /// The library's code runs in this process: the caller vouches that it keeps to the header.
    pub unsafe fn load(path: &Path) -> Result<Plugin, Error> {
        let wrong = |e: String| Error::Refused(format!("{}: {e}", path.display()));
        // SAFETY: the caller vouches for the library's code.
        let library = unsafe { Library::new(path) }.map_err(|e| wrong(e.to_string()))?;
        // SAFETY: the header gives the function this type.
        let entry = unsafe { library.get::<Entry>(b"ptxrun_observer\0") }
            .map_err(|_| wrong("it does not export `ptxrun_observer`".into()))?;
        // SAFETY: as the header says, it takes a version and returns a table of that version, or null. One that returns
        // an older table all the same says so in its first field.
        let first = [VERSION, 1].into_iter().find_map(|asked| unsafe {
            entry(asked)
                .cast::<Table1>()
                .as_ref()
                .map(|table| (table.version, std::ptr::from_ref(table)))
        });
        let (version, first) = first.ok_or_else(|| {
            wrong(format!("it knows neither version {VERSION} of the interface nor version 1"))
        })?;
        // SAFETY: the table is that of the version that it names; tables of version 1 are shorter.
        let table: Table = unsafe {
            match version {
                1 => (*first).into(),
                VERSION => *first.cast::<Table>(),
                other => return Err(wrong(format!("it has version {other}, not {VERSION} or 1"))),
            }
        };
        Ok(Plugin { table, _library: library })
    }
}

/// Texts of an instruction, which its [`InstructionInfo`] points to.
struct Texts {
    opcode: CString,
    text: CString,
    function: CString,
}

struct Watcher<'p> {
    table: &'p Table,
    state: *mut c_void,
    code: &'p CodeMap,
    /// By position in the decoded stream.
    infos: &'p [InstructionInfo],
    wanted: &'p [bool],
    /// Issues of each; nothing if nobody wants to know.
    issues: Vec<u64>,
    accesses: bool,
}

// SAFETY: the launch runs on one host thread; the state and the infos are used there only.
unsafe impl Send for Watcher<'_> {}

/// What `read_register` needs.
struct Context<'c> {
    code: &'c CodeMap,
    moment: &'c Moment<'c>,
}

unsafe extern "C" fn read_register(
    warp: *const WarpInfo,
    name: *const c_char,
    to: *mut u64,
) -> i32 {
    if warp.is_null() || name.is_null() || to.is_null() {
        return 0;
    }
    // SAFETY: the plugin passes on what its callback was given; the context lives until it returns.
    let context = unsafe { &*(*warp).context.cast::<Context<'_>>() };
    // SAFETY: the header wants a string that ends with a zero.
    let Ok(name) = unsafe { CStr::from_ptr(name) }.to_str() else { return 0 };
    let moment = context.moment;
    let Some(r) = context.code.register(moment.function(), name) else { return 0 };
    let Some(row) = moment.register(r.kind, r.number) else { return 0 };
    // SAFETY: the header wants room for 32 values.
    unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), to, 32) };
    1
}

impl Observer for Watcher<'_> {
    const EVENTS: EventSet = EventSet::ISSUE.and(EventSet::ACCESS);

    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        if let Some(count) = self.issues.get_mut(pc as usize) {
            *count += 1;
        }
        self.wanted[pc as usize]
    }

    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        self.accesses
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        let info = &self.infos[moment.pc() as usize];
        match event {
            WarpEvent::Issue { active } => {
                if let Some(call) = self.table.instruction {
                    let context = Context { code: self.code, moment };
                    let warp = WarpInfo {
                        instruction: info,
                        block: moment.block(),
                        warp: moment.warp(),
                        lanes: moment.lanes(),
                        active,
                        read_register,
                        context: (&raw const context).cast(),
                    };
                    // SAFETY: the table is the library's; what it is given lives until it returns.
                    unsafe { call(self.state, &warp) };
                }
            }
            WarpEvent::Access(a) => {
                if let (true, Some(call)) = (self.accesses, self.table.access) {
                    let access = described(info, moment, a);
                    // SAFETY: as above.
                    unsafe { call(self.state, &access) };
                }
            }
            WarpEvent::BarrierArrive { .. }
            | WarpEvent::BarrierComplete { .. }
            | WarpEvent::Fence(_)
            | WarpEvent::WarpSync { .. }
            | WarpEvent::Mbarrier(_)
            | WarpEvent::AsyncGroup(_)
            | WarpEvent::Malloc { .. }
            | WarpEvent::Free { .. }
            | WarpEvent::Print { .. }
            | WarpEvent::Exit { .. } => {}
        }
        ControlFlow::Continue(())
    }
}

fn described(info: &InstructionInfo, moment: &Moment<'_>, a: &MemoryAccess<'_>) -> AccessInfo {
    AccessInfo {
        instruction: info,
        block: LaneId::executing(moment).block,
        warp: moment.warp(),
        lanes: a.lanes,
        space: match a.space {
            Space::Generic => 0,
            Space::Global => 1,
            Space::Shared | Space::SharedCluster => 2,
            Space::Local | Space::ParamFunc => 3,
            Space::Const => 4,
            Space::ParamEntry => 5,
            Space::Reg | Space::Sreg | Space::Tex => 6,
        },
        action: match a.action {
            Action::Read => 1,
            Action::Write => 2,
            Action::Update => 3,
        },
        bytes: a.bytes,
        addresses: a.addresses.as_ptr(),
    }
}

/// Text for C; zero bytes in it are left out.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Runs a launch on one host thread while a plugin observes it.
pub fn observe(
    plugin: &Plugin,
    code: &CodeMap,
    memory: &Memory,
    params: &LaunchParams,
) -> Result<Stats, LaunchError> {
    let params = LaunchParams { threads: 1, ..params.clone() };
    let count = code.kernel.decoded_len() as u32;
    let origin = |pc| code.kernel.origin(pc).unwrap_or((0, 0));
    let texts: Vec<Texts> = (0..count)
        .map(|pc| {
            let at = origin(pc);
            let (opcode, text) = (c_text(&code.opcode(at)), c_text(&code.text(at)));
            Texts { opcode, text, function: c_text(code.function_name(at.0)) }
        })
        .collect();
    let mut starts = Vec::new();
    let mut all = 0;
    for f in 0..code.functions() {
        starts.push(all);
        all += code.insts(f) + 1;
    }
    let infos: Vec<InstructionInfo> = (0..count)
        .map(|pc| {
            let at = origin(pc);
            let t = &texts[pc as usize];
            InstructionInfo {
                number: starts[at.0 as usize] + at.1,
                line: code.ptx_line(at),
                source_line: code.source_line(at).map_or(0, |(_, line)| line),
                opcode: t.opcode.as_ptr(),
                text: t.text.as_ptr(),
                function: t.function.as_ptr(),
            }
        })
        .collect();
    let kernel = c_text(code.kernel.name());
    let launch = LaunchInfo {
        kernel: kernel.as_ptr(),
        grid: params.grid,
        block: params.block,
        instructions: all,
    };
    let table = &plugin.table;
    // SAFETY: the table is the library's; the launch lives until the call returns.
    let state = table.start.map_or(std::ptr::null_mut(), |start| unsafe { start(&launch) });
    let instructions = table.wants & INSTRUCTIONS != 0 && table.instruction.is_some();
    let counts = table.counts.filter(|_| table.wants & COUNTS != 0);
    let chosen: Vec<bool> = infos
        .iter()
        .map(|info| {
            // SAFETY: as above.
            (instructions || counts.is_some())
                && table.filter.is_none_or(|filter| unsafe { filter(state, info) } != 0)
        })
        .collect();
    let wanted: Vec<bool> = chosen.iter().map(|c| *c && instructions).collect();
    let issues = if counts.is_some() { vec![0; infos.len()] } else { Vec::new() };
    let accesses = table.wants & ACCESSES != 0 && table.access.is_some();
    let watcher = Watcher { table, state, code, infos: &infos, wanted: &wanted, issues, accesses };
    let slot = Mutex::new(Some(watcher));
    let take = || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take().expect("a launch on one host thread makes one observer")
    };
    let (result, watchers) = launch_observed(&code.kernel, memory, &params, &take);
    if let (Some(counts), Some(watcher)) = (counts, watchers.first()) {
        let mut issues = vec![0; all as usize];
        let mut described: Vec<Option<&InstructionInfo>> = vec![None; all as usize];
        for (n, info) in infos.iter().enumerate() {
            let number = info.number as usize;
            described[number].get_or_insert(info);
            issues[number] += if chosen[n] { watcher.issues[n] } else { 0 };
        }
        let texts = Texts { opcode: c_text(""), text: c_text(""), function: c_text("") };
        let none = |number: usize| InstructionInfo {
            number: number as u32,
            line: 0,
            source_line: 0,
            opcode: texts.opcode.as_ptr(),
            text: texts.text.as_ptr(),
            function: texts.function.as_ptr(),
        };
        let table: Vec<InstructionInfo> = described
            .iter()
            .enumerate()
            .map(|(n, d)| d.copied().unwrap_or_else(|| none(n)))
            .collect();
        let stats = result.as_ref().ok();
        let told = CountsInfo {
            instructions: table.as_ptr(),
            issues: issues.as_ptr(),
            count: all,
            warp_instructions: stats.map_or(0, |s| s.warp_instructions),
            thread_instructions: stats.map_or(0, |s| s.thread_instructions),
        };
        // SAFETY: the table is the library's; what it is given lives until the call returns.
        unsafe { counts(state, &told) };
    }
    if let Some(end) = table.end {
        // SAFETY: the state is what `start` returned, and nobody else uses it.
        unsafe { end(state) };
    }
    result
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// The numbers of `ptxrun/tests/plugins/layout.c`, which a test of the command compiles with the header.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn fields_lie_where_the_header_has_them() {
        macro_rules! at {
            ($ty:ident: $($field:ident $place:literal),*) => {
                $(assert_eq!(offset_of!($ty, $field), $place, concat!(stringify!($ty), ".", stringify!($field)));)*
            };
        }
        at!(LaunchInfo: kernel 0, grid 8, block 20, instructions 32);
        at!(InstructionInfo: number 0, line 4, source_line 8, opcode 16, text 24, function 32);
        assert_eq!(size_of::<InstructionInfo>(), 40);
        at!(WarpInfo: instruction 0, block 8, warp 20, lanes 24, active 28, read_register 32, context 40);
        at!(AccessInfo: instruction 0, block 8, warp 20, lanes 24, space 28, action 32, bytes 36, addresses 40);
        at!(Table1: version 0, wants 4, start 8, filter 16, instruction 24, access 32, end 40);
        assert_eq!(size_of::<Table1>(), 48);
        at!(CountsInfo: instructions 0, issues 8, count 16, warp_instructions 24, thread_instructions 32);
        at!(Table: version 0, wants 4, start 8, filter 16, instruction 24, access 32, end 40, counts 48);
        assert_eq!(size_of::<Table>(), 56);
    }
}
