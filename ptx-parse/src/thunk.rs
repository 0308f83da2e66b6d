//! Functions between a call and a definition that disagree about a result: separate compilation lets a text declare a
//! function with a result and another define it without (or the other way about), and machine code does not mind.

use std::collections::HashMap;
use std::fmt::Write;

use crate::ast::{Ast, Function, Item, Linkage, Var};
use crate::link::{Mention, mention};
use crate::print::print_item;

/// Copies a part of a parameter: `BITS` from `FROM` to `TO`, both at `OFFSET`, through the register `VALUE`.
const COPY: &str = include_str!("thunk_copy.ptx");
/// Calls `CALLEE` and returns.
const CALL: &str = include_str!("thunk_call.ptx");

/// Type, alignment and dimensions.
type VarType = (String, u32, Vec<u64>);

fn shape(ast: &Ast<'_>, v: &Var) -> VarType {
    let ty = v.ty.map_or("", |t| ast.name(t.name));
    (ty.to_owned(), v.align, ast.ints(v.dims).to_vec())
}

fn shapes(ast: &Ast<'_>, f: &Function) -> [Vec<VarType>; 2] {
    [f.returns, f.params].map(|run| ast.vars(run).iter().map(|v| shape(ast, v)).collect())
}

/// The declaration of a function, without `;`.
fn head(ast: &mut Ast<'_>, f: &Function, linkage: Linkage) -> String {
    let index = ast.functions.len() as u32;
    ast.functions.push(Function { body: None, linkage, ..f.clone() });
    let mut out = String::new();
    print_item(ast, &Item::Function(index), &mut out);
    ast.functions.pop();
    out.trim_end().trim_end_matches(';').to_owned()
}

/// Bits of a type such as `.b32`.
fn bits(ty: &str) -> Option<u64> {
    let digits: String = ty.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|n| [8, 16, 32, 64].contains(n))
}

/// A parameter of the call, and copies from `from` into it; `None` for types that have no plain copy.
fn pass(out: &mut String, to: &str, from: &str, (ty, align, dims): &VarType) -> Option<()> {
    let bits = bits(ty)?;
    let align = if *align > 0 { format!(".align {align} ") } else { String::new() };
    let array: String = dims.iter().map(|n| format!("[{n}]")).collect();
    let register = bits.max(16);
    let _ = writeln!(out, "\t.param {align}{ty} {to}{array};\n\t.reg .b{register} {to}_value;");
    for i in 0..dims.iter().product() {
        let at = i * bits / 8;
        let copy = COPY.replace("BITS", &bits.to_string()).replace("OFFSET", &at.to_string());
        let copy = copy.replace("TO", to).replace("VALUE", &format!("{to}_value"));
        // The module's own name comes last: it may hold any of these words.
        out.push_str(&copy.replace("FROM", from));
    }
    Some(())
}

/// Gives every declaration whose result differs from the definition's a function of its own that calls the definition,
/// and returns these functions. Declarations whose parameters differ stay as they are.
pub(crate) fn thunks(asts: &mut [Ast<'_>], chosen: &HashMap<String, Mention>) -> String {
    let mut out = String::new();
    for i in 0..asts.len() {
        for item in 0..asts[i].items.len() {
            let Some((name, own)) = mention(&asts[i], i, item) else { continue };
            let text = asts[i].name(name).to_owned();
            let Some(best) = chosen.get(&text).filter(|b| b.input != i && b.defines) else {
                continue;
            };
            let (Item::Function(declared), Item::Function(defined)) =
                (asts[i].items[item], asts[best.input].items[best.item])
            else {
                continue;
            };
            if own.defines || own.entry || best.entry {
                continue;
            }
            let declared = asts[i].function(declared).clone();
            let defined = asts[best.input].function(defined).clone();
            let [results, params] = shapes(&asts[i], &declared);
            let [own_results, own_params] = shapes(&asts[best.input], &defined);
            // Of two results neither is the other: that stays an error.
            if params != own_params || results == own_results || results.len() == own_results.len()
            {
                continue;
            }
            let fresh = format!("{text}$R{i}");
            let mut body = String::new();
            for (n, (param, from)) in params.iter().zip(asts[i].vars(declared.params)).enumerate() {
                let from = asts[i].name(from.name.name);
                if pass(&mut body, &format!("ptxrun_a{n}"), from, param).is_none() {
                    body.clear();
                    break;
                }
            }
            if body.is_empty() && !params.is_empty() {
                continue;
            }
            let result = own_results.first().map(|(ty, align, dims)| {
                let align = if *align > 0 { format!(".align {align} ") } else { String::new() };
                let array: String = dims.iter().map(|n| format!("[{n}]")).collect();
                let _ = writeln!(body, "\t.param {align}{ty} ptxrun_r{array};");
                "(ptxrun_r), "
            });
            let args: Vec<String> = (0..params.len()).map(|n| format!("ptxrun_a{n}")).collect();
            let args =
                if args.is_empty() { String::new() } else { format!(", ({})", args.join(", ")) };
            let callee = format!("{}{text}{args}", result.unwrap_or(""));
            body.push_str(&CALL.replace("CALLEE", &callee));
            let defined = head(&mut asts[best.input], &defined, best.linkage);
            let src = asts[i].src.as_bytes();
            asts[i].names.rename(src, name, &fresh);
            let head = head(&mut asts[i], &declared, Linkage::None);
            let _ = writeln!(out, "{defined};\n{head}\n{{\n{body}}}");
        }
    }
    out
}
