//! Builds and runs kernels from text.
#![allow(dead_code)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptx_interp::{
    Access, FaultKind, Isa, Kernel, LaunchError, LaunchParams, Memory, Report, Stats, launch,
};
use ptx_parse::lower::lower;

/// A module of one kernel for `target`, with `body` between the braces.
pub fn module(target: &str, params: &str, body: &str) -> String {
    format!(
        ".version 8.4\n.target {target}\n.address_size 64\n.visible .entry k({params})\n{{\n{body}\n}}\n"
    )
}

/// Kernel `name` of a module's text.
pub fn kernel_named(text: &str, name: &str, isa: Isa) -> Kernel {
    let (module, diags) = ptx_parse::parse_and_verify(text, "test.ptx");
    let errors: Vec<_> = diags.iter().filter(|d| d.is_error()).map(|d| format!("{d:?}")).collect();
    assert!(errors.is_empty(), "{}\n{text}", errors.join("\n"));
    let module = module.expect("a module");
    let entry = module.functions.iter().position(|f| f.name == name).expect("the kernel");
    let program = lower(&module, entry as u32).unwrap_or_else(|r| panic!("{r}"));
    Kernel::decode_for(Arc::new(program), isa)
}

pub fn kernel(text: &str) -> Kernel {
    kernel_named(text, "k", Isa::Avx512)
}

pub struct Bench {
    pub memory: Memory,
    pub params: LaunchParams,
    pub output: Arc<Mutex<Vec<u8>>>,
}

impl Default for Bench {
    fn default() -> Self {
        let output: Arc<Mutex<Vec<u8>>> = Arc::default();
        let params = LaunchParams {
            threads: 1,
            timeout: Some(Duration::from_secs(20)),
            output: Some(output.clone()),
            ..LaunchParams::default()
        };
        Bench { memory: Memory::new(1 << 28).unwrap(), params, output }
    }
}

impl Bench {
    pub fn new(grid: u32, block: u32) -> Bench {
        let mut b = Bench::default();
        b.params.grid[0] = grid;
        b.params.block[0] = block;
        b
    }
    /// Appends a scalar argument.
    pub fn arg(&mut self, bytes: &[u8]) -> &mut Self {
        let p = &mut self.params.params;
        p.resize(p.len().next_multiple_of(bytes.len()), 0);
        p.extend_from_slice(bytes);
        self
    }
    /// Appends a buffer argument.
    pub fn buffer(&mut self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let name = format!("argument {}", self.params.params.len() / 8);
        let at = self.memory.alloc(bytes.len() as u64, 256, &name, Access::ReadWrite).unwrap();
        self.memory.write(at, &bytes).unwrap();
        self.arg(&at.to_le_bytes());
        at
    }
    pub fn words(&self, at: u64, n: usize) -> Vec<u32> {
        let mut out = vec![0; n * 4];
        self.memory.read(at, &mut out).unwrap();
        out.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    }
    pub fn run(&self, kernel: &Kernel) -> Stats {
        launch(kernel, &self.memory, &self.params).unwrap_or_else(|e| panic!("{e}"))
    }
    pub fn fault(&self, kernel: &Kernel, kind: FaultKind) -> Box<Report> {
        match launch(kernel, &self.memory, &self.params) {
            Err(LaunchError::Fault(report)) => {
                assert_eq!(report.kind, kind, "{report}");
                report
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("no fault"),
        }
    }
    pub fn printed(&self) -> String {
        String::from_utf8(self.output.lock().unwrap().clone()).unwrap()
    }
}
