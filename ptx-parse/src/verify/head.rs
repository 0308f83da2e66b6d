//! Module header, variables, function heads.

use ptx_isa::types::{PtxVersion, Suffix, Target, ptx};
use ptx_isa::{Space, Ty};

use super::Verifier;
use super::scope::Def;
use crate::ast::{self, DeclSpace, DirectiveKind, FnKind, Item, Var};
use crate::diag::{Code, Diag};
use crate::module::{Body, Func, Linkage, Param, Prototype, Symbol, Tuning};
use crate::span::Span;

/// Versions of the PTX ISA: last minor number of each major one, from 1 on.
const LAST_MINOR: [u8; 9] = [5, 3, 2, 3, 0, 5, 8, 8, 4];

/// Architectures: number, first PTX version, versions of the `a` and `f` variants.
type Arch = (u16, PtxVersion, Option<PtxVersion>, Option<PtxVersion>);
const ARCHS: &[Arch] = &[
    (10, ptx(1, 0), None, None),
    (11, ptx(1, 0), None, None),
    (12, ptx(1, 2), None, None),
    (13, ptx(1, 2), None, None),
    (20, ptx(2, 0), None, None),
    (21, ptx(2, 0), None, None),
    (30, ptx(3, 0), None, None),
    (32, ptx(4, 0), None, None),
    (35, ptx(3, 1), None, None),
    (37, ptx(4, 1), None, None),
    (50, ptx(4, 0), None, None),
    (52, ptx(4, 1), None, None),
    (53, ptx(4, 2), None, None),
    (60, ptx(5, 0), None, None),
    (61, ptx(5, 0), None, None),
    (62, ptx(5, 0), None, None),
    (70, ptx(6, 0), None, None),
    (72, ptx(6, 1), None, None),
    (75, ptx(6, 3), None, None),
    (80, ptx(7, 0), None, None),
    (86, ptx(7, 1), None, None),
    (87, ptx(7, 4), None, None),
    (88, ptx(9, 0), None, None),
    (89, ptx(7, 8), None, None),
    (90, ptx(7, 8), Some(ptx(8, 0)), None),
    (100, ptx(8, 6), Some(ptx(8, 6)), Some(ptx(8, 8))),
    (101, ptx(8, 6), Some(ptx(8, 6)), Some(ptx(8, 8))),
    (103, ptx(8, 8), Some(ptx(8, 8)), Some(ptx(8, 8))),
    (110, ptx(9, 0), Some(ptx(9, 0)), Some(ptx(9, 0))),
    (120, ptx(8, 7), Some(ptx(8, 7)), Some(ptx(8, 8))),
    (121, ptx(8, 8), Some(ptx(8, 8)), Some(ptx(8, 8))),
];

impl Verifier<'_, '_> {
    /// `.version`, `.target`, `.address_size`, which open every module.
    pub(super) fn header(&mut self) {
        let ast = self.ast;
        let mut directives = ast.items.iter().filter_map(|i| match i {
            Item::Directive(d) => Some(ast.directive(*d)),
            _ => None,
        });
        let first = ast.items.iter().find(|i| !matches!(i, Item::Section(_)));
        let opens = matches!(first, Some(Item::Directive(d)) if ast.directive(*d).kind == DirectiveKind::Version);
        if !opens {
            let mut d =
                Diag::error(Code::Directive, Span::point(0), "a module begins with `.version`");
            d.help("write `.version 9.0` and `.target sm_75` first");
            self.diags.push(d);
        }
        let mut target = false;
        let (mut versions, mut sizes) = (0, 0);
        for d in directives.by_ref() {
            match d.kind {
                DirectiveKind::Version => {
                    versions += 1;
                    if versions == 1 {
                        self.version(d);
                    } else {
                        self.error(Code::Directive, d.span, "`.version` stands here a second time");
                    }
                }
                DirectiveKind::Target => {
                    target = true;
                    self.target(d);
                }
                DirectiveKind::AddressSize => {
                    sizes += 1;
                    match ast.ints(d.ints) {
                        [32] if sizes == 1 => self.module.info.address_bits = 32,
                        [64] if sizes == 1 => self.module.info.address_bits = 64,
                        [32 | 64] => {
                            self.error(
                                Code::Directive,
                                d.span,
                                "`.address_size` stands here a second time",
                            );
                        }
                        _ => self.error(Code::Directive, d.span, "an address size is 32 or 64"),
                    }
                    if self.module.info.version < ptx(2, 3) {
                        self.error(
                            Code::Version,
                            d.span,
                            "`.address_size` needs `.version 2.3` or later",
                        );
                    }
                }
                _ => {}
            }
        }
        if opens && !target {
            let mut d =
                Diag::error(Code::Directive, Span::point(0), "the module names no `.target`");
            d.help("write `.target sm_75` after `.version`");
            self.diags.push(d);
        }
    }

    fn version(&mut self, d: &ast::Directive) {
        let ast = self.ast;
        let text = ast.words(d.words).first().map_or("", |w| ast.name(w.name));
        let parsed =
            text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let known = |major: u8, minor: u8| {
            LAST_MINOR.get((major as usize).wrapping_sub(1)).is_some_and(|last| minor <= *last)
        };
        match parsed {
            Some((major, minor)) if known(major, minor) => {
                self.module.info.version = ptx(major, minor);
            }
            _ => {
                let mut e =
                    Diag::error(Code::Version, d.span, format!("there is no PTX version `{text}`"));
                e.note("versions go from 1.0 to 9.4");
                self.diags.push(e);
                // Everything that follows is judged by the newest version.
                self.module.info.version = ptx(9, 4);
            }
        }
    }

    fn target(&mut self, d: &ast::Directive) {
        let ast = self.ast;
        let mut found: Option<Target> = None;
        let (mut map, mut independent) = (false, false);
        for w in ast.words(d.words) {
            let text = ast.name(w.name);
            match text {
                "texmode_unified" | "debug" => {}
                "texmode_independent" => independent = true,
                "map_f64_to_f32" => map = true,
                _ => match self.arch(text) {
                    Ok(t) => found = Some(t),
                    Err(mut e) => {
                        e.span = ast.word_span(*w);
                        self.diags.push(*e);
                        found = Some(Target { suffix: Suffix::Arch, ..Target::plain(121) });
                    }
                },
            }
        }
        match found {
            Some(mut t) => {
                t.map_f64_to_f32 = map || t.sm < 13;
                t.texmode_independent = independent;
                self.module.info.target = t;
            }
            None => self.error(Code::Target, d.span, "`.target` names no architecture"),
        }
    }

    fn arch(&self, text: &str) -> Result<Target, Box<Diag>> {
        let unknown = || {
            let mut e =
                Diag::error(Code::Target, Span::default(), format!("there is no target `{text}`"));
            let names = ARCHS.iter().map(|a| format!("sm_{}", a.0));
            let near = names.min_by_key(|n| ptx_isa::table::edit_distance(n, text));
            if let Some(n) = near.filter(|n| ptx_isa::table::edit_distance(n, text) <= 2) {
                e.help(format!("did you mean `{n}`?"));
            }
            Box::new(e)
        };
        let rest = text.strip_prefix("sm_").ok_or_else(unknown)?;
        let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let sm: u16 = digits.parse().map_err(|_| unknown())?;
        let row = ARCHS.iter().find(|a| a.0 == sm).ok_or_else(unknown)?;
        let (since, suffix) = match &rest[digits.len()..] {
            "" => (Some(row.1), Suffix::None),
            "a" => (row.2, Suffix::Arch),
            "f" => (row.3, Suffix::Family),
            _ => return Err(unknown()),
        };
        let since = since.ok_or_else(unknown)?;
        if self.module.info.version < since {
            let mut e = Diag::error(
                Code::Version,
                Span::default(),
                format!("target `{text}` needs `.version {since}` or later"),
            );
            e.note(format!("the module says {}", self.module.info.version));
            return Err(Box::new(e));
        }
        Ok(Target { suffix, ..Target::plain(sm) })
    }

    /// A variable as data; `None` when its declaration is broken (reported).
    pub(super) fn variable(&mut self, var: &Var, space: Space) -> Option<Symbol> {
        let ast = self.ast;
        let ty = self.declared_type(var)?;
        let opaque = matches!(ty, Ty::TexRef | Ty::SamplerRef | Ty::SurfRef);
        if ty == Ty::Pred {
            self.error(Code::Type, var.span, "predicates live in registers only");
            return None;
        }
        let elem = if opaque { 8 } else { ty.bytes() as u64 } * var.vector.max(1) as u64;
        let mut count: u64 = 1;
        let mut unsized_array = false;
        for (i, d) in ast.ints(var.dims).iter().enumerate() {
            if *d == Var::UNSIZED {
                if i > 0 {
                    self.error(
                        Code::Declaration,
                        var.span,
                        "only the first dimension may be empty",
                    );
                    return None;
                }
                unsized_array = true;
            } else {
                count = count.saturating_mul(*d);
            }
        }
        let natural = if var.vector > 0 { elem as u32 } else { ty.bytes().max(1) };
        if var.align != 0 && !var.align.is_power_of_two() {
            self.error(Code::Declaration, var.span, "an alignment is a power of two");
        }
        let mut symbol = Symbol {
            name: ast.name(var.name.name).to_string(),
            space,
            ty,
            align: if var.align != 0 {
                var.align
            } else if opaque {
                8
            } else {
                natural
            },
            size: if unsized_array { 0 } else { elem.saturating_mul(count) },
            array: var.dims.count > 0,
            linkage: linkage(var.linkage),
            managed: ast.words(var.attributes).iter().any(|w| ast.name(w.name) == ".managed"),
            init: Vec::new(),
            relocations: Vec::new(),
            span: var.span.start..var.span.end,
        };
        if symbol.size > 1 << 40 {
            self.error(Code::Limit, var.span, "the variable is larger than any device's memory");
            return None;
        }
        if let Some(init) = ast.init(var) {
            if !matches!(space, Space::Global | Space::Const) {
                self.error(
                    Code::Initializer,
                    var.span,
                    "only variables in `.global` and `.const` space have initial values",
                );
            } else {
                self.initial_value(var, init, &mut symbol, elem, unsized_array);
            }
        } else if unsized_array && symbol.linkage != Linkage::Extern && space != Space::Shared {
            self.error(
                Code::Declaration,
                var.span,
                "an array without size must be `.extern` or have an initial value",
            );
        }
        Some(symbol)
    }

    /// A variable at module scope.
    pub(super) fn module_var(&mut self, var: &Var) {
        let ast = self.ast;
        let space = match var.space {
            DeclSpace::Global => Space::Global,
            DeclSpace::Const => Space::Const,
            DeclSpace::Shared => Space::Shared,
            DeclSpace::Local => Space::Local,
            DeclSpace::Tex => Space::Tex,
            DeclSpace::Reg | DeclSpace::Param | DeclSpace::Sreg | DeclSpace::Missing => {
                let text = match var.space {
                    DeclSpace::Missing => "the declaration names no state space".to_string(),
                    s => format!("`{}` variables are declared inside functions", s.text()),
                };
                return self.error(Code::Space, var.span, text);
            }
        };
        let Some(mut symbol) = self.variable(var, space) else { return };
        if space == Space::Tex {
            // PTX 1.x: a texture reference in its own space.
            symbol.space = Space::Global;
            symbol.ty = Ty::TexRef;
            symbol.size = 8;
        }
        let word = var.name;
        match self.scopes.module.get(word.name.index()).copied() {
            Some(Def::None) => {
                let id = self.module.symbols.len() as u32;
                self.scopes.module[word.name.index()] = Def::Symbol(id);
                self.module.symbols.push(symbol);
            }
            Some(Def::Symbol(id)) => {
                // A declaration and its definition are one variable.
                let old = &mut self.module.symbols[id as usize];
                let redeclares = old.linkage == Linkage::Extern
                    || old.linkage == Linkage::Weak
                    || symbol.linkage == Linkage::Extern;
                let first = old_span(&old.span);
                if !redeclares || old.space != symbol.space || old.ty != symbol.ty {
                    self.duplicate(ast.word_span(word), ast.name(word.name), Some(first));
                } else if old.linkage == Linkage::Extern {
                    *old = symbol;
                }
            }
            Some(_) => self.duplicate(ast.word_span(word), ast.name(word.name), None),
            None => {}
        }
    }

    pub(super) fn duplicate(&mut self, span: Span, name: &str, first: Option<Span>) {
        let mut d = Diag::error(Code::Duplicate, span, format!("`{name}` is declared twice"));
        if let Some(first) = first {
            d.also(first, "first declared here");
        }
        self.diags.push(d);
    }

    /// A parameter or result.
    pub(super) fn param(&mut self, var: &Var, entry: bool) -> Option<Param> {
        let ast = self.ast;
        let reg = var.space == DeclSpace::Reg;
        if !reg && var.space != DeclSpace::Param {
            let text =
                format!("a parameter is declared `.param` or `.reg`, not `{}`", var.space.text());
            self.error(Code::Space, var.span, text);
            return None;
        }
        if reg && entry {
            self.error(Code::Space, var.span, "a kernel's parameters are declared `.param`");
            return None;
        }
        if reg {
            let ty = self.declared_type(var)?;
            return Some(Param {
                name: ast.name(var.name.name).to_string(),
                ty,
                align: ty.bytes(),
                size: ty.bytes(),
                array: false,
                reg: Some(u32::MAX),
                ptr: None,
            });
        }
        let symbol = self.variable(var, Space::ParamFunc)?;
        let ptr = var.ptr.map(|p| {
            let space = match p.space {
                DeclSpace::Global => Space::Global,
                DeclSpace::Const => Space::Const,
                DeclSpace::Local => Space::Local,
                DeclSpace::Shared => Space::Shared,
                _ => Space::Generic,
            };
            (space, p.align)
        });
        Some(Param {
            name: symbol.name,
            ty: symbol.ty,
            align: symbol.align,
            size: symbol.size as u32,
            array: symbol.array,
            reg: None,
            ptr,
        })
    }

    /// A signature's parameters.
    pub(super) fn params(&mut self, vars: &[Var], entry: bool) -> Vec<Param> {
        vars.iter().filter_map(|v| self.param(v, entry)).collect()
    }

    /// A `.callprototype`.
    pub(super) fn prototype(&mut self, f: &ast::Function) -> Prototype {
        let ast = self.ast;
        Prototype {
            rets: self.params(ast.vars(f.returns), false),
            params: self.params(ast.vars(f.params), false),
            noreturn: ast.attrs(f.attrs).iter().any(|a| ast.name(a.name.name) == ".noreturn"),
        }
    }

    /// A kernel or function, declared or defined.
    pub(super) fn function(&mut self, f: &ast::Function) {
        let ast = self.ast;
        if !Self::is_function(f.kind) {
            return;
        }
        let entry = f.kind == FnKind::Entry;
        let func = Func {
            name: ast.name(f.name.name).to_string(),
            entry,
            linkage: match f.linkage {
                ast::Linkage::None => Linkage::Internal,
                l => linkage(l),
            },
            rets: self.params(ast.vars(f.returns), entry),
            params: self.params(ast.vars(f.params), entry),
            noreturn: ast.attrs(f.attrs).iter().any(|a| ast.name(a.name.name) == ".noreturn"),
            tuning: self.tuning(f),
            body: None,
            alias: None,
            span: f.name.start..ast.word_span(f.name).end,
        };
        if entry && func.params.iter().map(|p| p.size as u64).sum::<u64>() > self.param_limit() {
            let text = format!("the parameters take more than {} bytes", self.param_limit());
            self.error(Code::Limit, f.span, text);
        }
        let slot = self.scopes.module.get(f.name.name.index()).copied();
        let id = match slot {
            Some(Def::Func(id)) => {
                let old = &self.module.functions[id as usize];
                let same = |a: &[Param], b: &[Param]| {
                    a.len() == b.len()
                        && a.iter().zip(b).all(|(x, y)| {
                            x.ty == y.ty && x.size == y.size && x.reg.is_some() == y.reg.is_some()
                        })
                };
                let span = old_span(&old.span);
                if old.entry != entry
                    || !same(&old.params, &func.params)
                    || !same(&old.rets, &func.rets)
                {
                    let mut d = Diag::error(
                        Code::Declaration,
                        ast.word_span(f.name),
                        format!(
                            "`{}` is declared before with other parameters or results",
                            func.name
                        ),
                    );
                    d.also(span, "declared here");
                    self.diags.push(d);
                } else if old.body.is_some() && f.body.is_some() {
                    self.duplicate(ast.word_span(f.name), &func.name, Some(span));
                    return;
                }
                if f.body.is_some() {
                    self.module.functions[id as usize] = func;
                }
                id
            }
            Some(Def::None) => {
                let id = self.module.functions.len() as u32;
                self.scopes.module[f.name.name.index()] = Def::Func(id);
                self.module.functions.push(func);
                id
            }
            Some(_) => return self.duplicate(ast.word_span(f.name), &func.name, None),
            None => return,
        };
        if let Some(run) = f.body {
            self.func = id;
            self.body = Body::default();
            self.function_body(f, run);
            let mut body = std::mem::take(&mut self.body);
            body.end = f.end..f.end + 1;
            self.module.functions[id as usize].body = Some(body);
        }
    }

    /// Bytes of parameters that a kernel may have.
    fn param_limit(&self) -> u64 {
        let info = self.module.info;
        match info.target.sm {
            0..20 => 256,
            70.. if info.version >= ptx(8, 1) => 32764,
            _ => 4352,
        }
    }

    fn tuning(&mut self, f: &ast::Function) -> Tuning {
        let ast = self.ast;
        let mut t = Tuning::default();
        for a in ast.attrs(f.attrs) {
            let ints = ast.ints(a.ints);
            let one = ints.first().map(|v| *v as u32);
            let three = || {
                let at = |i: usize| ints.get(i).map_or(1, |v| *v as u32);
                (!ints.is_empty()).then(|| [at(0), at(1), at(2)])
            };
            let name = ast.name(a.name.name);
            let entry_only = !matches!(
                name,
                ".noreturn" | ".pragma" | ".abi_preserve" | ".abi_preserve_control" | ".language"
            );
            if entry_only && f.kind != FnKind::Entry {
                self.error(
                    Code::Directive,
                    ast.word_span(a.name),
                    format!("`{name}` belongs to kernels"),
                );
                continue;
            }
            match name {
                ".maxntid" => t.max_ntid = three(),
                ".reqntid" => t.req_ntid = three(),
                ".maxnreg" => t.max_nreg = one,
                ".minnctapersm" => t.min_ncta_per_sm = one,
                ".maxnctapersm" => t.max_ncta_per_sm = one,
                ".reqnctapercluster" => t.req_ncta_per_cluster = three(),
                ".maxclusterrank" => t.max_cluster_rank = one,
                ".explicitcluster" => t.explicit_cluster = true,
                _ => {}
            }
        }
        if t.max_ntid.is_some() && t.req_ntid.is_some() {
            self.error(Code::Directive, f.span, "`.maxntid` and `.reqntid` exclude each other");
        }
        t
    }
}

fn old_span(r: &std::ops::Range<u32>) -> Span {
    Span::new(r.start, r.end)
}

fn linkage(l: ast::Linkage) -> Linkage {
    match l {
        ast::Linkage::None => Linkage::Internal,
        ast::Linkage::Extern => Linkage::Extern,
        ast::Linkage::Visible => Linkage::Visible,
        ast::Linkage::Weak => Linkage::Weak,
        ast::Linkage::Common => Linkage::Common,
    }
}
