//! One instruction on given values: a kernel in which every thread takes a case.

use ptx_runtime::{Context, DeviceOptions, Module};
use ptxrun::values::ElementType;

use crate::engine::On;
use crate::expect::{self, Expected};
use crate::notation::{FileTest, Problem};
use crate::run::{config, fell_back};

/// Threads of the launch: cases are repeated, so that vectors are full.
const THREADS: usize = 64;

/// Target and PTX version.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    sm: String,
    version: String,
}

impl Default for Target {
    fn default() -> Self {
        Target { sm: "sm_90".into(), version: "8.0".into() }
    }
}

impl Target {
    pub fn read(text: &str) -> Result<Target, String> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [sm, version] => Ok(Target { sm: sm.into(), version: version.into() }),
            _ => Err(format!("`{text}` is not of the form sm_80 8.0")),
        }
    }
}

/// A register of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    Element(ElementType),
    Predicate,
}

impl Register {
    fn named(word: &str) -> Option<Register> {
        match word {
            "pred" => Some(Register::Predicate),
            word => word.parse().ok().map(Register::Element),
        }
    }

    /// How its values are written.
    fn ty(self) -> ElementType {
        match self {
            Register::Element(ty) => ty,
            Register::Predicate => ElementType::U32,
        }
    }
}

/// Instructions and cases.
#[derive(Clone, Debug)]
pub(crate) struct Eval {
    pub line: usize,
    target: Target,
    /// As written, up to the cases.
    pub head: String,
    /// With names in place of types.
    body: String,
    sources: Vec<(String, Register)>,
    results: Vec<(String, Register)>,
    /// Values of the sources, and of the results where they are known.
    cases: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Eval {
    pub fn read(line: usize, text: &str, target: Target) -> Result<Eval, String> {
        let (head, cases) = text.split_once(": ").ok_or("write INSTRUCTION: SOURCES -> RESULTS")?;
        let mut eval = Eval {
            line,
            target,
            head: head.into(),
            body: String::new(),
            sources: Vec::new(),
            results: Vec::new(),
            cases: Vec::new(),
        };
        for instruction in head.split(';') {
            eval.instruction(instruction.trim())?;
        }
        if eval.results.is_empty() {
            return Err("no result: write a type in place of the first operand".into());
        }
        for case in cases.split(',') {
            let (from, to) = case.split_once("->").ok_or("a case is SOURCES -> RESULTS")?;
            let results = if to.trim() == "?" { None } else { Some(values(&eval.results, to)?) };
            eval.cases.push((values(&eval.sources, from)?, results));
        }
        if eval.cases.len() > THREADS {
            return Err(format!("more than {THREADS} cases"));
        }
        Ok(eval)
    }

    /// Replaces types by names; those of the first operand are results.
    fn instruction(&mut self, text: &str) -> Result<(), String> {
        let (opcode, operands) = text.split_once(' ').ok_or("an instruction without operands")?;
        let mut body = format!("{opcode} ");
        let (mut depth, mut first) = (0, true);
        let mut word = String::new();
        for c in operands.chars().chain(" ".chars()) {
            if c.is_ascii_alphanumeric() || "_%.$".contains(c) {
                word.push(c);
                continue;
            }
            match Register::named(&word) {
                Some(register) => {
                    let all = if first { &mut self.results } else { &mut self.sources };
                    let name = format!("%{}{}", if first { "to" } else { "from" }, all.len());
                    body += &name;
                    all.push((name, register));
                }
                None => body += &word,
            }
            word.clear();
            match c {
                '{' | '[' | '(' => depth += 1,
                '}' | ']' | ')' => depth -= 1,
                ',' if depth == 0 => first = false,
                _ => {}
            }
            body.push(c);
        }
        self.body += &format!("    {};\n", body.trim_end());
        Ok(())
    }

    /// A module with the instruction; each thread takes its sources from a row of `from` and leaves a row in `to`.
    fn module(&self) -> String {
        let mut declarations = String::new();
        let mut loads = String::new();
        let mut stores = String::new();
        for (place, (name, register)) in self.sources.iter().enumerate() {
            let at = 8 * place;
            match register {
                Register::Element(ty) => {
                    declarations += &format!("    .reg .b{} {name};\n", (8 * ty.size()).max(16));
                    loads += &format!("    ld.global.b{} {name}, [%row+{at}];\n", 8 * ty.size());
                }
                Register::Predicate => {
                    declarations += &format!("    .reg .pred {name};\n");
                    loads += &format!(
                        "    ld.global.u32 %bit, [%row+{at}];\n    setp.ne.u32 {name}, %bit, 0;\n"
                    );
                }
            }
        }
        for (place, (name, register)) in self.results.iter().enumerate() {
            let at = 8 * place;
            match register {
                Register::Element(ty) => {
                    declarations += &format!("    .reg .b{} {name};\n", (8 * ty.size()).max(16));
                    stores += &format!("    st.global.b{} [%out+{at}], {name};\n", 8 * ty.size());
                }
                Register::Predicate => {
                    declarations += &format!("    .reg .pred {name};\n");
                    stores += &format!(
                        "    selp.u32 %bit, 1, 0, {name};\n    st.global.u32 [%out+{at}], %bit;\n"
                    );
                }
            }
        }
        let Target { sm, version } = &self.target;
        let (row, out) = (8 * self.sources.len(), 8 * self.results.len());
        format!(
            ".version {version}\n.target {sm}\n.address_size 64\n\
             .visible .entry k(.param .u64 from, .param .u64 to)\n{{\n    \
             .reg .b32 %thread, %bit;\n    .reg .b64 %row, %out, %offset;\n{declarations}    \
             ld.param.u64 %row, [from];\n    ld.param.u64 %out, [to];\n    mov.u32 %thread, %tid.x;\n    \
             mul.wide.u32 %offset, %thread, {row};\n    add.u64 %row, %row, %offset;\n    \
             mul.wide.u32 %offset, %thread, {out};\n    add.u64 %out, %out, %offset;\n\
             {loads}{}{stores}    ret;\n}}\n",
            self.body
        )
    }

    /// The results of every thread, a row of 8-byte words each.
    fn launch(&self, name: &str, on: On) -> Result<Vec<u8>, String> {
        let context = Context::new(&DeviceOptions::default()).map_err(|e| e.to_string())?;
        let module = Module::load(&context, &self.module(), name).map_err(|e| e.to_string())?;
        let row = 8 * self.results.len();
        let input: Vec<u8> =
            (0..THREADS).flat_map(|t| self.cases[t % self.cases.len()].0.clone()).collect();
        let from = context.alloc(input.len().max(8) as u64).map_err(|e| e.to_string())?;
        let to = context.alloc((THREADS * row) as u64).map_err(|e| e.to_string())?;
        context.copy_to_device(from, &input).map_err(|e| e.to_string())?;
        let config = config(on, [1; 3], [THREADS as u32, 1, 1], vec![from.into(), to.into()]);
        let stats =
            context.launch(&module, "k", config).map_err(|e| e.render(module.verified(), false))?;
        if on == On::Jit
            && let Some(why) = fell_back(&stats)
        {
            return Err(format!("is not compiled: {why}"));
        }
        let mut output = vec![0; THREADS * row];
        context.copy_from_device(to, &mut output).map_err(|e| e.to_string())?;
        Ok(output)
    }

    /// What is wrong with the results, for a reader.
    pub fn problems(&self, name: &str, on: On) -> Result<(), String> {
        let output = self.launch(name, on)?;
        for (thread, row) in output.chunks(8 * self.results.len()).enumerate() {
            let (sources, wanted) = &self.cases[thread % self.cases.len()];
            if wanted.as_deref() != Some(row) {
                let wanted = wanted.as_ref().map_or("?".into(), |w| shown(&self.results, w));
                return Err(format!(
                    "{}: {} -> expected {wanted}, got {} (thread {thread})",
                    self.head,
                    shown(&self.sources, sources),
                    shown(&self.results, row)
                ));
            }
        }
        Ok(())
    }

    /// The comment with the results that the interpreter has.
    pub fn blessed(&self, name: &str) -> Result<String, String> {
        let output = self.launch(name, On::Interp)?;
        let rows = output.chunks(8 * self.results.len());
        let cases = self.cases.iter().zip(rows).map(|((sources, _), row)| {
            format!("{} -> {}", shown(&self.sources, sources), shown(&self.results, row))
                .trim()
                .to_owned()
        });
        Ok(format!("// eval: {}: {}", self.head, cases.collect::<Vec<_>>().join(", ")))
    }
}

/// Values of registers, 8 bytes each.
fn values(registers: &[(String, Register)], text: &str) -> Result<Vec<u8>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() != registers.len() {
        return Err(format!(
            "`{}`: {} values for {} registers",
            text.trim(),
            words.len(),
            registers.len()
        ));
    }
    let mut out = Vec::new();
    for (word, (_, register)) in words.into_iter().zip(registers) {
        let start = out.len();
        match expect::read(register.ty(), None, word)? {
            Expected::Bytes(bytes) => out.extend(bytes),
            Expected::Checksum { .. } | Expected::Unknown { .. } => {
                return Err(format!("`{word}` is no value"));
            }
        }
        out.resize(start + 8, 0);
    }
    Ok(out)
}

fn shown(registers: &[(String, Register)], row: &[u8]) -> String {
    let words = registers.iter().zip(row.chunks(8));
    let words = words.map(|((_, r), bytes)| expect::one(r.ty(), &bytes[..r.ty().size()]));
    words.collect::<Vec<_>>().join(" ")
}

/// What is wrong with the instructions of a file.
pub(crate) fn evals(test: &FileTest, on: On) -> Vec<Problem> {
    let problem = |eval: &Eval| {
        eval.problems(&test.name, on).err().map(|what| Problem { line: eval.line, what })
    };
    test.evals.iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Eval, String> {
        Eval::read(1, text, Target::default())
    }

    #[test]
    fn types_become_registers() {
        let eval = read("setp.lt.u32 pred|pred, u32, 5: 3 -> 1 0").expect("an instruction");
        assert_eq!(eval.body, "    setp.lt.u32 %to0|%to1, %from0, 5;\n");
        let eval = read("add.cc.u32 u32, u32, u32; addc.u32 u32, 0, 0: 1 2 -> 3 0").expect("two");
        assert_eq!(eval.body, "    add.cc.u32 %to0, %from0, %from1;\n    addc.u32 %to1, 0, 0;\n");
        let eval = read("mov.b64 {b32, b32}, b64: 1 -> 1 0").expect("a vector");
        assert_eq!(eval.body, "    mov.b64 {%to0, %to1}, %from0;\n");
    }

    #[test]
    fn what_cannot_be_tested_is_refused() {
        for text in [
            "popc.b32 u32, b32",
            "popc.b32 u32, b32: 1",
            "popc.b32 u32, b32: 1 2 -> 3",
            "bar.sync 0: -> 1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn wrong_results_are_found() {
        for on in [On::Interp, On::Jit] {
            assert_eq!(
                read("popc.b32 u32, b32: 0xff -> 8, 1 -> 1").expect("two cases").problems("x", on),
                Ok(())
            );
            let wrong =
                read("popc.b32 u32, b32: 0xff -> 8, 1 -> 2").expect("two cases").problems("x", on);
            let said = "popc.b32 u32, b32: 0x00000001 -> expected 2, got 1 (thread 1)";
            assert_eq!(wrong, Err(said.into()));
        }
    }
}
