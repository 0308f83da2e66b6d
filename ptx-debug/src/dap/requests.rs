//! Requests of the protocol while execution rests.

use serde_json::{Value, json};

use super::variables::{
    frame, lane_id, ptx_source, reference, referenced, scopes, source, stack, threads, variables,
};
use super::{Server, variables::standing};
use crate::answer::Answer;
use crate::command::{self, Command, Format, Motion, WatchKind};
use crate::execute::Reply;
use crate::expr;
use crate::front::Rest;
use crate::session::{LaneId, Resume};

/// What `initialize` answers.
pub(super) fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsSetVariable": true,
        "supportsSetExpression": true,
        "supportsRestartRequest": true,
        "supportsDataBreakpoints": true,
        "supportsDisassembleRequest": true,
        "supportsSteppingGranularity": true,
        "supportsInstructionBreakpoints": true,
        "supportsExceptionInfoRequest": true,
        "supportsTerminateRequest": true,
        "supportsLoadedSourcesRequest": true,
        "exceptionBreakpointFilters": [
            {"filter": "barrier", "label": "Barriers", "default": false},
        ],
    })
}

type Answered = Result<(Value, Option<Resume>), String>;

fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str, String> {
    value[name].as_str().ok_or_else(|| format!("`{name}` is missing"))
}

fn number(value: &Value, name: &str) -> Result<u64, String> {
    value[name].as_u64().ok_or_else(|| format!("`{name}` is missing"))
}

impl Server {
    /// Answers a request; it may let execution go on.
    pub(super) fn handle(&mut self, rest: &mut Rest<'_>, request: &Value) -> Answered {
        let a = &request["arguments"];
        let answer = |body: Value| Ok((body, None));
        match request["command"].as_str().unwrap_or("") {
            "setBreakpoints" => answer(self.source_breakpoints(rest, a)?),
            "setFunctionBreakpoints" => answer(self.named(rest, a, "function", "name")),
            "setInstructionBreakpoints" => {
                answer(self.named(rest, a, "instruction", "instructionReference"))
            }
            "setExceptionBreakpoints" => {
                let filters = a["filters"].as_array().cloned().unwrap_or_default();
                rest.session.catch_barrier = filters.iter().any(|f| f == "barrier");
                answer(Value::Null)
            }
            "dataBreakpointInfo" => answer(data_info(rest, a)),
            "setDataBreakpoints" => answer(self.data_breakpoints(rest, a)),
            "threads" => answer(json!({"threads": threads(rest, self.launch.lanes)})),
            "stackTrace" => {
                let all = stack(rest, number(a, "threadId")?, self.base)?;
                let total = all.len();
                let start = a["startFrame"].as_u64().unwrap_or(0) as usize;
                let levels = a["levels"].as_u64().filter(|n| *n > 0).unwrap_or(u64::MAX);
                let shown: Vec<_> =
                    all.into_iter().skip(start).take(levels.min(1 << 20) as usize).collect();
                answer(json!({"stackFrames": shown, "totalFrames": total}))
            }
            "scopes" => answer(json!({"scopes": scopes(rest, number(a, "frameId")?)})),
            "variables" => {
                let reference = number(a, "variablesReference")?;
                let (id, up) = frame(rest, reference / 8)?;
                self.look(rest, id, up);
                answer(json!({"variables": variables(rest, reference)?}))
            }
            "evaluate" => self.evaluate(rest, a),
            "setVariable" => {
                let (id, up) = frame(rest, number(a, "variablesReference")? / 8)?;
                self.look(rest, id, up);
                answer(set(rest, text(a, "name")?, text(a, "value")?)?)
            }
            "setExpression" => {
                if let Some(id) = a["frameId"].as_u64() {
                    let (id, up) = frame(rest, id)?;
                    self.look(rest, id, up);
                }
                answer(set(rest, text(a, "expression")?, text(a, "value")?)?)
            }
            "source" => {
                let text = rest.session.code.kernel.program().source.to_string();
                answer(json!({"content": text}))
            }
            "loadedSources" => {
                let mut all = vec![ptx_source(rest)];
                for (file, name) in rest.session.code.source_files() {
                    if let Some(path) = rest.session.code.source_path(*file) {
                        all.push(json!({"name": name, "path": path.display().to_string()}));
                    }
                }
                answer(json!({"sources": all}))
            }
            "disassemble" => answer(disassemble(rest, a, self.base)?),
            "exceptionInfo" => {
                let text = rest.stop_text().to_string();
                let first = text.lines().next().unwrap_or("").to_owned();
                answer(json!({
                    "exceptionId": first,
                    "description": text,
                    "breakMode": "always",
                }))
            }
            "restart" => {
                let resume = Resume::Restart { stop: self.launch.stop_on_entry };
                Ok((Value::Null, Some(resume)))
            }
            other => self.motion(rest, other, a),
        }
    }

    /// Looks at a lane and an activation.
    fn look(&self, rest: &mut Rest<'_>, id: LaneId, up: u32) {
        rest.session.focus = id;
        rest.session.up = up;
    }

    /// Requests that let execution go on.
    fn motion(&mut self, rest: &mut Rest<'_>, name: &str, a: &Value) -> Answered {
        let by_instruction = a["granularity"] == "instruction";
        let step = |over| match by_instruction {
            true => Motion::Instruction { over },
            false => Motion::Line { over },
        };
        let forward = |motion| Resume::Forward { motion, count: 1, until: None };
        let (body, resume) = match name {
            "continue" => (json!({"allThreadsContinued": true}), forward(Motion::Free)),
            "next" => (Value::Null, forward(step(true))),
            "stepIn" => (Value::Null, forward(step(false))),
            "stepOut" => (Value::Null, forward(Motion::Finish)),
            "stepBack" => (Value::Null, Resume::Backward { motion: step(true), count: 1 }),
            "reverseContinue" => (Value::Null, Resume::Backward { motion: Motion::Free, count: 1 }),
            other => return Err(format!("`{other}` is not supported")),
        };
        if let Ok(thread) = number(a, "threadId")
            && rest.moment.is_some()
        {
            let id = lane_id(rest, thread)?;
            let depth = standing(rest, id)?.depth();
            self.look(rest, id, 0);
            if name == "stepOut" && depth == 0 {
                // Out of the kernel itself is to its end.
                return Ok((body, Some(forward(Motion::Free))));
            }
        }
        Ok((body, Some(resume)))
    }

    /// Deletes the breakpoints of a group.
    fn clear(&mut self, rest: &mut Rest<'_>, group: &str) {
        let old = self.groups.remove(group).unwrap_or_default();
        rest.session.breakpoints.retain(|b| !old.contains(&b.number));
        rest.session.watchpoints.retain(|w| !old.contains(&w.number));
    }

    fn add(&mut self, rest: &mut Rest<'_>, group: &str, location: &str, b: &Value) -> Value {
        let condition = match b["condition"].as_str().filter(|c| !c.trim().is_empty()) {
            Some(text) => match expr::parse(text) {
                Ok(expr) => Some(expr),
                Err(error) => return json!({"verified": false, "message": error.to_string()}),
            },
            None => None,
        };
        let function = rest.function();
        match rest.session.add_breakpoint(location, condition, false, function) {
            Err(error) => json!({"verified": false, "message": error.to_string()}),
            Ok(number) => {
                self.groups.entry(group.into()).or_default().push(number);
                let hits = b["hitCondition"].as_str().and_then(|h| h.trim().parse::<u64>().ok());
                let Some(set) = rest.session.breakpoints.iter_mut().find(|s| s.number == number)
                else {
                    return json!({"verified": false});
                };
                set.ignore = hits.unwrap_or(1).saturating_sub(1);
                let at = set.at.first().map_or((0, 0), |(at, _)| *at);
                let (source, line) = source(rest, at);
                let line = u64::from(line) - 1 + self.base;
                let mut body = json!({"id": number, "verified": true, "line": line});
                body["source"] = source;
                body["instructionReference"] = reference(at).into();
                body
            }
        }
    }

    fn source_breakpoints(&mut self, rest: &mut Rest<'_>, a: &Value) -> Result<Value, String> {
        let s = &a["source"];
        let path = s["path"].as_str().or(s["name"].as_str()).unwrap_or("").to_owned();
        let group = format!("source {path}");
        self.clear(rest, &group);
        let name = path.rsplit(['/', '\\']).next().unwrap_or("").to_owned();
        let mut set = Vec::new();
        for b in a["breakpoints"].as_array().cloned().unwrap_or_default() {
            let line = number(&b, "line")? + 1 - self.base;
            let mut location = format!("{path}:{line}");
            let code = &rest.session.code;
            if s["sourceReference"] == 1 || code.is_ptx(&name) || name.ends_with(".ptx") {
                location = format!("ptx:{line}");
            } else if code.find_file(&path).is_none() {
                location = format!("{name}:{line}");
            }
            set.push(self.add(rest, &group, &location, &b));
        }
        Ok(json!({"breakpoints": set}))
    }

    fn named(&mut self, rest: &mut Rest<'_>, a: &Value, group: &str, field: &str) -> Value {
        self.clear(rest, group);
        let mut set = Vec::new();
        for b in a["breakpoints"].as_array().cloned().unwrap_or_default() {
            let name = b[field].as_str().unwrap_or("");
            let location = match (group, referenced(name)) {
                ("instruction", Some((function, index))) => {
                    let index = index + b["offset"].as_i64().unwrap_or(0);
                    format!("*{}+{index}", rest.session.code.function_name(function as u32))
                }
                _ => name.to_owned(),
            };
            set.push(self.add(rest, group, &location, &b));
        }
        json!({"breakpoints": set})
    }

    fn data_breakpoints(&mut self, rest: &mut Rest<'_>, a: &Value) -> Value {
        self.clear(rest, "data");
        let mut set = Vec::new();
        for b in a["breakpoints"].as_array().cloned().unwrap_or_default() {
            let kind = match b["accessType"].as_str() {
                Some("read") => WatchKind::Read,
                Some("readWrite") => WatchKind::Any,
                _ => WatchKind::Write,
            };
            let name = b["dataId"].as_str().unwrap_or("").to_owned();
            let made = expr::parse(&name)
                .and_then(|expr| rest.execute(&Command::Watch { expr, text: name, kind }));
            set.push(match made {
                Ok(_) => {
                    let number = rest.session.watchpoints.last().map_or(0, |w| w.number);
                    self.groups.entry("data".into()).or_default().push(number);
                    json!({"id": number, "verified": true})
                }
                Err(error) => json!({"verified": false, "message": error.to_string()}),
            });
        }
        json!({"breakpoints": set})
    }

    /// An expression, or any command at the debug console.
    fn evaluate(&mut self, rest: &mut Rest<'_>, a: &Value) -> Answered {
        if let Some(id) = a["frameId"].as_u64() {
            let (id, up) = frame(rest, id)?;
            self.look(rest, id, up);
        }
        let line = text(a, "expression")?;
        let parsed = expr::parse(line);
        let command = match (a["context"] == "repl", parsed) {
            (true, _) if command::parse(line).is_ok_and(|c| c.is_some()) => command::parse(line),
            (_, Ok(expr)) => {
                let format = Format::Natural;
                Ok(Some(Command::Print { expr, text: line.into(), format }))
            }
            (_, Err(error)) => Err(error),
        };
        let command = command.map_err(|e| e.to_string())?.ok_or("nothing to evaluate")?;
        let body = |result: String, ty: &str| json!({"result": result.trim_end(), "type": ty, "variablesReference": 0});
        match rest.execute(&command).map_err(|e| e.to_string())? {
            Reply::Answer(Answer::Value { text, ty, .. }) => Ok((body(text, &ty), None)),
            Reply::Answer(other) => Ok((body(other.to_string(), ""), None)),
            Reply::Resume(resume) => Ok((body(String::new(), ""), Some(resume))),
        }
    }
}

fn set(rest: &mut Rest<'_>, to: &str, value: &str) -> Result<Value, String> {
    let (target, from) = (expr::parse(to), expr::parse(value));
    let (target, from) = (target.map_err(|e| e.to_string())?, from.map_err(|e| e.to_string())?);
    let text = format!("{to} = {value}");
    let command = Command::Set { to: target.clone(), value: from, text };
    rest.execute(&command).map_err(|e| e.to_string())?;
    let format = Format::Natural;
    let show = Command::Print { expr: target, text: to.into(), format };
    match rest.execute(&show).map_err(|e| e.to_string())? {
        Reply::Answer(Answer::Value { text, ty, .. }) => Ok(json!({"value": text, "type": ty})),
        _ => Ok(json!({"value": value})),
    }
}

/// Whether a variable can be watched, and by which name.
fn data_info(rest: &mut Rest<'_>, a: &Value) -> Value {
    let name = a["name"].as_str().unwrap_or("").to_owned();
    let made = expr::parse(&name).and_then(|expr| {
        let kind = WatchKind::Write;
        rest.execute(&Command::Watch { expr, text: name.clone(), kind })
    });
    match made {
        Ok(_) => {
            // It was made to see whether it can be.
            let register = rest
                .session
                .watchpoints
                .pop()
                .is_some_and(|w| matches!(w.what, crate::session::Watched::Register { .. }));
            let types =
                if register { json!(["write"]) } else { json!(["read", "write", "readWrite"]) };
            json!({"dataId": name, "description": name, "accessTypes": types})
        }
        Err(error) => json!({"dataId": null, "description": error.to_string()}),
    }
}

/// Instructions around a reference. The protocol wants as many as it asks for: behind the ends of
/// a function there are lines that say so.
fn disassemble(rest: &Rest<'_>, a: &Value, base: u64) -> Result<Value, String> {
    let (function, index) = referenced(text(a, "memoryReference")?)
        .ok_or("the memory reference names no instruction")?;
    let code = &rest.session.code;
    let first =
        index + a["offset"].as_i64().unwrap_or(0) + a["instructionOffset"].as_i64().unwrap_or(0);
    let count = number(a, "instructionCount")?.min(4096) as i64;
    let mut all = Vec::new();
    for i in first..first + count {
        let inside = function >= 0 && i >= 0 && i < i64::from(code.insts(function as u32));
        let address = ((function + 1) << 32) + i;
        if !inside {
            all.push(json!({
                "address": format!("{address:#x}"),
                "instruction": "(no code)",
                "presentationHint": "invalid",
            }));
            continue;
        }
        let at = (function as u32, i as u32);
        let (source, line) = source(rest, at);
        let mut one = json!({
            "address": reference(at),
            "instruction": code.text(at),
            "location": source,
            "line": u64::from(line) - 1 + base,
        });
        if let Some(label) = code.labels_at(at).next() {
            one["symbol"] = label.into();
        }
        all.push(one);
    }
    Ok(json!({"instructions": all}))
}
