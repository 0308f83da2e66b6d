//! Memory and events that two processes share. The second process is this test program again; it is told what to do by
//! names in its environment, and says what it saw in its answer.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::c_void;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use common::*;

const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .u64 n)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r2, [n];
    atom.global.add.u32 %r1, [%rd1], %r2;
    ret;
}
.visible .entry wait(.param .u64 p)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
    ld.param.u64 %rd1, [p];
L:  ld.volatile.global.u32 %r1, [%rd1+4]; setp.eq.u32 %p, %r1, 0; @%p bra L;
    st.volatile.global.u32 [%rd1+8], 1;
    ret;
}
\0";

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS`.
const SHARED: u64 = 6;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
struct Name([u8; 64]);

/// `cuIpcOpenMemHandle`, whose second argument is a structure.
fn open(to: &mut u64, name: Name, flags: u32) -> u32 {
    type Open = unsafe extern "C" fn(*mut u64, Name, u32) -> u32;
    // SAFETY: the function takes these arguments.
    unsafe {
        std::mem::transmute::<*const c_void, Open>(address("cuIpcOpenMemHandle_v2"))(
            to, name, flags,
        )
    }
}

fn open_event(to: &mut u64, name: Name) -> u32 {
    type Open = unsafe extern "C" fn(*mut u64, Name) -> u32;
    // SAFETY: the function takes these arguments.
    unsafe { std::mem::transmute::<*const c_void, Open>(address("cuIpcOpenEventHandle"))(to, name) }
}

fn name_of(pointer: u64) -> Name {
    let mut name = Name([0; 64]);
    ok("cuIpcGetMemHandle", &[at(&mut name), pointer]);
    name
}

fn event() -> (u64, Name) {
    let (mut event, mut name) = (0u64, Name([0; 64]));
    ok("cuEventCreate", &[at(&mut event), SHARED]);
    ok("cuIpcGetEventHandle", &[at(&mut name), event]);
    (event, name)
}

fn put(address: u64, value: u32) {
    let mut value = value;
    ok("cuMemcpyHtoD_v2", &[address, at(&mut value), 4]);
}

fn word(address: u64) -> u32 {
    let mut value = 0u32;
    ok("cuMemcpyDtoH_v2", &[at(&mut value), address, 4]);
    value
}

fn add(address: u64, number: u64) {
    let kernel = function(module(PTX), "add\0");
    assert_eq!(launch(kernel, [1, 1, 1], [1, 1, 1], 0, &[address, number]), 0);
    ok("cuCtxSynchronize", &[]);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Name {
    let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap();
    Name(std::array::from_fn(byte))
}

/// The second process, which runs the test `second` alone.
struct Second {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Second {
    fn start() -> Second {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "second", "--nocapture", "--ignored"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Second { child, answers }
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "the second process ended");
            // The test's own lines stand before and between.
            if let Some((_, answer)) = line.split_once("answer: ") {
                return answer.trim().into();
            }
        }
    }

    fn ask(&mut self, order: &str) -> String {
        self.tell(order);
        self.hear()
    }

    fn end(mut self) {
        self.tell("end");
        assert!(self.child.wait().unwrap().success());
    }
}

/// Not a test of its own: what the second process does.
#[test]
#[ignore = "run by the other tests of this file"]
fn second() {
    context();
    let (mut pointers, mut events) = (Vec::new(), Vec::new());
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let words: Vec<&str> = order.split(' ').collect();
        let number = |i: usize| words[i].parse::<u64>().unwrap();
        let answer = match words[0] {
            "end" => break,
            "open" => {
                let mut pointer = 0;
                let code = open(&mut pointer, unhex(words[1]), number(2) as u32);
                pointers.push(pointer);
                let same = pointers.iter().position(|p| *p == pointer).unwrap();
                format!("{code} {same}")
            }
            "event" => {
                let mut event = 0;
                let code = open_event(&mut event, unhex(words[1]));
                events.push(event);
                format!("{code}")
            }
            "close" => {
                call("cuIpcCloseMemHandle", &[pointers[number(1) as usize] + number(2)]).to_string()
            }
            "range" => {
                let (mut base, mut size) = (0u64, 0u64);
                let pointer = pointers[number(1) as usize];
                ok("cuMemGetAddressRange_v2", &[at(&mut base), at(&mut size), pointer + 8]);
                format!("{size} {}", base == pointer)
            }
            "word" => word(pointers[number(1) as usize] + number(2)).to_string(),
            "reads" => {
                let mut value = 0u32;
                call("cuMemcpyDtoH_v2", &[at(&mut value), pointers[number(1) as usize], 4])
                    .to_string()
            }
            "add" => {
                add(pointers[number(1) as usize], number(2));
                "done".into()
            }
            "free" => call("cuMemFree_v2", &[pointers[number(1) as usize]]).to_string(),
            "name" => {
                let mut name = Name([0; 64]);
                call("cuIpcGetMemHandle", &[at(&mut name), pointers[number(1) as usize]])
                    .to_string()
            }
            "name_event" => {
                let mut name = Name([0; 64]);
                call("cuIpcGetEventHandle", &[at(&mut name), events[number(1) as usize]])
                    .to_string()
            }
            "query" => call("cuEventQuery", &[events[number(1) as usize]]).to_string(),
            "synchronize" => call("cuEventSynchronize", &[events[number(1) as usize]]).to_string(),
            "record" => call("cuEventRecord", &[events[number(1) as usize], 0]).to_string(),
            // A kernel that waits for a word and then writes the next one.
            "wait_kernel" => {
                let kernel = function(module(PTX), "wait\0");
                launch(kernel, [1, 1, 1], [1, 1, 1], 0, &[pointers[number(1) as usize]]).to_string()
            }
            // A kernel behind an event.
            "add_after" => {
                let stream = 0u64;
                ok("cuStreamWaitEvent", &[stream, events[number(1) as usize], 0]);
                let kernel = function(module(PTX), "add\0");
                let to = [pointers[number(2) as usize], number(3)];
                launch(kernel, [1, 1, 1], [1, 1, 1], stream, &to).to_string()
            }
            "finish" => call("cuCtxSynchronize", &[]).to_string(),
            "destroy" => call("cuEventDestroy_v2", &[events[number(1) as usize]]).to_string(),
            other => panic!("{other}"),
        };
        println!("answer: {answer}");
    }
}

#[test]
fn two_processes_work_on_one_memory() {
    context();
    // Neighbours: their bytes stay where they are.
    let [before, shared, after] = [1000, 3 << 20, 500].map(alloc);
    put(before + 996, 11);
    put(shared, 41);
    put(shared + (3 << 20) - 4, 42);
    put(after, 13);
    let name = name_of(shared);
    assert_eq!(name, name_of(shared + (1 << 20)), "any place of an allocation has its name");
    assert_eq!([before + 996, shared, after].map(word), [11, 41, 13]);

    let mut second = Second::start();
    let text = hex(&name.0);
    // As an H200 answers (driver 580.159.04): flags must be CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS; what is open stays.
    assert_eq!(second.ask(&format!("open {text} 0")), "1 0");
    assert_eq!(second.ask(&format!("open {text} 2")), "1 0");
    assert_eq!(second.ask(&format!("open {text} {LAZY}")), "0 2");
    assert_eq!(second.ask(&format!("open {text} {LAZY}")), "0 2");
    assert_eq!(second.ask("range 2"), "3145728 true");
    assert_eq!(second.ask("word 2 0"), "41");
    assert_eq!(second.ask("word 2 3145724"), "42");
    assert_eq!(second.ask("add 2 100"), "done");
    assert_eq!(word(shared), 141);
    add(shared, 1000);
    assert_eq!(second.ask("word 2 0"), "1141");
    assert_eq!(second.ask("free 2"), "1");
    assert_eq!(second.ask("name 2"), "1");
    assert_eq!(second.ask("close 2 4"), "1");

    // A small one, in the middle of a page.
    let small = alloc(1000);
    put(small, 43);
    let text = hex(&name_of(small).0);
    assert_eq!(second.ask(&format!("open {text} {LAZY}")), "0 4");
    assert_eq!(second.ask("range 4"), "1000 true");
    assert_eq!(second.ask("word 4 0"), "43");

    // It ends when it has been closed as often as it was opened.
    assert_eq!(second.ask("close 2 0"), "0");
    assert_eq!(second.ask("reads 2"), "0");
    assert_eq!(second.ask("close 2 0"), "0");
    assert_ne!(second.ask("reads 2"), "0");
    assert_eq!(second.ask("close 2 0"), "1");

    // What is freed here stays there; who gets the addresses here gets zeros and a memory of his own.
    put(small, 77);
    ok("cuMemFree_v2", &[small]);
    let again = alloc(1000);
    assert_eq!((again, word(again)), (small, 0));
    put(again, 5);
    assert_eq!(second.ask("word 4 0"), "77");
    second.end();
}

#[test]
fn what_has_no_name_is_refused() {
    context();
    let mut name = Name([0; 64]);
    let (mut managed, mut host, mut pool) = (0u64, 0u64, 0u64);
    ok("cuMemAllocManaged", &[at(&mut managed), 4096, 1]);
    ok("cuMemHostAlloc", &[at(&mut host), 4096, 0]);
    ok("cuMemAllocAsync", &[at(&mut pool), 4096, 0]);
    let own = alloc(4096);
    // As an H200 answers (driver 580.159.04).
    for pointer in [managed, host, pool, 0, 12345] {
        assert_eq!(call("cuIpcGetMemHandle", &[at(&mut name), pointer]), 1, "{pointer:#x}");
    }
    assert_eq!(call("cuIpcGetMemHandle", &[0, own]), 1);
    let mut pointer = 0;
    assert_eq!(open(&mut pointer, name_of(own), LAZY), 201, "a process opens none of its own");
    assert_eq!(call("cuIpcCloseMemHandle", &[own]), 1);
    assert_eq!(call("cuIpcCloseMemHandle", &[0]), 1);
    for byte in [0, 0x5a] {
        assert_eq!(open(&mut pointer, Name([byte; 64]), LAZY), 1);
    }
    let (mut event, mut plain) = (0u64, 0u64);
    assert_eq!(call("cuEventCreate", &[at(&mut event), 4]), 1, "such events have no times");
    ok("cuEventCreate", &[at(&mut plain), 2]);
    assert_eq!(call("cuIpcGetEventHandle", &[at(&mut name), plain]), 400);
    assert_eq!(call("cuIpcGetEventHandle", &[at(&mut name), 0]), 1);
    let (shared, named) = self::event();
    assert_eq!(call("cuIpcGetEventHandle", &[0, shared]), 1);
    assert_eq!(open_event(&mut event, named), 201);
    assert_eq!(open_event(&mut event, Name([0; 64])), 205);

    // Names that lie: every byte of a good one changed, and another process's files.
    let mut second = Second::start();
    for (good, order) in [(name_of(own), "open"), (named, "event")] {
        for i in 0..64 {
            let mut bad = good;
            bad.0[i] ^= 0x41;
            let flags = if order == "open" { " 1" } else { "" };
            let answer = second.ask(&format!("{order} {}{flags}", hex(&bad.0)));
            // The offset in a page and the size in the file are the exporter's to say; all else is judged.
            let places = if order == "open" { 24..40 } else { 24..32 };
            assert!(
                answer.starts_with("1 ") || answer == "205" || places.contains(&i),
                "{order}, byte {i}: {answer}"
            );
        }
    }
    second.end();
}

#[test]
fn events_order_the_work_of_two_processes() {
    context();
    let memory = alloc(4096);
    let (event, name) = event();
    let mut second = Second::start();
    second.ask(&format!("open {} {LAZY}", hex(&name_of(memory).0)));
    assert_eq!(second.ask(&format!("event {}", hex(&name.0))), "0");
    // Never recorded: reached.
    assert_eq!(second.ask("query 0"), "0");

    // A kernel here that waits for a word: the event behind it is not reached before the word comes.
    let mut stream = 0u64;
    ok("cuStreamCreate", &[at(&mut stream), 1]);
    let kernel = function(module(PTX), "wait\0");
    assert_eq!(launch(kernel, [1, 1, 1], [1, 1, 1], stream, &[memory]), 0);
    ok("cuEventRecord", &[event, stream]);
    assert_eq!(call("cuEventQuery", &[event]), 600);
    assert_eq!(second.ask("query 0"), "600");
    assert_eq!(second.ask("add_after 0 0 7"), "0");
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(word(memory), 0);
    put(memory + 4, 1);
    assert_eq!(second.ask("synchronize 0"), "0");
    assert_eq!(second.ask("word 0 8"), "1");
    assert_eq!(second.ask("finish"), "0");
    assert_eq!(word(memory), 7);
    assert_eq!(second.ask("query 0"), "0");
    ok("cuStreamSynchronize", &[stream]);
    ok("cuEventQuery", &[event]);

    // The other way round, on the same event, twice.
    for round in [1, 2] {
        put(memory + 4, 0);
        put(memory + 8, 0);
        assert_eq!(second.ask("wait_kernel 0"), "0");
        assert_eq!(second.ask("record 0"), "0");
        assert_eq!(call("cuEventQuery", &[event]), 600);
        ok("cuStreamWaitEvent", &[stream, event, 0]);
        let kernel = function(module(PTX), "add\0");
        assert_eq!(launch(kernel, [1, 1, 1], [1, 1, 1], stream, &[memory, 100]), 0);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(word(memory), 7 + 100 * (round - 1));
        put(memory + 4, 1);
        ok("cuStreamSynchronize", &[stream]);
        assert_eq!((word(memory), word(memory + 8)), (7 + 100 * round, 1));
        ok("cuEventSynchronize", &[event]);
    }
    assert_eq!(second.ask("name_event 0"), "400", "only its maker names an event");
    assert_eq!(second.ask("destroy 0"), "0");
    ok("cuEventQuery", &[event]);
    ok("cuEventDestroy_v2", &[event]);
    // Nobody has it any more.
    assert_eq!(second.ask(&format!("event {}", hex(&name.0))), "205");
    second.end();
}

#[test]
fn who_dies_keeps_nobody_waiting() {
    context();
    let memory = alloc(4096);
    let (event, name) = event();
    let mut second = Second::start();
    second.ask(&format!("open {} {LAZY}", hex(&name_of(memory).0)));
    second.ask(&format!("event {}", hex(&name.0)));
    assert_eq!(second.ask("wait_kernel 0"), "0");
    assert_eq!(second.ask("record 0"), "0");
    assert_eq!(call("cuEventQuery", &[event]), 600);
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    ok("cuEventSynchronize", &[event]);
    put(memory, 3);
    assert_eq!(word(memory), 3);
}

#[test]
fn a_name_is_of_one_event_only() {
    context();
    let mut second = Second::start();
    let (first, name) = event();
    ok("cuEventDestroy_v2", &[first]);
    // One of these has the place that the first one had.
    let events: Vec<_> = (0..5000).map(|_| event()).collect();
    assert!(events.iter().all(|(_, other)| *other != name));
    assert_eq!(second.ask(&format!("event {}", hex(&name.0))), "205");
    for (event, _) in events {
        ok("cuEventDestroy_v2", &[event]);
    }
    second.end();
}

#[test]
fn thousands_of_events_take_few_descriptors() {
    context();
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    let events: Vec<u64> = (0..5000).map(|_| event().0).collect();
    // Other tests of this program run beside this one.
    assert!(open_files() < before + 40, "{} more", open_files() - before);
    for event in events {
        ok("cuEventDestroy_v2", &[event]);
    }
}

#[test]
fn untouched_memory_stays_untouched() {
    context();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let memory = alloc(4 << 30);
    put(memory + (1 << 30), 9);
    let before = resident();
    name_of(memory);
    assert!(resident() < before + (256 << 20), "{} bytes more", resident() - before);
    assert_eq!(word(memory + (1 << 30)), 9);
}
