//! Directives and state spaces of PTX, for those who ask what a word means.

/// A word with a dot that is no modifier of an instruction.
#[derive(Copy, Clone, Debug)]
pub struct Directive {
    /// As it is written, with its dot.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub does: &'static str,
    /// Section of the PTX ISA manual (9.x numbering).
    pub section: &'static str,
}

const fn word(name: &'static str, section: &'static str, does: &'static str) -> Directive {
    Directive { name, does, section }
}

/// State spaces (PTX ISA 5.1).
#[rustfmt::skip] // one line each
pub const STATE_SPACES: &[Directive] = &[
    word(".reg", "5.1.1", "Registers: fast, one set per thread, without addresses."),
    word(".sreg", "5.1.2", "Special registers: predefined and read-only."),
    word(".const", "5.1.3", "Constant memory: read-only, shared by all threads, 64 KiB of variables."),
    word(".global", "5.1.4", "Global memory: shared by all threads of all blocks."),
    word(".local", "5.1.5", "Local memory: one per thread, with addresses."),
    word(".param", "5.1.6", "Parameters of kernels and functions, and results of functions."),
    word(".shared", "5.1.7", "Shared memory: one per block, shared by its threads and reachable from its cluster."),
    word(".tex", "5.1.8", "Textures of old modules; `.global .texref` variables replace it."),
];

/// Directives (PTX ISA 11).
#[rustfmt::skip] // one line each
pub const DIRECTIVES: &[Directive] = &[
    word(".version", "11.1.1", "Names the PTX version that the module is written in."),
    word(".target", "11.1.2", "Names the architecture that the module needs."),
    word(".address_size", "11.1.3", "Says whether addresses have 32 or 64 bits."),
    word(".entry", "11.2.1", "Begins a kernel: a function that a launch starts."),
    word(".func", "11.2.2", "Begins a device function: one that `call` reaches."),
    word(".alias", "11.2.3", "Gives a function a second name."),
    word(".branchtargets", "11.3.1", "Lists the labels that an indexed branch may go to."),
    word(".calltargets", "11.3.2", "Lists the functions that an indirect call may reach."),
    word(".callprototype", "11.3.3", "States the parameters and results of an indirect call."),
    word(".maxnreg", "11.4.1", "Limits the registers of a thread."),
    word(".maxntid", "11.4.2", "Limits the threads of a block."),
    word(".reqntid", "11.4.3", "Fixes the threads of a block."),
    word(".minnctapersm", "11.4.4", "Asks for at least so many blocks on a multiprocessor."),
    word(".maxnctapersm", "11.4.5", "Asks for at least so many blocks on a multiprocessor; the old name of `.minnctapersm`."),
    word(".noreturn", "11.4.6", "Says that a function never returns."),
    word(".pragma", "11.4.7", "Passes a word to the assembler."),
    word(".abi_preserve", "11.4.8", "Says how many registers a function keeps for its caller."),
    word(".abi_preserve_control", "11.4.9", "Says how many registers of control flow a function keeps for its caller."),
    word(".minperctamemory", "11.4.10", "Asks for so much memory per block."),
    word(".loc", "11.5.3", "Names the place in the source that the next instruction comes from."),
    word(".loc_intermediate", "11.5.3", "Names the place in an intermediate source that the next instruction comes from."),
    word(".file", "11.5.2", "Gives a source file a number."),
    word(".section", "11.5.1", "Holds debugging data."),
    word(".nv_intermediate_source_section", "11.5.1", "Holds the intermediate source that places refer to."),
    word(".code_block", "11.5.1", "Holds a part of an intermediate source."),
    word(".source_begin", "11.5.1", "Begins the text of an intermediate source."),
    word(".attribute", "5.4.8", "Gives a variable a property such as `.managed`."),
    word(".align", "5.4.5", "States the alignment of a variable in bytes."),
    word(".ptr", "7.1.1", "Says that a kernel parameter is a pointer, and of what."),
    word(".extern", "11.6.1", "Declares a name that another module defines."),
    word(".visible", "11.6.2", "Makes a name visible to other modules."),
    word(".weak", "11.6.3", "Makes a name visible; another module's definition may replace it."),
    word(".common", "11.6.4", "Makes a variable visible; several modules may define it, the largest counts."),
    word(".reqnctapercluster", "11.7.1", "Fixes the blocks of a cluster."),
    word(".explicitcluster", "11.7.2", "Says that a kernel must be launched with explicit clusters."),
    word(".maxclusterrank", "11.7.3", "Limits the blocks of a cluster."),
    word(".blocksareclusters", "11.7.4", "Makes the grid of a launch count clusters, not blocks."),
    word(".language", "11.8", "Names the language that the module was compiled from."),
];

/// The state space or directive of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Directive> {
    STATE_SPACES.iter().chain(DIRECTIVES).find(|d| d.name == name)
}
