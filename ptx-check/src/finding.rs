//! What a checker has to say, as data.

use ptx_interp::report::{CodePlace, WarpPlace};
use serde::{Deserialize, Serialize};

/// A checker.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Accesses outside of what they may touch.
    Memory,
    /// Conflicting accesses that nothing orders.
    Race,
    /// Use of values that nobody wrote.
    Init,
    /// Barriers and member masks.
    Sync,
}

impl Check {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Check::Memory => "memory",
            Check::Race => "race",
            Check::Init => "init",
            Check::Sync => "sync",
        }
    }
}

/// What kind of mistake it is.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// An access outside of every allocation, or outside of its variable.
    OutOfBounds,
    /// An access to memory that was freed.
    UseAfterFree,
    /// An access near address zero.
    NullPointer,
    /// A write to memory that kernels may only read.
    ReadOnly,
    /// A read of memory that kernels may only write.
    WriteOnly,
    /// An access at a multiple of less than its size.
    Misaligned,
    /// `free` of something that is not allocated.
    BadFree,
    /// Memory that nobody freed.
    Leak,
    /// Two writes that nothing orders.
    WriteWrite,
    /// A write and a read that nothing orders.
    ReadWrite,
    /// Atomic accesses whose scopes leave one another out.
    Scope,
    /// An asynchronous copy that nobody waited for.
    AsyncCopy,
    /// Accesses by different proxies without a proxy fence.
    Proxy,
    /// Accesses of launches or copies of which no stream or event says which comes first.
    UnorderedLaunches,
    /// Two writes of the same value that nothing orders.
    EqualWrites,
    /// An address made of a value that nobody wrote.
    UninitializedAddress,
    /// A branch on a value that nobody wrote.
    UninitializedBranch,
    /// A value that nobody wrote, printed or read by the host.
    UninitializedOutput,
    /// A barrier that not all threads reach.
    BarrierNotReached,
    /// A barrier that threads reach at different instructions.
    DifferentBarriers,
    /// A barrier whose number of threads does not fit those that come.
    BarrierCount,
    /// A member mask that does not fit the lanes that are there.
    MemberMask,
    /// A wrong use of an mbarrier object.
    Mbarrier,
    /// Threads wait for one another for ever.
    Deadlock,
}

impl Class {
    /// Its name in reports, as JSON has it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::OutOfBounds => "out-of-bounds",
            Class::UseAfterFree => "use-after-free",
            Class::NullPointer => "null-pointer",
            Class::ReadOnly => "read-only",
            Class::WriteOnly => "write-only",
            Class::Misaligned => "misaligned",
            Class::BadFree => "bad-free",
            Class::Leak => "leak",
            Class::WriteWrite => "write-write",
            Class::ReadWrite => "read-write",
            Class::Scope => "scope",
            Class::AsyncCopy => "async-copy",
            Class::Proxy => "proxy",
            Class::UnorderedLaunches => "unordered-launches",
            Class::EqualWrites => "equal-writes",
            Class::UninitializedAddress => "uninitialized-address",
            Class::UninitializedBranch => "uninitialized-branch",
            Class::UninitializedOutput => "uninitialized-output",
            Class::BarrierNotReached => "barrier-not-reached",
            Class::DifferentBarriers => "different-barriers",
            Class::BarrierCount => "barrier-count",
            Class::MemberMask => "member-mask",
            Class::Mbarrier => "mbarrier",
            Class::Deadlock => "deadlock",
        }
    }
}

/// One of the accesses of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Site {
    /// What it does: `write`, `read`, `atomic`, ...
    pub what: String,
    /// The instruction.
    pub place: CodePlace,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
}

/// The memory that a finding is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Where {
    /// State space.
    pub space: String,
    /// Address there.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// The variable or allocation that it lies in or is next to.
    pub variable: Option<Variable>,
}

/// A variable or an allocation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

/// What a checker found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The checker.
    pub check: Check,
    /// The kind of mistake.
    pub class: Class,
    /// One sentence.
    pub message: String,
    /// Kernel; empty where none runs.
    pub kernel: String,
    /// The accesses, the later one first.
    pub sites: Vec<Site>,
    /// The memory.
    pub memory: Option<Where>,
    /// What is missing, or how it can be put right.
    pub missing: Option<String>,
    /// Warps that wait.
    pub waiting: Vec<WarpPlace>,
    /// How often it was seen.
    pub count: u64,
}

impl Finding {
    /// One that was seen once, without any place.
    pub fn new(check: Check, class: Class, kernel: &str, message: String) -> Finding {
        Finding {
            check,
            class,
            message,
            kernel: kernel.to_owned(),
            sites: Vec::new(),
            memory: None,
            missing: None,
            waiting: Vec::new(),
            count: 1,
        }
    }

    /// Whether the accesses are those of another one; which came first does not matter.
    fn same_lines(&self, other: &Finding) -> bool {
        let same = |a: &Site, b: &Site| same_line(&a.place, &b.place);
        match (&self.sites[..], &other.sites[..]) {
            ([a, b], [c, d]) => same(a, c) && same(b, d) || same(a, d) && same(b, c),
            (one, two) => one.iter().zip(two).all(|(a, b)| same(a, b)),
        }
    }

    /// Whether another one is the same mistake at the same places.
    fn same(&self, other: &Finding) -> bool {
        let name = |f: &Finding| {
            f.memory.as_ref().and_then(|m| m.variable.as_ref()).map(|v| v.name.clone())
        };
        (self.check, self.class, &self.kernel) == (other.check, other.class, &other.kernel)
            && self.sites.len() == other.sites.len()
            && self.same_lines(other)
            && (!self.sites.is_empty() || self.message == other.message)
            && name(self) == name(other)
    }
}

/// An object of the host's API that the program has not ended.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Left {
    /// What it is, as people say it.
    pub kind: &'static str,
    /// The function that made it.
    pub maker: &'static str,
    /// The function that ends one.
    pub ender: &'static str,
}

/// Findings about objects that are left: one for each kind and function that made them.
pub fn left(objects: &[Left]) -> Vec<Finding> {
    let mut counts = std::collections::BTreeMap::new();
    for object in objects {
        *counts.entry(object).or_insert(0u64) += 1;
    }
    let one = |(object, count): (&Left, u64)| {
        let Left { kind, maker, ender } = object;
        let plural = if count == 1 { "" } else { "s" };
        let message = format!("leak: {count} {kind}{plural} that `{maker}` made");
        let mut finding = Finding::new(Check::Memory, Class::Leak, "", message);
        finding.missing = Some(format!("`{ender}` before the context or the program ends"));
        finding.count = count;
        finding
    };
    counts.into_iter().map(one).collect()
}

/// Whether two instructions are of one line of the source, or the same where that is not known. A compiler that unrolls
/// a loop makes several instructions of a line.
fn same_line(a: &CodePlace, b: &CodePlace) -> bool {
    match (&a.source, &b.source) {
        (Some(one), Some(two)) => (&one.file, one.line) == (&two.file, two.line),
        _ => a == b,
    }
}

/// Findings, each mistake once.
#[derive(Default, Debug)]
pub struct Findings {
    list: Vec<Finding>,
    /// How many of the list were handed out by [`Findings::take_new`].
    taken: usize,
}

impl Findings {
    /// Adds one; what is known already is counted.
    pub fn add(&mut self, finding: Finding) {
        match self.list.iter_mut().find(|known| known.same(&finding)) {
            Some(known) => known.count += finding.count,
            None => self.list.push(finding),
        }
    }

    /// All, in the order in which they were found.
    pub fn all(&self) -> &[Finding] {
        &self.list
    }

    /// Those that this has not returned before.
    pub fn take_new(&mut self) -> Vec<Finding> {
        let new = self.list[self.taken..].to_vec();
        self.taken = self.list.len();
        new
    }
}
