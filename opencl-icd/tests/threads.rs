//! Many threads use one context at once: queues in order and out of order, events of one another, events of the user,
//! maps, callbacks, compilations. Every result must be right. `fuzz/sanitize thread` runs this under ThreadSanitizer,
//! which sees accesses that nothing orders.

#![allow(clippy::macro_metavars_in_unsafe, unused_unsafe)]

mod common;

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use c_border::{In, Out, Raw};
use common::*;
use opencl_icd::api::{commands, contexts, events, kernels, memory, programs};
use opencl_icd::cl;

const TEXT: &str = "
kernel void twice(global uint *a) { a[get_global_id(0)] *= 2; }
kernel void count(global uint *counter) { atomic_inc(counter); }
";
const THREADS: u32 = 8;
const TURNS: u32 = 10;
const WORDS: usize = 512;

/// What all threads share.
struct World {
    context: usize,
    program: usize,
    /// Takes commands in any order.
    queue: usize,
    /// How many work-items of `count` there were.
    counter: usize,
    /// Events of commands that somebody gave.
    events: Mutex<Vec<usize>>,
    /// Events of the user that nobody has set yet.
    unset: Mutex<Vec<usize>>,
}

static CALLED: AtomicI32 = AtomicI32::new(0);
unsafe extern "C" fn called(_: usize, _: i32, _: *mut c_void) {
    CALLED.fetch_add(1, Ordering::Relaxed);
}

/// Enqueues a kernel behind events; its own.
fn launch(queue: usize, kernel: usize, items: usize, after: &[usize]) -> usize {
    let (mut event, items) = (0, [items]);
    let list = if after.is_empty() { In::none() } else { In::of(after) };
    ok!(kernels::clEnqueueNDRangeKernel(
        queue,
        kernel,
        1,
        In::none(),
        In::of(&items),
        In::none(),
        after.len() as u32,
        list,
        Out::to(&mut event)
    ));
    event
}

/// Doubles `words` three times.
fn turn(world: &World, turn: u32, kernels: [usize; 2], words: &mut [u32]) {
    let [twice, count] = kernels;
    let own = turn.is_multiple_of(2).then(|| queue(world.context, 0));
    let queue = own.unwrap_or(world.queue);
    let (data, bytes) = (buffer(world.context, 4 * WORDS), 4 * WORDS);
    set(twice, 0, data);
    set(count, 0, world.counter);
    let (mut written, mut last) = (0, 0);
    let from = raw_slice(words);
    let (place, none) = (Out::to(&mut written), In::none());
    ok!(commands::clEnqueueWriteBuffer(queue, data, 0, 0, bytes, from, 0, none, place));
    // The first one waits for an event that any thread may set.
    let user = make!(events::clCreateUserEvent(world.context));
    let mut all = vec![written, launch(queue, twice, WORDS, &[written, user])];
    for _ in 0..2 {
        all.push(launch(queue, twice, WORDS, &all[all.len() - 1..]));
    }
    // This one comes after whatever another thread did last.
    let other = world.events.lock().unwrap().last().copied();
    all.push(launch(world.queue, count, 64, other.as_slice()));
    let counted = all[all.len() - 1];
    ok!(events::clSetEventCallback(counted, cl::COMPLETE, Some(called), Raw::none()));
    ok!(events::clRetainEvent(counted));
    world.events.lock().unwrap().push(counted);
    // Whoever has added one takes one, so that none is left.
    world.unset.lock().unwrap().push(user);
    let one = world.unset.lock().unwrap().pop().unwrap();
    ok!(events::clSetUserEventStatus(one, 0));
    ok!(events::clReleaseEvent(one));
    let done = [all[3]];
    if turn.is_multiple_of(3) {
        let (flags, event) = (cl::MAP_READ, Out::to(&mut last));
        let (after, map) = (In::of(&done), commands::clEnqueueMapBuffer);
        let at = make!(map(queue, data, 1, flags, 0, bytes, 1, after, event));
        for (word, bytes) in words.iter_mut().zip(Raw::new(at).bytes(0, bytes).unwrap().chunks(4)) {
            *word = u32::from_le_bytes(bytes.try_into().unwrap());
        }
        ok!(commands::clEnqueueUnmapMemObject(queue, data, Raw::new(at), 0, none, Out::none()));
        ok!(contexts::clFinish(queue));
    } else {
        let (to, after, event) = (raw_slice(words), In::of(&done), Out::to(&mut last));
        ok!(commands::clEnqueueReadBuffer(queue, data, 0, 0, bytes, to, 1, after, event));
        if turn.is_multiple_of(4) {
            ok!(contexts::clFinish(queue));
        } else {
            let both = [last, counted];
            ok!(events::clWaitForEvents(2, In::of(&both)));
        }
    }
    all.push(last);
    for event in all {
        ok!(events::clReleaseEvent(event));
    }
    ok!(memory::clReleaseMemObject(data));
    if let Some(own) = own {
        ok!(contexts::clReleaseCommandQueue(own));
    }
}

fn work(world: &World, thread: u32) {
    let own = source_program(world.context, TEXT);
    assert_eq!(build(own, ""), 0);
    for n in 0..TURNS {
        // Kernels of the program that all share, and of the one that nobody else knows.
        let program = if n.is_multiple_of(3) { own } else { world.program };
        let kernels = [kernel(program, "twice"), kernel(program, "count")];
        let first = |i: usize| i as u32 * 3 + n + thread * 1000;
        let mut words: Vec<u32> = (0..WORDS).map(first).collect();
        turn(world, n, kernels, &mut words);
        let wrong = (0..WORDS).find(|i| words[*i] != first(*i) * 8);
        assert_eq!(wrong, None, "thread {thread}, turn {n}");
        for kernel in kernels {
            ok!(kernels::clReleaseKernel(kernel));
        }
    }
    ok!(programs::clReleaseProgram(own));
}

#[test]
fn threads_share_a_context() {
    let context = context();
    let program = source_program(context, TEXT);
    assert_eq!(build(program, ""), 0);
    let queue = queue(context, cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let mut counted = [0u32];
    let (flags, zero) = (cl::MEM_COPY_HOST_PTR, raw_slice(&mut counted));
    let counter = make!(memory::clCreateBuffer(context, flags, 4, zero));
    let (events, unset) = Default::default();
    let world = World { context, program, queue, counter, events, unset };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let world = &world;
            scope.spawn(move || work(world, thread));
        }
    });
    ok!(contexts::clFinish(queue));
    let (to, none) = (raw_slice(&mut counted), In::none());
    ok!(commands::clEnqueueReadBuffer(queue, counter, 1, 0, 4, to, 0, none, Out::none()));
    assert_eq!(counted[0], THREADS * TURNS * 64);
    let start = Instant::now();
    while CALLED.load(Ordering::Relaxed) < (THREADS * TURNS) as i32 {
        assert!(start.elapsed() < Duration::from_secs(20), "{CALLED:?} callbacks");
        std::thread::sleep(Duration::from_millis(1));
    }
    for event in world.events.into_inner().unwrap() {
        ok!(events::clReleaseEvent(event));
    }
    ok!(memory::clReleaseMemObject(counter));
    ok!(programs::clReleaseProgram(program));
    ok!(contexts::clReleaseCommandQueue(queue));
    ok!(contexts::clReleaseContext(context));
}
