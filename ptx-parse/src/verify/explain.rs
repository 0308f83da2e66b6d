//! Misfits in the user's words.

use super::Verifier;
use super::opcode::Candidate;
use super::operands::{Misfit, What};
use super::scope::Binding;
use crate::ast::Instr;
use crate::diag::{Code, closest};
use crate::names::Name;
use crate::span::Span;
use ptx_isa::special::Sreg;
use ptx_isa::syntax::Form;
use ptx_isa::types::TyClass;
use ptx_isa::{Operation, Space, Ty};

/// The name of a state space.
fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "`.global`",
        Space::Shared => "`.shared`",
        Space::SharedCluster => "`.shared::cluster`",
        Space::Local => "`.local`",
        Space::Const => "`.const`",
        Space::ParamEntry => "`.param::entry`",
        Space::ParamFunc => "`.param`",
        Space::Reg => "`.reg`",
        Space::Sreg => "`.sreg`",
        Space::Tex => "`.tex`",
    }
}

/// Register types that go for `want`.
fn accepted(want: Ty, relaxed: bool) -> String {
    let bits = want.bits().max(8);
    let wider = if relaxed { " or wider" } else { "" };
    match want.class() {
        TyClass::Pred => "`.pred`".into(),
        TyClass::Bits => format!("any register of {bits} bits{wider}"),
        TyClass::Uint | TyClass::Sint => format!("`.b{bits}`, `.u{bits}` or `.s{bits}`{wider}"),
        TyClass::Float | TyClass::Half => format!("`{want}` or `.b{bits}`"),
        TyClass::Opaque => format!("`{want}`, or a 64-bit integer register that holds its handle"),
    }
}

fn ordinal(n: usize) -> String {
    match n {
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        3 => "fourth".into(),
        4 => "fifth".into(),
        _ => format!("{}th", n + 1),
    }
}

/// The special register that `text`, in lower case, is close to: CUDA's names and those without dots as well.
fn special_register(text: &str) -> Option<&'static str> {
    let name = text.strip_prefix('%').unwrap_or(text);
    let letters: String = name.chars().filter(|c| !matches!(c, '.' | '_')).collect();
    let cuda = [
        ("threadidx", "%tid"),
        ("blockidx", "%ctaid"),
        ("blockdim", "%ntid"),
        ("griddim", "%nctaid"),
    ];
    let plain = |full: &str| full.replace(['%', '.', '_'], "");
    let names = || Sreg::ALL.iter().map(|s| s.name());
    if let Some((word, base)) = cuda.iter().find(|(word, _)| letters.starts_with(word)) {
        let axis = letters[word.len()..].chars().next().unwrap_or('x');
        let whole = format!("{base}.{axis}");
        return names().find(|n| *n == whole);
    }
    let exact = names().find(|n| plain(n) == letters);
    exact.or_else(|| text.starts_with('%').then(|| closest(text, names())).flatten())
}

/// Unknown names of a function for which a similar one is looked for.
const MOST_SUGGESTED: usize = 100;

impl Verifier<'_> {
    /// A row that fits but that the module cannot use.
    #[cold]
    pub(super) fn refuse(&mut self, opcode: usize, row: usize, c: &Candidate, instr: &Instr) {
        let Some(Some(problem)) = self.opcodes[opcode].problems.get(row) else { return };
        let mut diag = (**problem).clone();
        diag.span = self.ast.opcode_span(instr);
        let section = c.matched.row.section;
        diag.note(format!("PTX ISA {section}"));
        self.diags.push(diag);
    }

    #[cold]
    pub(super) fn unknown_name(&mut self, name: Name, span: Span) {
        if !self.reported.insert(name) {
            return;
        }
        let text = self.text(name);
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
        let prefix = &text[..text.len() - digits];
        let family = self.scopes.families().iter().rev().find(|f| digits > 0 && &*f.text == prefix);
        if let Some(family) = family {
            let (count, declared) = (family.count, family.text.clone());
            self.error(Code::UnknownName, span, format!("register `{text}` is not declared")).note(
                format!(
                    "`{declared}<{count}>` declares `{declared}0` to `{declared}{}`",
                    count.saturating_sub(1)
                ),
            );
            return;
        }
        // Who has misspelt so many names has another problem, and each look goes through all names.
        let near = if self.reported.len() > MOST_SUGGESTED {
            None
        } else if let Some(family) = self
            .scopes
            .families()
            .iter()
            .find(|f| digits > 0 && f.text.strip_prefix('%') == Some(prefix))
        {
            Some(format!("{}{}", family.text, &text[prefix.len()..]))
        } else {
            // Functions, labels and lists are no operands that could have been meant.
            let operands = self.scopes.bound().filter(|(_, b)| {
                !matches!(
                    b,
                    Binding::Func(_)
                        | Binding::Label(_)
                        | Binding::BranchTargets(_)
                        | Binding::None
                )
            });
            let small = text.to_ascii_lowercase();
            let special = || special_register(&small).map(str::to_owned);
            closest(text, operands.map(|(n, _)| self.text(n))).map(str::to_owned).or_else(special)
        };
        let families: Vec<String> =
            self.scopes.families().iter().map(|f| format!("`{}<{}>`", f.text, f.count)).collect();
        let diag = self.error(Code::UnknownName, span, format!("`{text}` is not declared"));
        match near {
            Some(near) => {
                diag.help(format!("did you mean `{near}`?"));
            }
            None if digits > 0 && !families.is_empty() => {
                diag.note(format!("registers declared by number: {}", families.join(", ")));
            }
            None => {}
        }
    }

    /// A call of what is declared nowhere.
    fn unknown_function(&mut self, name: Name, span: Span) {
        if !self.reported.insert(name) {
            return;
        }
        let text = self.text(name);
        let functions = self.scopes.bound().filter(|(_, b)| matches!(b, Binding::Func(_)));
        let near = closest(text, functions.map(|(n, _)| self.text(n))).map(str::to_owned);
        let diag = self.error(Code::UnknownName, span, format!("`{text}` is not declared"));
        diag.help(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it above: `.func NAME (PARAMETERS);`, with `.extern` if another module has it".into(),
        });
    }

    /// Reports the operand that kept an instruction from its row.
    #[cold]
    pub(super) fn report_misfit(&mut self, m: Misfit, c: &Candidate, instr: &Instr) {
        let matched = &c.matched;
        let (syntax, section, mnemonic) =
            (matched.row.syntax, matched.row.section, matched.notation.mnemonic);
        let opcode = self.text(instr.opcode);
        let span = m.operand.map_or_else(|| self.ast.opcode_span(instr), |o| o.span());
        let text = self.ast.text(span);
        let which = ordinal(m.at);
        let spec = c.units.get(m.at).map(|u| u.slots[0]);
        let relaxed = spec.is_some_and(|s| s.relaxed);
        let mut help: Option<String> = None;
        let (code, message) = match m.what {
            What::Silent => return,
            What::Unknown(name) => {
                match spec.map(|s| s.form) {
                    Some(Form::Label) => {
                        let name = self.text(name);
                        self.unknown_label(name, span);
                    }
                    Some(Form::Args | Form::Func) => self.unknown_function(name, span),
                    _ => self.unknown_name(name, span),
                }
                return;
            }
            What::Count(least, most, found) => {
                let wanted =
                    if least == most { format!("{least}") } else { format!("{least} to {most}") };
                (Code::Operand, format!("`{opcode}` takes {wanted} operands, found {found}"))
            }
            What::Type(have, want) => {
                help = Some(format!("this operand can be {}", accepted(want, relaxed)));
                (Code::Type, format!("`{text}` is `{have}`, `{opcode}` works on `{want}`"))
            }
            What::Constant(want) => {
                help = Some(match want.class() {
                    TyClass::Float => {
                        "write it with a decimal point, or as bits: `0f3F800000`".into()
                    }
                    TyClass::Half => {
                        "move it to a register with `mov.b16` or `mov.b32` first".into()
                    }
                    TyClass::Bits if want.bits() == 32 => {
                        "write an integer or the bits of a float: `0f3F800000`".into()
                    }
                    TyClass::Bits if want.bits() == 64 => {
                        "write an integer or the bits of a double: `0d3FF0000000000000`".into()
                    }
                    _ => "write an integer".into(),
                });
                (Code::Operand, format!("`{text}` is no constant of type `{want}`"))
            }
            What::NotConstant => (
                Code::Operand,
                format!("the {which} operand is written: a constant cannot stand there"),
            ),
            What::NeedsConstant => {
                (Code::Operand, format!("the {which} operand must be a constant"))
            }
            What::NeedsRegister => {
                (Code::Operand, format!("the {which} operand must be a register"))
            }
            What::NothingWritten => {
                help = Some("name a register for one of its elements".into());
                (Code::Operand, "a vector of `_` alone stands for nothing".into())
            }
            What::NeedsVector(n) => {
                help = Some(format!("write `{{…}}` with {n} elements"));
                (Code::Operand, format!("the {which} operand must be a vector of {n}"))
            }
            What::NeedsScalar => {
                (Code::Operand, format!("the {which} operand of `{opcode}` is no vector"))
            }
            What::NeedsAddress => {
                help = Some(match matched.row.op {
                    Operation::Store if m.at == 0 => {
                        "the address comes first, then what is stored".into()
                    }
                    _ => "an address stands in brackets: `[%rd1]`, `[x+8]`".into(),
                });
                (Code::Operand, format!("the {which} operand must be an address"))
            }
            What::NotAddress => {
                help = Some(match matched.row.op {
                    Operation::Load => {
                        "the register that is written comes first, then the address".into()
                    }
                    _ => format!("load it first; `{mnemonic}` works on registers"),
                });
                (Code::Operand, format!("the {which} operand of `{opcode}` is no memory operand"))
            }
            What::NeedsLabel => (Code::Label, format!("`{text}` is no label")),
            What::NeedsTargets => {
                help = Some(
                    "name the label of a `.branchtargets`, `.calltargets` or `.callprototype`"
                        .into(),
                );
                (Code::Label, format!("`{text}` is no list of targets"))
            }
            What::Special => {
                help = Some("read it with `mov` first".into());
                (
                    Code::Operand,
                    format!("`{mnemonic}` does not read special registers of this kind"),
                )
            }
            What::ReadOnly => {
                (Code::Operand, format!("special register `{text}` cannot be written"))
            }
            What::Sink => {
                (Code::Operand, format!("`_` cannot stand in the {which} operand of `{opcode}`"))
            }
            What::Negation => {
                (Code::Operand, format!("`!` cannot stand in the {which} operand of `{opcode}`"))
            }
            What::Minus => {
                help = Some("negate with `neg` first".into());
                (Code::Operand, format!("`{mnemonic}` does not negate its operands"))
            }
            What::Pair => (
                Code::Operand,
                format!("the {which} operand of `{opcode}` has no predicate after a bar"),
            ),
            What::NeedsPair => {
                (Code::Operand, format!("the {which} operand needs a predicate: `d|p`"))
            }
            What::NeedsSelector => {
                (Code::Selector, format!("the {which} operand needs a selector such as `.b0`"))
            }
            What::Selector => (Code::Selector, format!("the selector of `{text}` does not fit")),
            What::WholeVector => {
                help = Some(format!("select a component: `{text}.x`"));
                (Code::Operand, format!("`{text}` is a vector"))
            }
            What::Space(own, space) => {
                let message = format!(
                    "`{opcode}` works on {} memory, the variable lies in {}",
                    space_name(space),
                    space_name(own)
                );
                (Code::Space, message)
            }
            What::ReadOnlyParam => {
                help = Some("copy it into a register or a `.local` variable".into());
                (Code::Operand, "a parameter of the function cannot be written".into())
            }
            What::WriteOnlyResult => {
                help = Some("keep the value in a register".into());
                (Code::Operand, "a result of the function cannot be read".into())
            }
            What::LaterList => {
                help = Some("move it above the instruction".into());
                (Code::Label, "what this label stands for is declared further down".into())
            }
            What::NeedsParam => {
                help = Some(format!("write `{mnemonic}.param…`"));
                (Code::Space, "a parameter is reached through `.param` only".into())
            }
            What::NeedsConst => {
                let load = "write `.const`, or take its generic address with `cvta.const` first";
                help = Some(load.into());
                (Code::Space, "a constant is no generic address".into())
            }
            What::ConstantAddress => {
                (Code::Operand, "a number can be an address in `.local` only".into())
            }
            What::AddressType(ty) => {
                help = Some(format!(
                    "addresses are integer registers of {} bits",
                    self.module.info.address_bits
                ));
                (Code::Type, format!("a `{ty}` register cannot be an address here"))
            }
            What::NotValue => {
                help = Some("take its address with `mov` first".into());
                (
                    Code::Operand,
                    format!("`{opcode}` does not take the name of a variable or function"),
                )
            }
            What::TensorAddress(ty) => {
                help = Some(
                    "`tcgen05.alloc` writes the address as a `.b32`; load it from there".into(),
                );
                (
                    Code::Type,
                    format!("addresses in Tensor Memory have 32 bits, this is a `{ty}` register"),
                )
            }
            What::NeedsTensorAddress => {
                help = Some("load it into a 32-bit register: `[%r1]`, `[%r1+8]`".into());
                (
                    Code::Operand,
                    "an address in Tensor Memory is a register, with an offset or without".into(),
                )
            }
            What::OffsetOfFloat => {
                help = Some("add it with `add` first".into());
                (Code::Operand, "an offset is added to integer registers only".into())
            }
            What::Argument => {
                help = Some("compute it into a register first: `add`, `mov`".into());
                let message = format!(
                    "`{opcode}` is made of other instructions on `{}`, which take no `{text}`",
                    self.module.info.target
                );
                (Code::Operand, message)
            }
            What::Object(want) => {
                help = Some(format!(
                    "declare `.global {want} name;`, or load a handle into a register"
                ));
                (Code::Type, format!("`{text}` is no `{want}` variable and no register"))
            }
            What::OpaqueVariable => {
                help = Some("`mov.u64` takes its handle".into());
                (
                    Code::Type,
                    format!("`{text}` is no memory: it names a texture, sampler or surface"),
                )
            }
            What::NarrowAddress if text.starts_with(['%', '[']) => {
                help = Some("widen it with `cvt.u64.u32`, or use a `.b64` register".into());
                (Code::Type, format!("`{text}` has 32 bits, addresses of this module have 64"))
            }
            What::NarrowAddress => (Code::Type, "the address of this variable has 64 bits".into()),
            What::Call => {
                help = Some("`call (results), function, (arguments);`, indirect: `call (results), %rd1, (arguments), prototype;`".into());
                (Code::Call, "this is no call".into())
            }
        };
        let diag = self.error(code, span, message);
        if let Some(help) = help {
            diag.help(help);
        }
        diag.note(format!("`{syntax}`, PTX ISA {section}"));
    }
}
