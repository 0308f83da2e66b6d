//! The gdb remote protocol: a client of packets, and gdb and lldb themselves where they are installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `ptxrun debug --gdb` on the walk, and its port.
fn server(more: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptxrun"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug"))
        .args(["debug", "walk.ptx", "--entry", "walk", "--block", "64", "--arg", "buf:256"])
        .args(["--print", "0:f32:4", "--gdb", "0"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().unwrap().to_owned();
    assert!(line.starts_with("waiting for gdb: target remote localhost:"), "{line}");
    (child, port)
}

/// How the command ended, and what it printed.
fn ended(child: Child) -> (i32, String) {
    let out = child.wait_with_output().unwrap();
    (out.status.code().unwrap(), String::from_utf8(out.stdout).unwrap())
}

struct Client {
    to: TcpStream,
    from: BufReader<TcpStream>,
    /// First byte and bytes of each register, by name.
    registers: Vec<(String, usize, usize)>,
}

impl Client {
    fn connect(port: &str) -> Client {
        let to = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        to.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let from = BufReader::new(to.try_clone().unwrap());
        let mut client = Client { to, from, registers: Vec::new() };
        let features = client.ask("qSupported:multiprocess+;swbreak+;vContSupported+");
        for feature in ["qXfer:features:read+", "ReverseStep+", "ReverseContinue+"] {
            assert!(features.contains(feature), "{feature}: {features}");
        }
        let xml = client.description();
        let mut at = 0;
        for register in xml.split("<reg ").skip(1) {
            let value = |name: &str| {
                let rest = &register[register.find(name).unwrap() + name.len() + 2..];
                rest[..rest.find('"').unwrap()].to_owned()
            };
            let bytes = value("bitsize").parse::<usize>().unwrap() / 8;
            client.registers.push((value("name"), at, bytes));
            at += bytes;
        }
        client
    }

    fn description(&mut self) -> String {
        let mut text = String::new();
        loop {
            let part = self.ask(&format!("qXfer:features:read:target.xml:{:x},3f0", text.len()));
            text.push_str(&part[1..]);
            if part.starts_with('l') {
                return text;
            }
        }
    }

    fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        write!(self.to, "${packet}#{sum:02x}").unwrap();
    }

    /// The next packet; what stands in it for other bytes is undone.
    fn receive(&mut self) -> String {
        let mut bytes = Vec::new();
        self.from.read_until(b'#', &mut bytes).unwrap();
        self.from.read_exact(&mut [0; 2]).unwrap();
        self.to.write_all(b"+").unwrap();
        let start = bytes.iter().position(|b| *b == b'$').unwrap() + 1;
        let mut text: Vec<u8> = Vec::new();
        let mut rest = bytes[start..bytes.len() - 1].iter();
        while let Some(&byte) = rest.next() {
            match byte {
                b'}' => text.push(rest.next().unwrap() ^ 0x20),
                b'*' => {
                    let (last, count) = (*text.last().unwrap(), rest.next().unwrap() - 29);
                    text.extend(std::iter::repeat_n(last, count.into()));
                }
                byte => text.push(byte),
            }
        }
        String::from_utf8(text).unwrap()
    }

    fn ask(&mut self, packet: &str) -> String {
        self.send(packet);
        self.receive()
    }

    /// A register of the thread that was chosen last; `None` if it has no value.
    fn register(&mut self, name: &str) -> Option<u64> {
        let all = self.ask("g");
        let (_, at, bytes) = self.registers.iter().find(|r| r.0 == name).unwrap();
        let digits = &all[2 * at..2 * (at + bytes)];
        let byte = |n: usize| u64::from_str_radix(&digits[2 * n..2 * n + 2], 16).ok();
        (0..*bytes).try_fold(0, |value, n| Some(value | byte(n)? << (8 * n)))
    }

    fn monitor(&mut self, command: &str) -> String {
        let hex: String = command.bytes().map(|b| format!("{b:02x}")).collect();
        let mut text = String::new();
        self.send(&format!("qRcmd,{hex}"));
        loop {
            let answer = self.receive();
            let Some(part) = answer.strip_prefix('O').filter(|a| *a != "K") else {
                assert_eq!(answer, "OK");
                return text;
            };
            for n in (0..part.len()).step_by(2) {
                text.push(u8::from_str_radix(&part[n..n + 2], 16).unwrap() as char);
            }
        }
    }
}

/// The address of an instruction of the kernel.
fn code(index: u64) -> u64 {
    0x0800_0000 + 4 * index
}

fn packets_stop_look_and_go_back() {
    let (child, port) = server(&[]);
    let mut c = Client::connect(&port);
    let stop = c.ask("?");
    assert!(stop.starts_with("T05thread:") || stop.starts_with("S05"), "{stop}");
    let mut threads = 0;
    let mut part = c.ask("qfThreadInfo");
    while let Some(some) = part.strip_prefix('m') {
        threads += some.split(',').count();
        part = c.ask("qsThreadInfo");
    }
    assert_eq!(threads, 64, "a thread is a lane");
    // Before `add.u32 %r3, %r3, 1`, in warp 0, whose lane 0 does not come there.
    assert_eq!(c.ask(&format!("Z0,{:x},1", code(7))), "OK");
    assert!(c.ask(&format!("Z0,{:x},1", 0x0fff_0000)).starts_with('E'), "no code is there");
    let stop = c.ask("vCont;c");
    assert!(stop.contains("swbreak"), "{stop}");
    assert_eq!(c.ask("Hgp1.2"), "OK");
    assert_eq!(c.register("rip"), Some(code(7)));
    assert_eq!(c.register("ptx_tid_x"), Some(1));
    assert_eq!((c.register("ptx_r2"), c.register("ptx_r3")), (Some(0), Some(0)));
    assert_eq!(c.register("ptx_t"), None, "a register of another function");
    // An instruction forward, and back.
    assert!(c.ask("vCont;s:p1.2").starts_with('T'));
    assert_eq!((c.register("rip"), c.register("ptx_r3")), (Some(code(8)), Some(1)));
    assert!(c.ask("bs").starts_with('T'));
    assert_eq!((c.register("rip"), c.register("ptx_r3")), (Some(code(7)), Some(0)));
    // Changes: the lane's register, and memory.
    let mut all = c.ask("g");
    let (_, at, _) = *c.registers.iter().find(|r| r.0 == "ptx_r2").unwrap();
    all.replace_range(2 * at..2 * at + 8, "05000000");
    let all = all.replace('x', "0");
    assert_eq!(c.ask(&format!("G{all}")), "OK");
    assert_eq!(c.register("ptx_r2"), Some(5));
    let changed_pc = format!("{}{}", &all[..16 * 16], "ff".repeat(8)) + &all[17 * 16..];
    assert!(c.ask(&format!("G{changed_pc}")).starts_with('E'), "nobody can jump");
    assert_eq!(c.ask("z0,800001c,1"), "OK");
    // Shared memory is at 0x10000000: `cell[1]`, which lane 1 writes.
    assert_eq!(c.ask("Z2,10000004,4"), "OK");
    let stop = c.ask("vCont;c");
    assert!(stop.contains("watch:") && stop.contains("10000004"), "{stop}");
    assert_eq!(c.ask("m10000004,4"), "0a000000", "twice the 5");
    assert!(c.ask("m10,4").starts_with('E'));
    assert_eq!(c.ask("m8000000,2"), "9090");
    assert!(c.monitor("print cell[1]").contains("cell[1] = 10"));
    assert!(c.monitor("continue").contains("gdb's own command"));
    assert!(c.monitor("nonsense").starts_with("error: no command"));
    assert_eq!(c.ask("z2,10000004,4"), "OK");
    assert!(c.ask("bc").contains("replaylog:begin"), "nothing stops it before the start");
    assert!(c.ask("vCont;c").starts_with("W00"));
    assert_eq!(ended(child).0, 0);
}

fn a_client_that_leaves_lets_the_kernel_run() {
    let (child, port) = server(&[]);
    let mut c = Client::connect(&port);
    c.ask(&format!("Z0,{:x},1", code(7)));
    assert_eq!(c.ask("D;1"), "OK");
    drop(c);
    let (status, text) = ended(child);
    assert_eq!((status, text.trim()), (0, "0: 0 0 1 3"));
    // One that is lost ends it.
    let (child, port) = server(&[]);
    drop(Client::connect(&port));
    assert_eq!(ended(child), (0, String::new()));
}

/// Lines of gdb's own, in this order, between others.
const LINES: &[&str] = &[
    "ptx_tid_x      0x0                 0",
    "Breakpoint 1 at 0x800001c",
    "[Switching to Thread 1.2]",
    "hit Breakpoint 1, 0x000000000800001c in ?? ()",
    "$1 = 1",
    "$2 = 0",
    "0x0000000008000020 in ?? ()",
    "$3 = 1",
    "0x000000000800001c in ?? ()",
    "$4 = 0",
    "(block (0,0,0) thread (5,0,0))",
    "$5 = 5",
    "Hardware watchpoint 2: *(int *) 0x10000008",
    "hit Hardware watchpoint 2: *(int *) 0x10000008",
    "Old value = 0",
    "New value = 2",
    "0x10000000:\t0\t0\t2\t6",
    "$6 = 1.5",
    "No more reverse-execution history",
    "[Inferior 1 (process 1) exited normally]",
];

fn gdb_stops_steps_watches_and_goes_back() {
    let (child, port) = server(&[]);
    let target = format!("target remote localhost:{port}");
    let commands = [
        "set pagination off",
        "set confirm off",
        &target,
        "info registers ptx_tid_x",
        "break *0x800001c",
        "continue",
        "print $ptx_tid_x",
        "print $ptx_r3",
        "stepi",
        "print $ptx_r3",
        "reverse-stepi",
        "print $ptx_r3",
        "info threads",
        "thread 6",
        "print $ptx_tid_x",
        "delete",
        "watch *(int *) 0x10000008",
        "continue",
        "x/4dw 0x10000000",
        "delete",
        "monitor break ptx:29",
        "monitor delete",
        "set var $ptx_f1 = 1.5",
        "print $ptx_f1",
        "reverse-continue",
        "continue",
    ];
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch"]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let out = gdb.output().unwrap();
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut rest = told.as_str();
    for line in LINES {
        let at = rest.find(line).unwrap_or_else(|| {
            panic!("{line:?} is missing\n{told}\n{}", String::from_utf8_lossy(&out.stderr))
        });
        rest = &rest[at + line.len()..];
    }
    // What `monitor` shows goes to standard error.
    let shown = String::from_utf8_lossy(&out.stderr);
    assert!(shown.contains("at walk.ptx:29"), "{shown}");
    assert_eq!(ended(child).0, 0);
}

/// What lldb says, in this order.
const LLDB: &[&str] = &[
    "stop reason = signal SIGTRAP",
    "ptx_rd1 = 0x0000000020000000",
    "stop reason = breakpoint 1.1",
    "rip = 0x0000000008000020",
    "ptx_r1 = 0x00000005",
    "ptx_r3 = 0x0000004d",
    "0x20000000: 00 00 00 00",
    "response: T05",
    "response: OK",
    "Process 1 detached",
];

fn lldb_stops_steps_looks_and_goes_back() {
    let (child, port) = server(&[]);
    let commands = [
        "settings set target.process.disable-memory-cache true",
        &format!("gdb-remote localhost:{port}"),
        "thread step-inst",
        "register read ptx_rd1",
        "breakpoint set -a 0x8000020",
        "continue",
        "register read rip",
        "thread select 6",
        "register read ptx_r1",
        "register write ptx_r3 77",
        "register read ptx_r3",
        "memory read -c 16 0x20000000",
        "process plugin packet send bs",
        "process plugin packet monitor where",
        "breakpoint delete -f",
        "detach",
    ];
    let mut lldb = Command::new("lldb");
    lldb.args(["--no-lldbinit", "--batch"]);
    for command in commands {
        lldb.args(["-o", command]);
    }
    let out = lldb.output().unwrap();
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut rest = told.as_str();
    for line in LLDB {
        let at = rest.find(line).unwrap_or_else(|| {
            panic!("{line:?} is missing\n{told}\n{}", String::from_utf8_lossy(&out.stderr))
        });
        rest = &rest[at + line.len()..];
    }
    assert_eq!(ended(child).0, 0);
}

golden::tests! {
    packets_stop_look_and_go_back: nothing(),
    a_client_that_leaves_lets_the_kernel_run: nothing(),
    gdb_stops_steps_watches_and_goes_back: program(&["gdb", "--version"]).in_ci(),
    lldb_stops_steps_looks_and_goes_back: program(&["lldb", "--version"]),
}
