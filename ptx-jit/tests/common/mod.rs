//! Runs a kernel in the interpreter and compiled, on equal memory.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_interp::{Access, Kernel, LaunchParams, Memory, launch};
use ptx_isa::special::{Environment, Sreg};
use ptx_isa::texture::Texture;
use ptx_isa::types::Space;
use ptx_jit::{Blocks, Device, Launch, Span, Stop, Unsupported, run_blocks};
use ptx_parse::code::Program;
use ptx_parse::lower::lower;
use ptx_parse::module::Symbol;

/// A module of one kernel for `target`, with `body` between the braces.
pub fn module(target: &str, params: &str, body: &str) -> String {
    format!(
        ".version 8.4\n.target {target}\n.address_size 64\n.visible .entry k({params})\n{{\n{body}\n}}\n"
    )
}

/// Kernel `name` of a module's text.
pub fn program(text: &str, name: &str) -> Result<(Program, Vec<Symbol>), String> {
    let (module, diags) = ptx_parse::parse_and_verify(text, "test.ptx");
    if let Some(e) = diags.iter().find(|d| d.is_error()) {
        return Err(format!("{e:?}\n{text}"));
    }
    let module = module.ok_or("no module")?;
    let entry = module.functions.iter().position(|f| f.name == name).ok_or("no entry")?;
    let program = lower(&module, entry as u32).map_err(|r| r.to_string())?;
    Ok((program, module.symbols.clone()))
}

/// Device memory as a list of separate host buffers, with the addresses of the interpreter's.
#[derive(Default)]
pub struct Copies {
    pub spans: Vec<(u64, Vec<u64>, usize)>,
    pub asked: AtomicU32,
    /// `%envreg3` to `%envreg18`.
    pub env: Environment,
}

impl Copies {
    pub fn add(&mut self, at: u64, bytes: &[u8]) {
        // Guard words, so that tests find stray writes.
        let mut words = vec![0u64; bytes.len().div_ceil(8) + 8];
        for (w, c) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut b = [0; 8];
            b[..c.len()].copy_from_slice(c);
            *w = u64::from_le_bytes(b);
        }
        self.spans.push((at, words, bytes.len()));
    }
    pub fn bytes(&self, at: u64) -> Vec<u8> {
        let (_, words, n) = self.spans.iter().find(|s| s.0 == at).expect("a buffer");
        words.iter().flat_map(|w| w.to_le_bytes()).take(*n).collect()
    }
    /// Whether somebody wrote behind the end of a buffer.
    pub fn stray(&self) -> bool {
        self.spans.iter().any(|(_, words, n)| {
            words.iter().flat_map(|w| w.to_le_bytes()).skip(*n).any(|byte| byte != 0)
        })
    }
}

// SAFETY: the buffers live as long as the device, and tests do not touch them while blocks run.
unsafe impl Device for Copies {
    fn span(&self, address: u64) -> Option<Span> {
        let s = self.spans.iter().find(|s| address >= s.0 && address - s.0 < s.2 as u64)?;
        let host = s.1.as_ptr().cast::<u8>().cast_mut();
        Some(Span { start: s.0, size: s.2 as u64, writable: true, host })
    }
    fn special(&self, _: [u32; 3], register: Sreg) -> u64 {
        u64::from(register.of_environment().map_or(0, |n| self.env[n]))
    }
    fn texture(&self, _: u64) -> Option<Arc<Texture>> {
        None
    }
    fn go_on(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) < 1_000
    }
}

/// Every block of a grid, up to the first that stops.
struct All {
    blocks: std::ops::Range<u64>,
    first: Result<(), Stop>,
}

impl Blocks for All {
    fn take(&mut self) -> Option<u64> {
        self.blocks.next()
    }
    fn take_more(&mut self, most: u64) -> u64 {
        let more = most.min(self.blocks.end - self.blocks.start);
        self.blocks.start += more;
        more
    }
    fn wants(&self, _: u64, _: bool) -> bool {
        self.first.is_ok()
    }
    fn ended(&mut self, _: u64, how: Result<(), Stop>) {
        if self.first.is_ok() {
            self.first = how;
        }
    }
}

/// A launch for both engines.
pub struct Case {
    pub program: Program,
    pub memory: Memory,
    pub copies: Copies,
    pub params: LaunchParams,
    pub buffers: Vec<u64>,
}

impl Case {
    pub fn new(text: &str, name: &str, grid: [u32; 3], block: [u32; 3]) -> Result<Case, String> {
        let (program, symbols) = program(text, name)?;
        let memory = Memory::new(1 << 28).map_err(|e| format!("{e:?}"))?;
        let params = LaunchParams {
            grid,
            block,
            threads: 1,
            timeout: Some(std::time::Duration::from_secs(60)),
            ..LaunchParams::default()
        };
        let mut case = Case { program, memory, copies: Copies::default(), params, buffers: vec![] };
        for s in &symbols {
            let mut bytes = s.init.clone();
            bytes.resize(s.size as usize, 0);
            let at = if matches!(s.space, Space::Global | Space::Const) {
                case.memory_of(&bytes)
            } else {
                0
            };
            case.params.symbols.push(at);
        }
        Ok(case)
    }
    fn memory_of(&mut self, bytes: &[u8]) -> u64 {
        let at = self.memory.alloc(bytes.len() as u64, 256, "buffer", Access::ReadWrite).unwrap();
        self.memory.write(at, bytes).unwrap();
        self.copies.add(at, bytes);
        self.buffers.push(at);
        at
    }
    /// Global offset of the launch.
    pub fn offset(&mut self, [x, y, z]: [u32; 3]) -> &mut Self {
        self.params.env[..4].copy_from_slice(&[x, y, z, 3]);
        self.copies.env = self.params.env;
        self
    }
    /// Appends a scalar argument.
    pub fn arg(&mut self, bytes: &[u8]) -> &mut Self {
        let p = &mut self.params.params;
        p.resize(p.len().next_multiple_of(bytes.len()), 0);
        p.extend_from_slice(bytes);
        self
    }
    /// Appends a buffer argument.
    pub fn buffer(&mut self, bytes: &[u8]) -> u64 {
        let at = self.memory_of(bytes);
        self.arg(&at.to_le_bytes());
        at
    }
    pub fn words(&mut self, words: impl IntoIterator<Item = u32>) -> u64 {
        let bytes: Vec<u8> = words.into_iter().flat_map(|w| w.to_le_bytes()).collect();
        self.buffer(&bytes)
    }
    pub fn shared_bytes(&self) -> u32 {
        let p = &self.program;
        match self.params.shared_bytes {
            0 => p.shared_bytes,
            n => p.shared_bytes.next_multiple_of(p.dynamic_shared_align.max(1)) + n,
        }
    }
    pub fn compile(&self) -> Result<ptx_jit::Kernel, Unsupported> {
        let seen = Some(self.seen());
        ptx_jit::compile(&self.program, self.params.block, seen, ptx_jit::Options::default())
    }
    /// What compiling may depend on.
    pub fn seen(&self) -> ptx_jit::Seen<'_> {
        let [x, y, z, ..] = self.params.env;
        let LaunchParams { grid, params, fixed, .. } = &self.params;
        ptx_jit::Seen { grid: *grid, params, offset: [x, y, z], fixed }
    }
    pub fn run_compiled(&self, kernel: &ptx_jit::Kernel) -> Result<(), Stop> {
        let launch = Launch {
            device: &self.copies,
            grid: self.params.grid,
            params: &self.params.params,
            symbols: &self.params.symbols,
            shared_bytes: self.shared_bytes(),
        };
        let blocks: u64 = self.params.grid.iter().map(|n| *n as u64).product();
        let mut all = All { blocks: 0..blocks, first: Ok(()) };
        run_blocks(kernel, &launch, 1000, &mut all);
        all.first
    }
    pub fn interpret(&self) -> Result<(), String> {
        let kernel = Kernel::decode(Arc::new(self.program.clone()));
        launch(&kernel, &self.memory, &self.params).map(|_| ()).map_err(|e| e.to_string())
    }
    /// Runs both and compares every buffer.
    pub fn compare(&self) -> Result<(), String> {
        let kernel = self.compile().map_err(|u| format!("unsupported: {u}"))?;
        self.compare_with(&kernel)
    }
    /// As [`Case::compare`], with code that was compiled before.
    pub fn compare_with(&self, kernel: &ptx_jit::Kernel) -> Result<(), String> {
        self.interpret()?;
        self.run_compiled(kernel).map_err(|s| format!("stopped: {s:?}"))?;
        if self.copies.stray() {
            return Err("bytes behind a buffer were written".into());
        }
        for at in &self.buffers {
            let got = self.copies.bytes(*at);
            let mut want = vec![0; got.len()];
            self.memory.read(*at, &mut want).map_err(|e| e.to_string())?;
            if let Some(i) = (0..got.len()).find(|i| got[*i] != want[*i]) {
                let word = |b: &[u8]| {
                    let i = i & !3;
                    b[i..(i + 4).min(b.len())]
                        .iter()
                        .rev()
                        .map(|x| format!("{x:02x}"))
                        .collect::<String>()
                };
                let n = (0..got.len()).filter(|i| got[*i] != want[*i]).count();
                return Err(format!(
                    "buffer {at:#x} byte {i}: compiled {}, interpreted {}; {n} bytes differ ({} lanes)",
                    word(&got),
                    word(&want),
                    kernel.stats.lanes,
                ));
            }
        }
        Ok(())
    }
}

/// Runs the tests of this executable, but for the one that calls, in processes that compile with shorter vectors than
/// this one.
pub fn again_with_short_vectors(but: &str, environment: &[(&str, &str)]) {
    let own = ptx_jit::vector_bits();
    for bits in [128u32, 256].into_iter().filter(|bits| *bits < own) {
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--skip", but])
            .env("PTXRUN_JIT_BITS", bits.to_string())
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let what = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{bits} bits: {text}{what}");
        assert!(!text.contains("running 0 tests"), "no test ran");
    }
}
