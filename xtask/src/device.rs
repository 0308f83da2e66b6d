//! `golden compare` and `golden record`: forms through a driver library.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use golden::set::{Operands, Set, pack_outputs};
use golden::{Form, Golden};
use serde_json::{Map, Value, json};

use crate::On;
use crate::driver::{Driver, Function, Module};

/// What one run of a form leaves.
struct Ran {
    image: Vec<u8>,
    packed: Vec<u8>,
    /// Bytes written outside the results.
    touched: usize,
}

struct Runner<'a> {
    golden: &'a Golden,
    driver: Driver,
    per_form: bool,
    /// Whole modules; `None` where only single forms load.
    modules: HashMap<String, Option<Module>>,
    tables: HashMap<String, u64>,
    output: Option<(u64, usize)>,
}

impl<'a> Runner<'a> {
    fn new(golden: &'a Golden, on: &On) -> Result<Self> {
        Ok(Self {
            golden,
            driver: Driver::open(&on.lib)?,
            per_form: on.per_form,
            modules: HashMap::new(),
            tables: HashMap::new(),
            output: None,
        })
    }

    fn function(&mut self, form: &Form) -> Result<Function> {
        let name = &form.info().module;
        if !self.modules.contains_key(name) {
            let mut whole = None;
            if !self.per_form {
                match self.driver.load(&self.golden.module_text(name)?) {
                    Ok(module) => whole = Some(module),
                    Err(e) => println!("module {name} does not load whole, form by form: {e:#}"),
                }
            }
            self.modules.insert(name.clone(), whole);
        }
        let module = match self.modules[name] {
            Some(module) => module,
            None => self.driver.load(&form.module_text()?)?,
        };
        self.driver.function(module, form.name())
    }

    fn try_run(&mut self, form: &Form) -> Result<Ran> {
        let function = self.function(form)?;
        let table = &form.info().table;
        let input = match self.tables.get(table) {
            Some(&at) => at,
            None => {
                let bytes: Vec<u8> = form.table().iter().flat_map(|w| w.to_le_bytes()).collect();
                let at = self.driver.alloc(bytes.len())?;
                self.driver.to_device(at, &bytes)?;
                self.tables.insert(table.clone(), at);
                at
            }
        };
        let bytes = 8 * form.rows() * form.info().outs.len().max(1);
        let output = match self.output {
            Some((at, room)) if room >= bytes => at,
            _ => {
                let room = bytes.max(1 << 20);
                let at = self.driver.alloc(room)?;
                self.output = Some((at, room));
                at
            }
        };
        self.driver.to_device(output, &vec![golden::POISON; bytes])?;
        let block = self.golden.block();
        ensure!(form.rows().is_multiple_of(block as usize), "rows that fill no block");
        self.driver.run(function, form.rows() as u32 / block, block, &[input, output])?;
        let image = self.driver.from_device(output, bytes)?;
        let (packed, touched) = pack_outputs(form.info(), &image);
        Ok(Ran { image, packed, touched })
    }

    /// Runs a form; a fault costs the context, which is made anew.
    fn run(&mut self, form: &Form) -> Result<Ran> {
        let ran = self.try_run(form);
        if ran.is_err() {
            self.modules.clear();
            self.tables.clear();
            self.output = None;
            self.driver.reset().context("no context after a failure")?;
        }
        ran
    }
}

/// The first difference, in words.
fn difference(form: &Form, ran: &Ran) -> String {
    let want = form.output_image();
    let slots = form.info().outs.len().max(1);
    let word = |image: &[u8], at: usize| {
        u64::from_le_bytes(image[8 * at..][..8].try_into().expect("eight bytes"))
    };
    let words: Vec<usize> =
        (0..form.rows() * slots).filter(|&at| word(&ran.image, at) != word(&want, at)).collect();
    let mut rows: Vec<usize> = words.iter().map(|at| at / slots).collect();
    rows.dedup();
    let mut text = format!("{} of {} rows differ", rows.len(), form.rows());
    if let Some(&at) = words.first() {
        let (got, want) = (word(&ran.image, at), word(&want, at));
        text += &format!(
            "; first row {} output {}: got {got:#x}, recorded {want:#x}, operands {:x?}",
            at / slots,
            at % slots,
            form.row(at / slots)
        );
    }
    if ran.touched > 0 {
        text += &format!(" [{} bytes written outside the results]", ran.touched);
    }
    text
}

/// `golden compare`.
pub fn compare(on: &On) -> Result<ExitCode> {
    let golden = on.golden()?;
    ensure!(golden.forms().all(|f| f.recorded()), "operands without results");
    let start = Instant::now();
    let mut runner = Runner::new(&golden, on)?;
    let (name, sm, version) = runner.driver.about();
    println!("{name}, compute capability {sm}, driver API {version}");
    let mut groups: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let mut rows = 0;
    for form in golden.forms().filter(|f| on.wants(f)) {
        let trouble = match runner.run(&form) {
            Ok(ran) if ran.packed == form.packed_outputs() && ran.touched == 0 => None,
            Ok(ran) => Some(difference(&form, &ran)),
            Err(e) => Some(format!("{e:#}")),
        };
        rows += form.rows();
        let count = groups.entry(form.group()).or_default();
        match trouble {
            None => count.0 += 1,
            Some(text) => {
                count.1 += 1;
                println!("MISMATCH {} [{}]: {text}", form.name(), form.inst());
            }
        }
    }
    let (mut passed, mut failed) = (0, 0);
    for (group, (p, f)) in &groups {
        println!("{group:<14} {p:>5} passed {f:>5} failed");
        passed += p;
        failed += f;
    }
    println!("{rows} rows, {:.1} s", start.elapsed().as_secs_f64());
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `golden record`.
pub fn record(on: &On, out: &Path, repeat: u32) -> Result<ExitCode> {
    let golden = on.golden()?;
    let mut runner = Runner::new(&golden, on)?;
    let (device, sm, cuda) = runner.driver.about();
    let mut set = Set { block: golden.block(), ..Set::default() };
    let (mut failed, mut unsteady, mut touching) = (Map::new(), Vec::new(), Vec::new());
    let forms: Vec<Form> = golden.forms().filter(|f| on.wants(f)).collect();
    for pass in 0..repeat.max(1) {
        for form in &forms {
            let name = form.name();
            if pass > 0 && !set.results.contains_key(name) {
                continue;
            }
            match runner.run(form) {
                Ok(ran) if pass == 0 => {
                    set.results.insert(name.into(), ran.packed);
                    if ran.touched > 0 {
                        touching.push(name.to_string());
                    }
                }
                Ok(ran) if set.results[name] == ran.packed => {}
                Ok(_) => {
                    set.results.remove(name);
                    unsteady.push(name.to_string());
                }
                Err(e) => {
                    set.results.remove(name);
                    println!("FAILED {name}: {e:#}");
                    failed.insert(name.into(), Value::from(format!("{e:#}")));
                }
            }
        }
    }
    let mut modules: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for form in &forms {
        let info = form.info();
        set.forms.push(info.clone());
        set.tables
            .entry(info.table.clone())
            .or_insert_with(|| Operands { slots: form.slots(), words: form.table().to_vec() });
        let name = format!("modules/{}.ptx", info.module);
        if let std::collections::btree_map::Entry::Vacant(slot) = modules.entry(name) {
            slot.insert(golden.module_text(&info.module)?.into_bytes());
        }
    }
    println!(
        "{device}: {} forms recorded, {} failed, {} differ between runs, {} write outside their results",
        set.results.len(),
        failed.len(),
        unsteady.len(),
        touching.len()
    );
    let good = failed.is_empty();
    for (key, value) in [
        ("device", json!(device)),
        ("sm", json!(sm)),
        ("cuda", json!(cuda)),
        ("runs", json!(repeat)),
        ("nondeterministic", json!(unsteady)),
        ("failed", Value::Object(failed)),
        ("guard_overwritten", json!(touching)),
    ] {
        set.about.insert(key.into(), value);
    }
    let mut files = set.files();
    files.extend(modules);
    for (name, bytes) in files {
        let write = |path: &Path| -> std::io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(out))?;
            if path.extension().is_some_and(|e| e == "bin") {
                let file = fs::File::create(path.with_extension("bin.gz"))?;
                let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::best());
                gz.write_all(&bytes)?;
                gz.finish()?;
                return Ok(());
            }
            fs::write(path, &bytes)
        };
        let path = out.join(&name);
        write(&path).with_context(|| path.display().to_string())?;
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
