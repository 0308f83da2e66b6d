//! Functions: declarations, parameters, bodies, labels (PTX ISA 11.2, 11.3, 11.7).

use super::Verifier;
use super::declare::{components, linkage};
use super::scope::Binding;
use crate::ast::{self, DeclSpace, Directive, DirectiveKind, FnKind, Instr, Run, Stmt, Word};
use crate::diag::{Code, closest};
use crate::module::{Body, Func, Inst, Linkage, Loc, Param, Prototype, Text};
use crate::span::Span;
use ptx_isa::Ty;
use ptx_isa::types::ptx;

/// Moves a body out; the vectors keep their room for the next one, and what is moved has no
/// room to spare.
fn take(body: &mut Body) -> Body {
    fn exact<T>(from: &mut Vec<T>) -> Vec<T> {
        let mut list = Vec::with_capacity(from.len());
        list.append(from);
        list
    }
    Body {
        regs: exact(&mut body.regs),
        vars: exact(&mut body.vars),
        insts: exact(&mut body.insts),
        operands: exact(&mut body.operands),
        labels: exact(&mut body.labels),
        branch_targets: exact(&mut body.branch_targets),
        call_targets: exact(&mut body.call_targets),
        prototypes: exact(&mut body.prototypes),
        locs: exact(&mut body.locs),
        nounroll: exact(&mut body.nounroll),
        end: body.end.clone(),
    }
}

/// Where the labels of each block stand that are in none of its inner blocks; blocks in the order of their `{`, the body
/// itself first.
fn labels_by_block(stmts: &[Stmt]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    let mut open = vec![0];
    for (i, stmt) in stmts.iter().enumerate() {
        match stmt {
            Stmt::Open(_) => {
                open.push(all.len());
                all.push(Vec::new());
            }
            Stmt::Close(_) if open.len() > 1 => {
                open.pop();
            }
            Stmt::Label(_) => all[open[open.len() - 1]].push(i),
            Stmt::Close(_)
            | Stmt::Instr(_)
            | Stmt::Var(_)
            | Stmt::Directive(_)
            | Stmt::Prototype(_) => {}
        }
    }
    all
}

impl Verifier<'_> {
    /// A function or entry at module scope, or the prototype of one in a body.
    pub(super) fn function(&mut self, f: &ast::Function) {
        let id = self.declare_function(f);
        let Some(run) = f.body else { return };
        self.loc = None;
        self.reported.clear();
        self.in_entry = f.kind == FnKind::Entry;
        self.function = id;
        let outside = self.scopes.depth();
        self.scopes.open();
        self.register_params(f, id);
        self.bind_params(f);
        if self.in_entry {
            for var in self.module_regs.clone() {
                self.registers(&var);
            }
        }
        self.statements(run);
        // A tree with gaps may lack braces: nothing of this body outlives it.
        while self.scopes.depth() > outside {
            self.scopes.close();
        }
        self.body.end = f.end.saturating_sub(1)..f.end;
        let body = take(&mut self.body);
        if let Some(func) = self.module.functions.get_mut(id) {
            func.body = Some(body.into());
        }
    }

    /// Adds the parameters that are registers to the body.
    fn register_params(&mut self, f: &ast::Function, id: usize) {
        let ast = self.ast;
        let in_registers = |run| ast.vars(run).iter().any(|v| v.space == DeclSpace::Reg);
        if !in_registers(f.returns) && !in_registers(f.params) {
            return;
        }
        // The findings are there from the declaration.
        let before = self.diags.len();
        let (rets, params) = self.params(f, true);
        self.diags.truncate(before);
        if let Some(func) = self.module.functions.get_mut(id) {
            (func.rets, func.params) = (rets, params);
        }
    }

    fn params(&mut self, f: &ast::Function, define: bool) -> (Vec<Param>, Vec<Param>) {
        let ast = self.ast;
        let entry = f.kind == FnKind::Entry;
        let returns = ast.vars(f.returns);
        let rets: Vec<_> = returns.iter().flat_map(|v| self.param(v, false, define)).collect();
        let params: Vec<_> =
            ast.vars(f.params).iter().flat_map(|v| self.param(v, entry, define)).collect();
        if entry && !rets.is_empty() {
            self.error(Code::Declaration, f.span, "a kernel returns nothing");
        }
        let in_memory = returns.iter().any(|v| v.space == DeclSpace::Param);
        if returns.len() > 1 && in_memory {
            self.error(Code::Declaration, f.span, "only registers can return several values")
                .help("return one `.param` array, or declare the results as `.reg`");
        }
        let bytes: u64 = params.iter().map(|p| u64::from(p.size)).sum();
        if entry && bytes > self.param_limit() {
            let message =
                format!("the parameters take {bytes} bytes, {} are possible", self.param_limit());
            self.error(Code::Limit, f.span, message);
        }
        let unsized_early =
            |list: &[Param]| list.iter().rev().skip(1).any(|p| p.array && p.size == 0);
        if !entry && unsized_early(&params) {
            self.error(
                Code::Declaration,
                f.span,
                "only the last parameter may be an array without size",
            );
        }
        (rets, params)
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

    /// `.param` names: results first, then parameters.
    fn bind_params(&mut self, f: &ast::Function) {
        let ast = self.ast;
        let returns = ast.vars(f.returns);
        self.returns = returns.iter().map(components).sum();
        let mut next = 0;
        for var in returns.iter().chain(ast.vars(f.params)) {
            if var.space == DeclSpace::Param {
                self.bind(var.name, Binding::Param(next));
            }
            next += components(var);
        }
    }

    /// Enters a function into the module, or finds its earlier declaration.
    fn declare_function(&mut self, f: &ast::Function) -> usize {
        let span = self.span_of(f.name);
        let name = self.text(f.name.name);
        let entry = f.kind == FnKind::Entry;
        let (rets, params) = self.params(f, false);
        if f.body.is_some() {
            for var in self.ast.vars(f.returns).iter().chain(self.ast.vars(f.params)) {
                if self.text(var.name.name) == "_" {
                    let span = self.span_of(var.name);
                    let message = "a parameter of a defined function needs a name";
                    self.error(Code::Declaration, span, message);
                }
            }
        }
        let (tuning, noreturn) = self.head_attrs(f);
        if noreturn && !rets.is_empty() {
            self.error(
                Code::Directive,
                span,
                "a function that returns values cannot be `.noreturn`",
            );
        }
        if f.attributes.count > 0 {
            self.need(span, "`.attribute` on a function", ptx(8, 0), 90);
        }
        let func = Func {
            name: Text::new(&self.module.source, span.start..span.end),
            entry,
            linkage: linkage(f.linkage),
            rets,
            params,
            noreturn,
            tuning,
            body: None,
            alias: None,
            span: span.start..span.end,
        };
        match self.scopes.get(f.name.name) {
            Binding::Func(id) => {
                self.same_function(id as usize, func, f, span);
                id as usize
            }
            Binding::None | Binding::Special(_) => {
                if f.body.is_some() && f.linkage == ast::Linkage::Extern {
                    self.error(
                        Code::Declaration,
                        span,
                        format!("`.extern` function `{name}` has a body"),
                    )
                    .help("write `.visible` for a function that other modules may call");
                }
                let id = self.module.functions.len();
                self.module.functions.push(func);
                let binding = Binding::Func(id as u32);
                self.scopes.set(f.name.name, binding, span, 0);
                id
            }
            _ => {
                let first = self.scopes.place(f.name.name);
                self.duplicate(f.name, first);
                usize::MAX
            }
        }
    }

    /// A further declaration or the definition of a function.
    fn same_function(&mut self, id: usize, func: Func, f: &ast::Function, span: Span) {
        let earlier = &self.module.functions[id];
        let first = Span::new(earlier.span.start, earlier.span.end);
        let name = func.name.clone();
        let alike = |a: &[Param], b: &[Param]| {
            a.len() == b.len()
                && a.iter().zip(b).all(|(x, y)| x.size == y.size && x.array == y.array)
        };
        if earlier.body.is_some() && f.body.is_some() {
            self.error(Code::Duplicate, span, format!("`{name}` is defined twice"))
                .also(first, "first defined here");
        } else if !alike(&earlier.params, &func.params)
            || !alike(&earlier.rets, &func.rets)
            || earlier.entry != func.entry
        {
            self.error(
                Code::Declaration,
                span,
                format!("`{name}` differs from its earlier declaration"),
            )
            .also(first, "declared here")
            .note("parameters and results must agree in number and type");
        } else if earlier.linkage != func.linkage
            && (func.linkage != Linkage::Internal || earlier.linkage == Linkage::Extern)
        {
            self.error(
                Code::Declaration,
                span,
                format!("the linkage of `{name}` differs from its declaration"),
            )
            .also(first, "declared here")
            .note("`.extern` is for functions that other modules define");
        } else if f.body.is_some() {
            let alias = self.module.functions[id].alias;
            self.module.functions[id] = Func { alias, ..func };
        }
    }

    /// A function that was declared without `.extern` and never defined.
    pub(super) fn unresolved(&mut self, id: usize) {
        let f = &self.module.functions[id];
        let open = f.body.is_none() && f.alias.is_none();
        if open && f.linkage != Linkage::Extern {
            let span = Span::new(f.span.start, f.span.end);
            let message = format!("`{}` is declared but not defined", f.name);
            self.error(Code::Declaration, span, message)
                .help("add its body, or declare it `.extern` if another module defines it");
        }
    }

    pub(super) fn alias(&mut self, span: Span, words: &[Word]) {
        self.need(span, "`.alias`", ptx(6, 3), 30);
        let [alias, target] = words else { return };
        let mut ids = [0; 2];
        for (id, word) in ids.iter_mut().zip([alias, target]) {
            match self.scopes.get(word.name) {
                Binding::Func(f) => *id = f,
                _ => {
                    let name = self.text(word.name);
                    let span = self.span_of(*word);
                    self.error(Code::UnknownName, span, format!("`{name}` is no function that was declared"))
                        .note("both functions of an `.alias` are declared before it, the second with a body");
                    return;
                }
            }
        }
        if self.module.functions[ids[0] as usize].body.is_some() {
            let span = self.span_of(*alias);
            self.error(Code::Declaration, span, "a function with a body cannot be an alias");
            return;
        }
        if self.module.functions[ids[1] as usize].body.is_none() {
            let span = self.span_of(*target);
            self.error(
                Code::Declaration,
                span,
                "an alias stands for a function that is defined here",
            );
            return;
        }
        self.module.functions[ids[0] as usize].alias = Some(ids[1]);
    }

    fn statements(&mut self, run: Run) {
        let ast = self.ast;
        let body_scope = self.scopes.depth();
        let stmts = ast.stmts(run);
        // Labels may be used before they stand: those of a block are declared where it opens.
        let labels = labels_by_block(stmts);
        let mut blocks = labels.iter();
        self.declare_labels(stmts, blocks.next());
        self.body.insts.reserve(stmts.len());
        self.body.operands.reserve(stmts.len() * 3);
        for (i, stmt) in stmts.iter().enumerate() {
            match *stmt {
                Stmt::Instr(index) => self.instr(ast.instr(index)),
                Stmt::Label(index) => {
                    if let Binding::Label(id) = self.scopes.get(ast.label(index).name) {
                        let label = &mut self.body.labels[id as usize].1;
                        if *label == u32::MAX {
                            *label = self.body.insts.len() as u32;
                        }
                    }
                }
                Stmt::Var(index) => {
                    let var = ast.var(index);
                    match var.space {
                        DeclSpace::Reg => self.registers(var),
                        _ => self.variable(var, false),
                    }
                }
                Stmt::Directive(index) => {
                    let label = i.checked_sub(1).and_then(|i| stmts.get(i));
                    self.body_directive(ast.directive(index), label);
                }
                Stmt::Prototype(index) => {
                    let f = ast.function(index);
                    if f.kind == FnKind::Prototype {
                        let label = i.checked_sub(1).and_then(|i| stmts.get(i));
                        self.prototype(f, label);
                    } else {
                        self.declare_function(f);
                    }
                }
                Stmt::Open(_) => {
                    self.scopes.open();
                    self.declare_labels(stmts, blocks.next());
                }
                Stmt::Close(_) if self.scopes.depth() > body_scope => self.scopes.close(),
                Stmt::Close(_) => {}
            }
        }
    }

    /// Declares the labels that stand directly in a block, by their places in `stmts`.
    fn declare_labels(&mut self, stmts: &[Stmt], labels: Option<&Vec<usize>>) {
        let ast = self.ast;
        for &i in labels.into_iter().flatten() {
            let Stmt::Label(index) = stmts[i] else { continue };
            let word = ast.label(index);
            let binding = match stmts.get(i + 1) {
                Some(Stmt::Directive(d)) => match ast.directive(*d).kind {
                    DirectiveKind::BranchTargets => {
                        self.body.branch_targets.push(Vec::new());
                        Some(Binding::BranchTargets(self.body.branch_targets.len() as u32 - 1))
                    }
                    DirectiveKind::CallTargets => {
                        self.body.call_targets.push(Vec::new());
                        Some(Binding::CallTargets(self.body.call_targets.len() as u32 - 1))
                    }
                    _ => None,
                },
                Some(Stmt::Prototype(f)) if ast.function(*f).kind == FnKind::Prototype => {
                    self.body.prototypes.push(Prototype::default());
                    Some(Binding::Prototype(self.body.prototypes.len() as u32 - 1))
                }
                _ => None,
            };
            let binding = binding.unwrap_or_else(|| {
                let span = self.span_of(word);
                self.body.labels.push((span.start..span.end, u32::MAX));
                Binding::Label(self.body.labels.len() as u32 - 1)
            });
            let span = self.span_of(word);
            self.reserved(word);
            if let Err(first) = self.scopes.declare(word.name, binding, span) {
                let name = self.text(word.name);
                self.error(
                    Code::Duplicate,
                    span,
                    format!("label `{name}` stands twice in this block"),
                )
                .also(first, "first here");
            }
        }
    }

    /// The position that another one names as the one that it was inlined at: mostly a recent one.
    fn outer(&mut self, (file, line, column): (u32, u32, u32)) -> u32 {
        let locs = &mut self.body.locs;
        let near = locs.len().saturating_sub(1024);
        let same = |l: &Loc| (l.file, l.line, l.column) == (file, line, column);
        let known = locs[near..].iter().rposition(same).map(|at| near + at);
        known.unwrap_or_else(|| {
            locs.push(Loc { file, line, column, inlined: None });
            locs.len() - 1
        }) as u32
    }

    fn body_directive(&mut self, d: &Directive, label: Option<&Stmt>) {
        let ast = self.ast;
        let words = ast.words(d.words);
        let binding = match label {
            Some(Stmt::Label(index)) => Some(self.scopes.get(ast.label(*index).name)),
            _ => None,
        };
        match (d.kind, binding) {
            (DirectiveKind::Loc, _) => {
                if let [file, line, column, ..] = *ast.ints(d.ints) {
                    let n = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
                    let place = |file, line, column| (n(file), n(line), n(column));
                    let inlined = match *ast.ints(d.ints) {
                        [_, _, _, file, line, column, ..] => {
                            Some(self.outer(place(file, line, column)))
                        }
                        _ => None,
                    };
                    let (file, line, column) = place(file, line, column);
                    self.body.locs.push(Loc { file, line, column, inlined });
                    self.loc = Some(self.body.locs.len() as u32 - 1);
                }
                if !words.is_empty() {
                    self.need(d.span, "`inlined_at`", ptx(7, 2), 0);
                }
            }
            (DirectiveKind::Pragma, _) => {
                for word in words {
                    self.pragma(d.span, *word);
                }
                let kept_as_loop = words.iter().any(|w| self.text(w.name) == "\"nounroll\"");
                if kept_as_loop {
                    self.body.nounroll.push(self.body.insts.len() as u32);
                }
            }
            (DirectiveKind::BranchTargets, Some(Binding::BranchTargets(id))) => {
                self.need(d.span, "`.branchtargets`", ptx(2, 1), 20);
                let mut targets = Vec::new();
                for word in words {
                    self.branch_target(*word, &mut targets);
                }
                self.body.branch_targets[id as usize] = targets;
            }
            (DirectiveKind::CallTargets, Some(Binding::CallTargets(id))) => {
                self.need(d.span, "`.calltargets`", ptx(2, 1), 20);
                let mut targets = Vec::new();
                for word in words {
                    match self.scopes.get(word.name) {
                        Binding::Func(f) => targets.push(f),
                        _ => {
                            let name = self.text(word.name);
                            let span = self.span_of(*word);
                            self.error(Code::UnknownName, span, format!("`{name}` is no function"));
                        }
                    }
                }
                self.body.call_targets[id as usize] = targets;
            }
            (DirectiveKind::BranchTargets | DirectiveKind::CallTargets, _) => {
                self.error(Code::Label, d.span, "this list needs a label before it");
            }
            (DirectiveKind::LocIntermediate, _) => {
                self.need(d.span, "`.loc_intermediate`", ptx(9, 4), 0);
            }
            _ => {}
        }
    }

    fn branch_target(&mut self, word: Word, targets: &mut Vec<u32>) {
        let span = self.span_of(word);
        let text = self.text(word.name);
        let names: Vec<String> = match word.number {
            0 => vec![text.to_owned()],
            n => (0..n.min(1 << 16)).map(|i| format!("{text}{i}")).collect(),
        };
        for name in names {
            let id = self.ast.names().find(self.ast.source(), &name);
            match id.map(|id| self.scopes.get(id)) {
                Some(Binding::Label(id)) => targets.push(id),
                _ => {
                    self.unknown_label(&name, span);
                }
            }
        }
    }

    #[cold]
    pub(super) fn unknown_label(&mut self, name: &str, span: Span) {
        let source = self.ast.source();
        let labels = self.body.labels.iter().map(|l| l.0.start as usize..l.0.end as usize);
        let labels: Vec<&str> = labels.filter_map(|span| source.get(span)).collect();
        let near = closest(name, labels.iter().copied()).map(str::to_owned);
        let exists = labels.contains(&name);
        let diag =
            self.error(Code::Label, span, format!("no label `{name}` in this block or around it"));
        if exists {
            diag.note(
                "a label of that name stands in another block; branches cannot enter a block",
            );
        } else if let Some(near) = near {
            diag.help(format!("did you mean `{near}`?"));
        }
    }

    fn prototype(&mut self, f: &ast::Function, label: Option<&Stmt>) {
        let ast = self.ast;
        let binding = match label {
            Some(Stmt::Label(index)) => self.scopes.get(ast.label(*index).name),
            _ => Binding::None,
        };
        let Binding::Prototype(id) = binding else {
            self.error(Code::Label, f.span, "a `.callprototype` needs a label before it");
            return;
        };
        self.need(f.span, "`.callprototype`", ptx(2, 1), 20);
        let (rets, params) = self.params(f, false);
        let (_, noreturn) = self.head_attrs(f);
        if noreturn && !rets.is_empty() {
            self.error(
                Code::Directive,
                f.span,
                "a function that returns values cannot be `.noreturn`",
            );
        }
        self.body.prototypes[id as usize] = Prototype { rets, params, noreturn };
    }

    fn instr(&mut self, instr: &Instr) {
        let guard = match instr.guard() {
            Some(guard) => match self.guard_register(guard.name, instr) {
                Some(reg) => Some((reg, guard.negated)),
                None => return,
            },
            None => None,
        };
        let index = self.opcode(instr);
        let Some(known) = self.opcodes[index].known.take() else { return };
        let resolved = self.resolve(&known, index, instr);
        self.opcodes[index].known = Some(known);
        let Some((opcode, operands)) = resolved else { return };
        let mut span = instr.span();
        if guard.is_some() {
            span.start = self.ast.guard_span(instr).start;
        }
        self.body.insts.push(Inst {
            opcode,
            guard,
            operands,
            span: span.start..span.end,
            loc: self.loc,
        });
    }

    fn guard_register(&mut self, name: crate::Name, instr: &Instr) -> Option<u32> {
        let binding = self.lookup(name);
        if let Binding::Reg(reg) = binding
            && self.body.regs[reg as usize].ty == Ty::Pred
        {
            return Some(reg);
        }
        let span = self.ast.guard_span(instr);
        let text = self.text(name);
        match binding {
            Binding::None => self.unknown_name(name, span),
            _ => {
                self.error(Code::Guard, span, format!("`{text}` is no predicate register"))
                    .help("a guard is a `.reg .pred` register: `@%p1`, `@!%p1`");
            }
        }
        None
    }
}
