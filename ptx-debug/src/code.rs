//! Where things are in a kernel's code: lines, labels, source positions, registers, variables.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_interp::Kernel;
use ptx_isa::{Kind, Reach, Space, Ty};
use ptx_parse::code::{Flow, Inst};
use ptx_parse::module::Module;

use crate::dwarf::{self, Scope};
use crate::error::Error;
use crate::source::{self, Placed};

/// A PTX instruction: index of its function in the program, and of the instruction there.
pub type At = (u32, u32);

/// A register of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// Kind of its row.
    pub kind: Kind,
    /// Number in its kind.
    pub number: u32,
    /// Declared type.
    pub ty: Ty,
}

/// A variable of the text: module, shared, local, or a kernel parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// State space of the address.
    pub space: Space,
    /// Address there. Of a local variable, the offset in its function's frame.
    pub address: u64,
    /// Element type.
    pub ty: Ty,
    /// Bytes.
    pub size: u64,
    /// Whether it is an array.
    pub array: bool,
}

struct FunctionMap {
    /// Registers by name, in the order of their declaration.
    registers: Vec<(String, Register)>,
    by_name: HashMap<String, usize>,
    labels: Vec<(String, u32)>,
    /// PTX line of every instruction; one more for the end.
    lines: Vec<u32>,
    /// Position of every instruction in the decoded stream, where it has one.
    first: Vec<Option<u32>>,
    /// Scopes of the source, and offsets of local variables in the frame where there are any.
    placed: Vec<Placed>,
    frames: HashMap<String, u32>,
}

/// A source line: index of the file in the program's table of files, and the line.
pub type SourceLine = (u32, u32);

/// What the debugger knows of a kernel's text.
pub struct CodeMap {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    functions: Vec<FunctionMap>,
    variables: Vec<Variable>,
    starts: Vec<u32>,
    files: Vec<(u32, String)>,
    texts: HashMap<u32, Option<(PathBuf, Vec<String>)>>,
    scopes: Vec<Scope>,
}

impl CodeMap {
    /// Reads the kernel's text. `symbols` are the addresses of the module's variables, `folders`
    /// where source files are looked for.
    pub fn new(
        kernel: &Arc<Kernel>,
        module: &Module,
        symbols: &[u64],
        folders: &[PathBuf],
    ) -> CodeMap {
        let program = kernel.program();
        let mut starts = vec![0];
        let breaks = program.source.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        starts.extend(breaks.map(|(n, _)| n as u32 + 1));
        let line = |at: u32| starts.partition_point(|s| *s <= at) as u32;
        let scopes = dwarf::scopes(&program.source);
        let mut functions = Vec::new();
        for f in &program.functions {
            let mut types = HashMap::new();
            let mut labels = Vec::new();
            let mut end = 0;
            if let Some(body) = module.functions.get(f.id as usize).and_then(|f| f.body.as_ref()) {
                for r in &body.regs {
                    if let Some(base) = module.reg_names.get(r.name as usize) {
                        let number = r.number.map_or_else(String::new, |n| n.to_string());
                        types.insert(format!("{base}{number}"), r.ty);
                    }
                }
                let text = |s: &std::ops::Range<u32>| {
                    program.source.get(s.start as usize..s.end as usize).unwrap_or("").to_owned()
                };
                labels = body.labels.iter().map(|(span, at)| (text(span), *at)).collect();
                end = line(body.end.start);
            }
            let mut registers = Vec::new();
            for kind in [Kind::P, Kind::W, Kind::D] {
                for (number, name) in f.reg_names[kind as usize].iter().enumerate() {
                    let name = name.to_string();
                    let plain = match kind {
                        Kind::P => Ty::Pred,
                        Kind::W => Ty::B32,
                        Kind::D => Ty::B64,
                    };
                    let ty = types.get(&name).copied().unwrap_or(plain);
                    registers.push((name, Register { kind, number: number as u32, ty }));
                }
            }
            let by_name = registers.iter().enumerate().map(|(n, r)| (r.0.clone(), n)).collect();
            let mut lines: Vec<u32> = f.insts.iter().map(|i| line(i.span.start)).collect();
            lines.push(end);
            let first = vec![None; lines.len()];
            let placed = source::placed(&f.name, &labels, &scopes);
            let frames = match placed.is_empty() {
                true => HashMap::new(),
                false => source::frames(program, functions.len() as u32),
            };
            let map = FunctionMap { registers, by_name, labels, lines, first, placed, frames };
            functions.push(map);
        }
        for pc in 0..kernel.decoded_len() as u32 {
            if let Some((f, i)) = kernel.origin(pc)
                && let Some(first) = functions[f as usize].first.get_mut(i as usize)
            {
                first.get_or_insert(pc);
            }
        }
        let variables = variables(kernel, module, symbols);
        let mut map = CodeMap {
            kernel: Arc::clone(kernel),
            functions,
            variables,
            starts,
            files: program.files.clone(),
            texts: HashMap::new(),
            scopes,
        };
        for (n, name) in map.files.clone() {
            map.texts.insert(n, read_source(&name, folders));
        }
        map
    }

    /// Name of a function.
    pub fn function_name(&self, function: u32) -> &str {
        self.kernel.program().functions.get(function as usize).map_or("", |f| &f.name)
    }

    /// The instruction; `None` at the end of a function.
    pub fn inst(&self, at: At) -> Option<&Inst> {
        self.kernel.program().functions.get(at.0 as usize)?.insts.get(at.1 as usize)
    }

    /// Number of functions that the kernel reaches, itself included.
    pub fn functions(&self) -> u32 {
        self.functions.len() as u32
    }

    /// Instructions of a function.
    pub fn insts(&self, function: u32) -> u32 {
        self.kernel.program().functions.get(function as usize).map_or(0, |f| f.insts.len() as u32)
    }

    /// Text of the instruction, with single blanks.
    pub fn text(&self, at: At) -> String {
        let Some(inst) = self.inst(at) else { return "(end of function)".into() };
        let span = inst.span.start as usize..inst.span.end as usize;
        let text = self.kernel.program().source.get(span).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The opcode as written: `ld.global.u32`.
    pub fn opcode(&self, at: At) -> String {
        let text = self.text(at);
        let mut words = text.trim_end_matches(';').split_whitespace();
        let first = words.next().unwrap_or("");
        let word = if first.starts_with('@') { words.next().unwrap_or("") } else { first };
        word.to_owned()
    }

    /// PTX line of an instruction, from 1.
    pub fn ptx_line(&self, at: At) -> u32 {
        let lines = self.functions.get(at.0 as usize).map(|f| &f.lines);
        lines.and_then(|l| l.get(at.1 as usize)).copied().unwrap_or(0)
    }

    /// Source line of an instruction, by its `.loc`.
    pub fn source_line(&self, at: At) -> Option<SourceLine> {
        let loc = self.inst(at)?.loc?;
        let function = &self.kernel.program().functions[at.0 as usize];
        function.locs.get(loc as usize).map(|l| (l.file, l.line))
    }

    /// What a step by lines moves over: the source line, or the PTX line where there is none.
    pub fn step_line(&self, at: At) -> (Option<u32>, u32) {
        match self.source_line(at) {
            Some((file, line)) => (Some(file), line),
            None => (None, self.ptx_line(at)),
        }
    }

    /// Name of a source file, as the PTX has it.
    pub fn file_name(&self, file: u32) -> String {
        let found = self.files.iter().find(|(n, _)| *n == file);
        found.map_or_else(|| format!("file {file}"), |(_, name)| name.clone())
    }

    /// Text of a source line, where the file can be read.
    pub fn source_text(&self, (file, line): SourceLine) -> Option<&str> {
        let (_, lines) = self.texts.get(&file)?.as_ref()?;
        lines.get((line as usize).checked_sub(1)?).map(String::as_str)
    }

    /// Where a source file was found.
    pub fn source_path(&self, file: u32) -> Option<PathBuf> {
        let (path, _) = self.texts.get(&file)?.as_ref()?;
        Some(path.canonicalize().unwrap_or_else(|_| path.clone()))
    }

    /// Text of a PTX line.
    pub fn ptx_text(&self, line: u32) -> Option<&str> {
        let start = *self.starts.get((line as usize).checked_sub(1)?)? as usize;
        let end = self.starts.get(line as usize).map_or(usize::MAX, |e| *e as usize);
        let source = &self.kernel.program().source;
        source.get(start..end.min(source.len())).map(|t| t.trim_end())
    }

    /// Lines of the PTX text.
    pub fn ptx_lines(&self) -> u32 {
        self.starts.len() as u32
    }

    /// Source files that have instructions.
    pub fn source_files(&self) -> &[(u32, String)] {
        &self.files
    }

    /// Position in the decoded stream.
    pub fn pc(&self, at: At) -> Option<u32> {
        *self.functions.get(at.0 as usize)?.first.get(at.1 as usize)?
    }

    fn all(&self) -> impl Iterator<Item = At> {
        let one = |(f, m): (usize, &FunctionMap)| {
            (0..m.lines.len() as u32 - 1).map(move |i| (f as u32, i))
        };
        self.functions.iter().enumerate().flat_map(one)
    }

    /// The first instruction of each function at a PTX line, or at the next that has one.
    pub fn at_ptx_line(&self, line: u32) -> Vec<At> {
        let has = |l: u32| self.all().any(|at| self.ptx_line(at) == l);
        let Some(line) = (line..=self.ptx_lines()).find(|l| has(*l)) else { return Vec::new() };
        let mut all: Vec<At> = self.all().filter(|at| self.ptx_line(*at) == line).collect();
        all.dedup_by_key(|at| at.0);
        all
    }

    /// The first instruction of each function at a source line, or at the next line that has one; also of each function
    /// that is inlined, at each of its calls.
    pub fn at_source_line(&self, file: u32, line: u32) -> Vec<At> {
        let lines = self.all().filter_map(|at| Some((self.source_line(at)?, at)));
        let mut found: Vec<((u32, u32), At)> = lines.filter(|((f, _), _)| *f == file).collect();
        let used: BTreeSet<u32> = found.iter().map(|((_, l), _)| *l).collect();
        let Some(&line) = used.range(line..).next() else { return Vec::new() };
        found.retain(|((_, l), _)| *l == line);
        let mut seen = BTreeSet::new();
        let all = found.into_iter().map(|(_, at)| at);
        all.filter(|at| seen.insert((at.0, self.inlining(*at)))).collect()
    }

    /// The file that a name means: the whole name, or its end at a `/`.
    pub fn find_file(&self, name: &str) -> Option<u32> {
        let ends = |full: &str| full == name || full.ends_with(&format!("/{name}"));
        self.files.iter().find(|(_, full)| ends(full)).map(|(n, _)| *n)
    }

    /// Whether the name is that of the PTX text.
    pub fn is_ptx(&self, name: &str) -> bool {
        let module: &str = &self.kernel.program().module;
        module == name || module.ends_with(&format!("/{name}"))
    }

    /// The entry of a function.
    pub fn function(&self, name: &str) -> Option<At> {
        let all = &self.kernel.program().functions;
        all.iter().position(|f| f.name == name).map(|n| (n as u32, 0))
    }

    /// Where a label stands; labels of `function` come first.
    pub fn label(&self, name: &str, function: u32) -> Option<At> {
        let find = |f: u32| {
            let labels = &self.functions.get(f as usize)?.labels;
            labels.iter().find(|(l, _)| l == name).map(|(_, at)| (f, *at))
        };
        find(function).or_else(|| (0..self.functions()).find_map(find))
    }

    /// Labels before an instruction.
    pub fn labels_at(&self, at: At) -> impl Iterator<Item = &str> {
        let labels = self.functions.get(at.0 as usize).map(|f| f.labels.as_slice());
        let labels = labels.unwrap_or_default().iter();
        labels.filter(move |(_, n)| *n == at.1).map(|(l, _)| l.as_str())
    }

    /// A register of a function, with or without its percent sign.
    pub fn register(&self, function: u32, name: &str) -> Option<Register> {
        let f = self.functions.get(function as usize)?;
        let found = f.by_name.get(name).or_else(|| f.by_name.get(&format!("%{name}")))?;
        Some(f.registers[*found].1)
    }

    /// Registers of a function.
    pub fn registers(&self, function: u32) -> &[(String, Register)] {
        self.functions.get(function as usize).map_or(&[], |f| &f.registers)
    }

    /// A variable that code of `function` can name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }

    /// Scopes of the source, of all functions.
    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Scopes of the source in a function, outer ones first.
    pub(crate) fn placed(&self, function: u32) -> &[Placed] {
        self.functions.get(function as usize).map_or(&[], |f| &f.placed)
    }

    /// Offset of a local variable in the frame of its function.
    pub(crate) fn frame_of(&self, function: u32, name: &str) -> Option<u32> {
        self.functions.get(function as usize)?.frames.get(name).copied()
    }

    /// All variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The instructions that a location names: `42`, `FILE:42`, a label, a function, `*INDEX`.
    ///
    /// A number alone is a line of the source that `function` was compiled from, or of the PTX text
    /// where no `.loc` names a source.
    ///
    /// # Errors
    /// When nothing is there.
    pub fn locate(&self, text: &str, function: u32) -> Result<Vec<At>, Error> {
        let nothing = |at: Vec<At>| match at.is_empty() {
            true => Err(Error::NoCode(text.into())),
            false => Ok(at),
        };
        if let Some(index) = text.strip_prefix('*') {
            let (name, index) = index.split_once('+').unwrap_or(("", index));
            let f = match name {
                "" => function,
                name => self.function(name).ok_or_else(|| Error::NoCode(text.into()))?.0,
            };
            let index: u32 = index.parse().map_err(|_| Error::Location(text.into()))?;
            return nothing((index < self.insts(f)).then_some((f, index)).into_iter().collect());
        }
        if let Ok(line) = text.parse::<u32>() {
            let file = (0..self.insts(function)).find_map(|i| self.source_line((function, i)));
            return nothing(match file {
                Some((file, _)) => self.at_source_line(file, line),
                None => self.at_ptx_line(line),
            });
        }
        if let Some((name, line)) = text.rsplit_once(':')
            && let Ok(line) = line.parse::<u32>()
        {
            if let Some(file) = self.find_file(name) {
                return nothing(self.at_source_line(file, line));
            }
            if name == "ptx" || self.is_ptx(name) {
                return nothing(self.at_ptx_line(line));
            }
            let known = self.files.iter().map(|(_, n)| n.clone()).chain(["ptx".into()]).collect();
            return Err(Error::NoFile { name: name.into(), known });
        }
        if let Some(at) = self.label(text, function).or_else(|| self.function(text)) {
            return Ok(vec![at]);
        }
        Err(Error::Location(text.into()))
    }

    /// Whether an instruction writes a register.
    pub fn writes(&self, at: At, register: Register) -> bool {
        let Some(inst) = self.inst(at) else { return false };
        let function = &self.kernel.program().functions[at.0 as usize];
        let is = |v: &ptx_isa::meaning::V| {
            v.kind == register.kind && v.src == ptx_isa::meaning::Src::Reg(register.number)
        };
        let range = inst.uops.start as usize..inst.uops.end as usize;
        let by_uop = function.uops[range].iter().any(|uop| match uop {
            ptx_isa::meaning::Uop::Pure { dst, .. } => is(dst),
            ptx_isa::meaning::Uop::Effect { dst, .. } => dst.iter().any(is),
        });
        let by_call = match &inst.flow {
            Flow::Call(call) => call.rets.iter().any(|r| match r {
                ptx_parse::code::CallArg::Value(v) => is(v),
                ptx_parse::code::CallArg::Frame { .. } | ptx_parse::code::CallArg::Sink => false,
            }),
            Flow::Next | Flow::Bra(_) | Flow::Brx { .. } | Flow::Ret | Flow::Exit => false,
        };
        by_uop || by_call
    }

    /// Whether an instruction is a barrier: it may wait for other warps of its block or cluster.
    pub fn is_barrier(&self, at: At) -> bool {
        let opcode = self.inst(at).map(|i| i.opcode as usize);
        let found = opcode.and_then(|o| self.kernel.program().matches.get(o));
        found.is_some_and(|m| m.row.waits && m.row.reach >= Reach::Block)
    }

    /// Registers that an instruction writes, in the order of their names' declaration.
    pub fn written(&self, at: At) -> Vec<(String, Register)> {
        let all = self.registers(at.0).iter();
        all.filter(|(_, r)| self.writes(at, *r)).cloned().collect()
    }
}

/// The variables of a module and its kernel.
fn variables(kernel: &Kernel, module: &Module, symbols: &[u64]) -> Vec<Variable> {
    let program = kernel.program();
    let mut all = Vec::new();
    let mut shared = program.shared_vars.clone();
    let bodies = program
        .functions
        .iter()
        .filter_map(|f| module.functions.get(f.id as usize).and_then(|f| f.body.as_ref()));
    let own: Vec<_> = bodies.flat_map(|b| b.vars.iter()).collect();
    let known = module.symbols.iter().chain(own);
    for s in known {
        let (space, address, size) = match s.space {
            Space::Shared | Space::SharedCluster => {
                let Some(at) = shared.iter().position(|(n, _, _)| *n == s.name.as_str()) else {
                    continue;
                };
                let (_, address, size) = shared.remove(at);
                (Space::Shared, u64::from(address), u64::from(size))
            }
            Space::Global | Space::Const => {
                let at = module.symbols.iter().position(|o| o.name == s.name);
                let Some(&address) = at.and_then(|at| symbols.get(at)) else { continue };
                (Space::Global, address, s.size)
            }
            _ => continue,
        };
        all.push(Variable {
            name: s.name.to_string(),
            space,
            address,
            ty: s.ty,
            size,
            array: s.array,
        });
    }
    for (p, offset) in &program.params {
        all.push(Variable {
            name: p.name.to_string(),
            space: Space::ParamEntry,
            address: u64::from(*offset),
            ty: p.ty,
            size: u64::from(p.size),
            array: p.array,
        });
    }
    all
}

/// The path and lines of a source file, from where it is or from one of the folders.
fn read_source(name: &str, folders: &[PathBuf]) -> Option<(PathBuf, Vec<String>)> {
    let path = Path::new(name);
    let mut places = vec![path.to_owned()];
    for folder in folders {
        places.push(folder.join(path));
        places.extend(path.file_name().map(|n| folder.join(n)));
    }
    let read = |p: PathBuf| std::fs::read_to_string(&p).ok().map(|text| (p, text));
    let (path, text) = places.into_iter().find_map(read)?;
    Some((path, text.lines().map(str::to_owned).collect()))
}
