//! A scripted client of `ptxrun dap`. Every message of the server is checked against the protocol's published schema
//! (`dap/debugProtocol.json`), and so is every request. `dap/session.txt` is what the two say to one another in the
//! first test; `UPDATE_EXPECT=1` writes it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The part of JSON schema (draft 4) that the protocol's schema uses.
struct Schema(Value);

impl Schema {
    fn open() -> Schema {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dap/debugProtocol.json");
        Schema(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn definition(&self, name: &str) -> Option<&Value> {
        self.0["definitions"].get(name)
    }

    fn check(&self, schema: &Value, value: &Value, at: &str) {
        let Some(schema) = schema.as_object() else { panic!("{at}: no schema") };
        for (key, rule) in schema {
            match key.as_str() {
                "$ref" => {
                    let name = rule.as_str().unwrap().trim_start_matches("#/definitions/");
                    self.check(self.definition(name).unwrap(), value, at);
                }
                "allOf" => rule.as_array().unwrap().iter().for_each(|s| self.check(s, value, at)),
                "type" => {
                    let one = |t: &str| match t {
                        "object" => value.is_object(),
                        "array" => value.is_array(),
                        "string" => value.is_string(),
                        "integer" => value.is_i64() || value.is_u64(),
                        "number" => value.is_number(),
                        "boolean" => value.is_boolean(),
                        "null" => value.is_null(),
                        other => panic!("type {other}"),
                    };
                    let fits = match rule {
                        Value::Array(any) => any.iter().any(|t| one(t.as_str().unwrap())),
                        t => one(t.as_str().unwrap()),
                    };
                    assert!(fits, "{at}: {value} is no {rule}");
                }
                "enum" => assert!(rule.as_array().unwrap().contains(value), "{at}: {value}"),
                "required" => {
                    for name in rule.as_array().unwrap() {
                        let name = name.as_str().unwrap();
                        assert!(value.get(name).is_some(), "{at}: `{name}` is missing in {value}");
                    }
                }
                "properties" => {
                    for (name, schema) in rule.as_object().unwrap() {
                        if let Some(v) = value.get(name) {
                            self.check(schema, v, &format!("{at}.{name}"));
                        }
                    }
                }
                "items" => {
                    for (n, v) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, v, &format!("{at}[{n}]"));
                    }
                }
                // `_enum` lists values that may be more; the rest are words for people.
                _ => {}
            }
        }
    }

    /// Checks a message of the server by its own definition.
    fn message(&self, message: &Value) {
        let capital = |t: &str| t[..1].to_uppercase() + &t[1..];
        let name = match message["type"].as_str() {
            Some("event") => capital(message["event"].as_str().unwrap()) + "Event",
            Some("response") if message["success"] == false => "ErrorResponse".to_owned(),
            Some("response") => capital(message["command"].as_str().unwrap()) + "Response",
            other => panic!("{other:?}: {message}"),
        };
        let definition = self.definition(&name).unwrap_or_else(|| panic!("no {name}: {message}"));
        self.check(definition, message, &name);
    }
}

struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    schema: Schema,
    sequence: u64,
    events: Vec<Value>,
    /// What was said so far: `>` by the client, `<` by the server.
    said: String,
}

impl Client {
    fn start() -> Client {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ptxrun"))
            .arg("dap")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (from, schema) = (BufReader::new(from), Schema::open());
        let mut client = Client {
            child,
            to,
            from,
            schema,
            sequence: 0,
            events: Vec::new(),
            said: String::new(),
        };
        let answer =
            client.ask("initialize", json!({"adapterID": "ptxrun", "linesStartAt1": true}));
        assert_eq!(answer["body"]["supportsStepBack"], true);
        client
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server has gone away");
            if line.trim().is_empty() {
                break;
            }
            if let Some(n) = line.strip_prefix("Content-Length: ") {
                length = n.trim().parse().unwrap();
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).unwrap();
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        self.schema.message(&message);
        // Where the repository lies is nobody's affair.
        let text = message.to_string().replace(env!("CARGO_MANIFEST_DIR"), "");
        self.said.push_str(&format!("< {text}\n"));
        message
    }

    fn send(&mut self, command: &str, arguments: Value) -> u64 {
        self.sequence += 1;
        let seq = self.sequence;
        let message =
            json!({"seq": seq, "type": "request", "command": command, "arguments": arguments});
        let capital = command[..1].to_uppercase() + &command[1..] + "Request";
        self.schema.check(self.schema.definition(&capital).unwrap(), &message, &capital);
        let text = message.to_string();
        self.said.push_str(&format!("> {text}\n"));
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.to.flush().unwrap();
        seq
    }

    /// The response, whether it is a success or not.
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let seq = self.send(command, arguments);
        loop {
            let message = self.read();
            if message["type"] == "event" {
                self.events.push(message);
            } else {
                assert_eq!(message["request_seq"], seq);
                return message;
            }
        }
    }

    fn body(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    fn event(&mut self, name: &str) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|e| e["event"] == name) {
                return self.events.remove(at)["body"].clone();
            }
            let message = self.read();
            assert_eq!(message["type"], "event", "{message}");
            self.events.push(message);
        }
    }

    fn launch(&mut self, program: &str, args: &[&str], more: Value) {
        let mut arguments = json!({"program": program, "args": args});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let answer = self.ask("launch", arguments);
        assert_eq!(answer["success"], true, "{answer}");
        self.event("initialized");
    }

    /// Lets execution go on, and waits until it rests.
    fn go(&mut self, command: &str, thread: u64) -> Value {
        self.body(command, json!({"threadId": thread}));
        self.event("stopped")
    }

    fn top(&mut self, thread: u64) -> Value {
        self.body("stackTrace", json!({"threadId": thread}))["stackFrames"][0].clone()
    }

    fn value(&mut self, frame: &Value, expression: &str) -> String {
        let arguments =
            json!({"expression": expression, "frameId": frame["id"], "context": "watch"});
        self.body("evaluate", arguments)["result"].as_str().unwrap().to_owned()
    }

    fn leave(self) -> i64 {
        self.finish().0
    }

    /// The exit code, and all that was said.
    fn finish(mut self) -> (i64, String) {
        let code = self.event("exited")["exitCode"].as_i64().unwrap();
        self.event("terminated");
        self.body("disconnect", json!({}));
        assert!(self.child.wait().unwrap().success());
        (code, self.said)
    }
}

const WALK: &[&str] = &["--entry", "walk", "--block", "64", "--arg", "buf:256"];

#[test]
fn a_session_in_ptx() {
    let mut c = Client::start();
    c.launch("walk.ptx", WALK, json!({"stopOnEntry": true}));
    let set = c.body(
        "setBreakpoints",
        json!({"source": {"path": "/elsewhere/walk.ptx"},
            "breakpoints": [{"line": 33, "condition": "%tid.x == 35"}, {"line": 4000}]}),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true);
    assert_eq!(set["breakpoints"][1]["verified"], false);
    c.body("setExceptionBreakpoints", json!({"filters": []}));
    c.body("configurationDone", json!({}));
    let stop = c.event("stopped");
    assert_eq!(stop["reason"], "entry");
    let threads = c.body("threads", json!({}));
    assert_eq!(threads["threads"].as_array().unwrap().len(), 2, "a thread is a warp");
    let thread = stop["threadId"].as_u64().unwrap();
    let stop = c.go("continue", thread);
    assert_eq!(stop["reason"], "breakpoint");
    let thread = stop["threadId"].as_u64().unwrap();
    let frame = c.top(thread);
    assert_eq!((frame["line"].as_u64(), frame["name"].as_str()), (Some(33), Some("walk")));
    assert_eq!(c.value(&frame, "%tid.x"), "35");
    // Registers and what belongs to the thread.
    let scopes = c.body("scopes", json!({"frameId": frame["id"]}))["scopes"].clone();
    let names: Vec<_> = scopes.as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
    assert_eq!(names, ["Registers", "Arguments", "Variables", "Thread"]);
    for scope in scopes.as_array().unwrap() {
        let reference = scope["variablesReference"].clone();
        let all = c.body("variables", json!({"variablesReference": reference}));
        assert!(!all["variables"].as_array().unwrap().is_empty(), "{scope}");
    }
    let registers = scopes[0]["variablesReference"].clone();
    let set = c.body(
        "setVariable",
        json!({"variablesReference": registers, "name": "%r5", "value": "77"}),
    );
    assert_eq!(set["value"], "77 (0x4d)");
    let set = json!({"frameId": frame["id"], "expression": "%r5", "value": "%r5 + 1"});
    assert_eq!(c.body("setExpression", set)["value"], "78 (0x4e)");
    // Forward into the function, out, and back.
    let arguments = json!({"threadId": thread, "granularity": "instruction"});
    c.body("next", arguments.clone());
    c.event("stopped");
    let after = c.top(thread);
    c.body("stepBack", arguments);
    c.event("stopped");
    assert_eq!(c.top(thread)["instructionPointerReference"], frame["instructionPointerReference"]);
    assert_ne!(after["instructionPointerReference"], frame["instructionPointerReference"]);
    let code = c.body(
        "disassemble",
        json!({"memoryReference": frame["instructionPointerReference"],
            "instructionOffset": -2, "instructionCount": 5}),
    );
    let code = code["instructions"].as_array().unwrap().clone();
    assert_eq!(code.len(), 5);
    assert_eq!(code[2]["address"], frame["instructionPointerReference"]);
    // Back to where it began.
    let stop = c.go("reverseContinue", thread);
    assert_eq!(stop["reason"], "step");
    let text = c.body("evaluate", json!({"expression": "help step", "context": "repl"}));
    assert!(text["result"].as_str().unwrap().contains("another source line"));
    c.body("setBreakpoints", json!({"source": {"path": "walk.ptx"}, "breakpoints": []}));
    let set = json!({"source": {"path": "/elsewhere/walk.ptx"}, "breakpoints": []});
    c.body("setBreakpoints", set);
    c.body("continue", json!({"threadId": 1}));
    let (code, said) = c.finish();
    assert_eq!(code, 0);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dap/session.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&kept, &said).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&kept).unwrap();
    for (n, (is, should)) in said.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(is, should, "{}:{}", kept.display(), n + 1);
    }
    assert_eq!(said.lines().count(), wanted.lines().count());
}

#[test]
fn data_and_function_breakpoints() {
    let mut c = Client::start();
    c.launch("walk.ptx", WALK, json!({"stopOnEntry": true, "threads": "lanes"}));
    c.body("configurationDone", json!({}));
    c.event("stopped");
    let threads = c.body("threads", json!({}));
    assert_eq!(threads["threads"].as_array().unwrap().len(), 64, "a thread is a lane");
    let info = c.body("dataBreakpointInfo", json!({"name": "cell[3]"}));
    assert_eq!(info["dataId"], "cell[3]");
    let nothing = c.body("dataBreakpointInfo", json!({"name": "3"}));
    assert!(nothing["dataId"].is_null());
    let set = c.body("setDataBreakpoints", json!({"breakpoints": [{"dataId": "cell[3]"}]}));
    assert_eq!(set["breakpoints"][0]["verified"], true);
    let stop = c.go("continue", 1);
    assert_eq!(stop["reason"], "data breakpoint");
    c.body("setDataBreakpoints", json!({"breakpoints": []}));
    let set = c.body(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": "double_of"}, {"name": "nothing"}]}),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true);
    assert_eq!(set["breakpoints"][1]["verified"], false);
    let stop = c.go("continue", 1);
    let thread = stop["threadId"].as_u64().unwrap();
    let frames = c.body("stackTrace", json!({"threadId": thread}));
    assert_eq!(frames["totalFrames"], 2);
    let stop = c.go("stepOut", thread);
    assert_eq!(stop["reason"], "step");
    c.body("terminate", json!({}));
    assert_eq!(c.leave(), 0);
}

#[test]
fn opencl_lines_and_a_fault() {
    let mut c = Client::start();
    let args = ["--entry", "add", "--block", "8", "--arg", "f32[8]:iota", "--arg", "f32[8]:iota"];
    let args: Vec<&str> = args.into_iter().chain(["--arg", "u64:0", "--arg", "s32:8"]).collect();
    c.launch("vector.cl", &args, json!({}));
    let set = c.body(
        "setBreakpoints",
        json!({"source": {"path": "vector.cl"}, "breakpoints": [{"line": 6}]}),
    );
    assert_eq!(set["breakpoints"][0]["line"], 6);
    c.body("configurationDone", json!({}));
    let stop = c.event("stopped");
    assert_eq!(stop["reason"], "breakpoint");
    let frame = c.top(stop["threadId"].as_u64().unwrap());
    assert!(frame["source"]["path"].as_str().unwrap().ends_with("vector.cl"), "{frame}");
    let scopes = c.body("scopes", json!({"frameId": frame["id"]}));
    let locals = &scopes["scopes"][0];
    assert_eq!(locals["name"], "Locals");
    let reference = locals["variablesReference"].clone();
    let all = c.body("variables", json!({"variablesReference": reference}))["variables"].clone();
    let of = |name: &str| {
        let found = all.as_array().unwrap().iter().find(|v| v["name"] == name).unwrap();
        (found["type"].as_str().unwrap().to_owned(), found["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("n"), ("int".into(), "8".into()));
    assert_eq!(of("i"), ("int".into(), "0".into()));
    assert_eq!(of("c"), ("float *".into(), "0x0".into()));
    assert_eq!(c.value(&frame, "a[i + 2]"), "2.0");
    let set = json!({"variablesReference": reference, "name": "n", "value": "9"});
    assert_eq!(c.body("setVariable", set)["value"], "9");
    let stop = c.go("continue", 1);
    assert_eq!(stop["reason"], "exception");
    let info = c.body("exceptionInfo", json!({"threadId": stop["threadId"]}));
    assert!(info["description"].as_str().unwrap().contains("null pointer"), "{info}");
    c.body("source", json!({"sourceReference": 1}));
    c.body("loadedSources", json!({}));
    c.body("continue", json!({"threadId": 1}));
    assert_eq!(c.leave(), 1);
}

#[test]
fn what_checkers_find_is_an_exception() {
    let mut c = Client::start();
    let args = ["--entry", "past", "--block", "4", "--arg", "buf:16", "--check", "memory"];
    c.launch("mistakes.cl", &args, json!({}));
    c.body("configurationDone", json!({}));
    let stop = c.event("stopped");
    assert_eq!(stop["reason"], "exception");
    let info = c.body("exceptionInfo", json!({"threadId": stop["threadId"]}));
    assert!(info["description"].as_str().unwrap().contains("out of bounds"), "{info}");
    let frame = c.top(stop["threadId"].as_u64().unwrap());
    assert_eq!((frame["line"].as_u64(), c.value(&frame, "k").as_str()), (Some(12), "4"));
    c.body("continue", json!({"threadId": 1}));
    assert_eq!(c.leave(), 0);
}

#[test]
fn what_cannot_be_launched_is_refused() {
    let mut c = Client::start();
    let answer = c.ask("threads", json!({}));
    assert_eq!(answer["success"], false);
    let answer = c.ask("launch", json!({"program": "nothing.ptx"}));
    assert_eq!(answer["success"], false);
    assert_eq!(c.leave(), 2);
}
