//! The debug adapter protocol: editors step through kernels as through any program.
//!
//! Messages are JSON behind a `Content-Length` head. There is no well-kept crate of the protocol's
//! types; a request is read field by field, and every answer is written here and in `requests`.
//! A thread of the protocol is a warp, shown by one of its lanes, or a lane, as the client asks.

mod requests;
mod variables;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::front::{Front, Rest};
use crate::session::{Reason, Resume};

/// A message may have so many bytes.
const LARGEST: usize = 16 << 20;

/// What the client asks to debug.
#[derive(Clone, Debug, Default)]
pub struct LaunchRequest {
    /// The words of the command line behind `ptxrun run`.
    pub arguments: Vec<String>,
    stop_on_entry: bool,
    lanes: bool,
}

/// The server's side of a connection.
pub struct Server {
    requests: Receiver<Value>,
    output: Arc<Mutex<dyn Write + Send>>,
    sequence: u64,
    /// Set to stop the kernel.
    pub pause: Arc<AtomicBool>,
    launch: LaunchRequest,
    /// The launch request, until it is answered.
    pending: Option<Value>,
    configured: bool,
    /// Lines and columns count from 0 or 1.
    base: u64,
    /// Numbers of breakpoints by what the client calls their group.
    groups: BTreeMap<String, Vec<u64>>,
    closed: bool,
}

/// Reads a message; `None` at the end of input or of sense.
fn read(input: &mut dyn BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = n.trim().parse::<usize>().ok();
        }
    }
    let mut bytes = vec![0; length.filter(|n| *n <= LARGEST)?];
    input.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

impl Server {
    /// A server on a connection. A thread of its own reads, so that the kernel can be stopped while
    /// it runs.
    pub fn new(mut input: Box<dyn BufRead + Send>, output: Box<dyn Write + Send>) -> Server {
        let (sender, requests) = channel();
        let pause = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&pause);
        std::thread::spawn(move || {
            while let Some(message) = read(&mut *input) {
                if sender.send(message).is_err() {
                    return;
                }
                // Whatever is asked, a running kernel must rest to answer it.
                stop.store(true, Ordering::Relaxed);
            }
            // The sender goes away first, so that a kernel that rests sees that nobody is there.
            drop(sender);
            stop.store(true, Ordering::Relaxed);
        });
        Server {
            requests,
            output: Arc::new(Mutex::new(output)),
            sequence: 0,
            pause,
            launch: LaunchRequest::default(),
            pending: None,
            configured: false,
            base: 1,
            groups: BTreeMap::new(),
            closed: false,
        }
    }

    fn send(&mut self, mut message: Value) {
        self.sequence += 1;
        message["seq"] = self.sequence.into();
        let text = message.to_string();
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that has gone away reads nothing.
        let _ = write!(output, "Content-Length: {}\r\n\r\n{text}", text.len());
        let _ = output.flush();
    }

    pub(crate) fn event(&mut self, name: &str, body: Value) {
        self.send(json!({"type": "event", "event": name, "body": body}));
    }

    fn respond(&mut self, request: &Value, result: Result<Value, String>) {
        let mut message = json!({
            "type": "response",
            "request_seq": request["seq"],
            "command": request["command"],
            "success": result.is_ok(),
        });
        match result {
            Ok(Value::Null) => {}
            Ok(body) => message["body"] = body,
            Err(error) => {
                message["message"] = error.clone().into();
                message["body"] = json!({"error": {"id": 1, "format": error}});
            }
        }
        self.send(message);
    }

    /// Answers requests until the client asks to launch something; `None` when it leaves.
    pub fn wait_for_launch(&mut self) -> Option<LaunchRequest> {
        loop {
            let Ok(request) = self.requests.recv() else {
                self.closed = true;
                return None;
            };
            match request["command"].as_str().unwrap_or("") {
                "initialize" => {
                    let first = request["arguments"]["linesStartAt1"].as_bool();
                    self.base = u64::from(first != Some(false));
                    self.respond(&request, Ok(requests::capabilities()));
                }
                "launch" => match launch_request(&request["arguments"]) {
                    Ok(launch) => {
                        self.launch = launch.clone();
                        self.pending = Some(request);
                        return Some(launch);
                    }
                    Err(error) => self.respond(&request, Err(error)),
                },
                "disconnect" | "terminate" => {
                    self.closed = true;
                    self.respond(&request, Ok(Value::Null));
                    return None;
                }
                _ => self.respond(&request, Err("nothing is launched".into())),
            }
        }
    }

    /// What was to be launched cannot be.
    pub fn refuse(&mut self, message: &str) {
        match self.pending.take() {
            Some(request) => self.respond(&request, Err(message.into())),
            None => {
                let text = format!("{message}\n");
                self.event("output", json!({"category": "stderr", "output": text}));
            }
        }
    }

    /// Whether the client still waits for the answer to its launch.
    pub fn waits(&self) -> bool {
        self.pending.is_some()
    }

    /// Says what the program has to say at its end.
    pub fn say(&mut self, text: &str) {
        self.event("output", json!({"category": "console", "output": text}));
    }

    /// Everything has ended with this exit status. Answers requests until the client leaves.
    pub fn finish(&mut self, status: u8) {
        if self.closed {
            return;
        }
        self.event("exited", json!({"exitCode": status}));
        self.event("terminated", json!({}));
        while let Ok(request) = self.requests.recv() {
            let last = matches!(request["command"].as_str(), Some("disconnect" | "terminate"));
            let answer = match (request["command"].as_str(), last) {
                (_, true) => Ok(Value::Null),
                (Some("threads"), _) => Ok(json!({"threads": []})),
                _ => Err("the program has ended".into()),
            };
            self.respond(&request, answer);
            if last {
                return;
            }
        }
    }

    /// Tells the client that execution rests.
    fn stopped(&mut self, rest: &mut Rest<'_>) {
        let output = rest.session.fresh_output();
        if !output.is_empty() {
            let text = String::from_utf8_lossy(&output).into_owned();
            self.event("output", json!({"category": "stdout", "output": text}));
        }
        let (reason, hits) = match &rest.stop.reason {
            Reason::Ready | Reason::Start => ("entry", Vec::new()),
            Reason::Step | Reason::LaneEnded(_) | Reason::HistoryStart => ("step", Vec::new()),
            Reason::Time | Reason::Ended | Reason::Writer { .. } => ("goto", Vec::new()),
            Reason::Breakpoint { number, .. } => ("breakpoint", vec![*number]),
            Reason::Watchpoint { number, .. } => ("data breakpoint", vec![*number]),
            Reason::Barrier | Reason::Finding { .. } => ("exception", Vec::new()),
            Reason::Interrupt => ("pause", Vec::new()),
            Reason::Fault(_) => ("exception", Vec::new()),
        };
        let text = rest.stop_text().to_string();
        let mut body = json!({
            "reason": reason,
            "threadId": variables::thread_id(rest, rest.session.focus),
            "allThreadsStopped": true,
            "hitBreakpointIds": hits,
            "description": text.lines().next().unwrap_or(""),
        });
        if reason == "exception" {
            body["text"] = text.into();
        }
        self.event("stopped", body);
    }
}

fn launch_request(arguments: &Value) -> Result<LaunchRequest, String> {
    let program = arguments["program"].as_str();
    let program = program.ok_or("`program` names a PTX, OpenCL C or launch file")?;
    let mut words = vec![program.to_owned()];
    if let Some(more) = arguments["args"].as_array() {
        for word in more {
            let word = word.as_str().ok_or("`args` is a list of strings")?;
            words.push(word.to_owned());
        }
    }
    let threads = arguments["threads"].as_str().unwrap_or("warps");
    if !["warps", "lanes"].contains(&threads) {
        return Err("`threads` is \"warps\" or \"lanes\"".into());
    }
    Ok(LaunchRequest {
        arguments: words,
        stop_on_entry: arguments["stopOnEntry"].as_bool().unwrap_or(false),
        lanes: threads == "lanes",
    })
}

impl Front for Server {
    fn rest(&mut self, rest: &mut Rest<'_>) -> Resume {
        let ready = matches!(rest.stop.reason, Reason::Ready);
        if ready && self.configured {
            // Breakpoints of the launch before stay.
            return Resume::Restart { stop: false };
        }
        if ready {
            if let Some(request) = self.pending.take() {
                self.respond(&request, Ok(Value::Null));
            }
            self.event("initialized", json!({}));
        } else if matches!(rest.stop.reason, Reason::Ended) {
            let output = rest.session.fresh_output();
            if !output.is_empty() {
                let text = String::from_utf8_lossy(&output).into_owned();
                self.event("output", json!({"category": "stdout", "output": text}));
            }
            let motion = crate::command::Motion::Free;
            return Resume::Forward { motion, count: 1, until: None };
        }
        // A request that came while the kernel ran; it goes on unless a stop was asked for.
        let mut quiet = matches!(rest.stop.reason, Reason::Interrupt);
        if !ready && !quiet {
            self.stopped(rest);
        }
        loop {
            let request = match quiet {
                true => match self.requests.try_recv() {
                    Ok(request) => request,
                    Err(std::sync::mpsc::TryRecvError::Empty) => return Resume::Same,
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                        self.closed = true;
                        return Resume::Quit;
                    }
                },
                false => match self.requests.recv() {
                    Ok(request) => request,
                    Err(_) => {
                        self.closed = true;
                        return Resume::Quit;
                    }
                },
            };
            self.pause.store(false, Ordering::Relaxed);
            match request["command"].as_str().unwrap_or("") {
                "pause" => {
                    self.respond(&request, Ok(Value::Null));
                    if quiet {
                        quiet = false;
                        self.stopped(rest);
                    }
                }
                "configurationDone" => {
                    self.respond(&request, Ok(Value::Null));
                    self.configured = true;
                    if ready {
                        return Resume::Restart { stop: self.launch.stop_on_entry };
                    }
                }
                "disconnect" | "terminate" => {
                    self.respond(&request, Ok(Value::Null));
                    self.closed = request["command"] == "disconnect";
                    return Resume::Quit;
                }
                _ => match self.handle(rest, &request) {
                    Ok((body, resume)) => {
                        self.respond(&request, Ok(body));
                        if let Some(resume) = resume {
                            return resume;
                        }
                    }
                    Err(error) => self.respond(&request, Err(error)),
                },
            }
        }
    }
}
