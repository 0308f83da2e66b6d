//! Streams, events, stream capture, memory operations of streams.

use std::sync::{Arc, PoisonError};

use super::symbol::functions;
use crate::capture::Capture;
use crate::context;
use crate::driver;
use crate::error::{Error, Result};
use crate::event::{self, BLOCKING, EVENTS, Event, INTERPROCESS, NO_TIMING};
use crate::graph::{GRAPHS, Graph};
use crate::schedule;
use crate::stream::{self, NON_BLOCKING, STREAMS, Stream};
use crate::work::Work;
use c_border::callback::StreamFn;
use c_border::plain_struct;
use c_border::{In, Out, Raw};

/// The highest stream priority (numbers fall as priority rises).
pub const GREATEST_PRIORITY: i32 = -5;

plain_struct! {
    /// `CUstreamBatchMemOpParams`: the fields that waits and writes share.
    BatchOp { operation: u32, pad: u32, address: u64, value: u64, flags: u32, pad2: u32, alias: u64, rest: u64 }
}

fn create(out: Out<usize>, flags: u32, priority: i32) -> Result {
    let context = context::current()?;
    out.required()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(Error::InvalidValue);
    }
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    Ok(out.set(STREAMS.give(stream::create(&context, flags, priority)))?)
}

/// Whether an address can be waited for or written by a stream.
fn place(stream: &Stream, address: u64, bytes: u32) -> Result {
    let context = stream.context()?;
    let block = context.device.memory().find(address).ok_or(Error::InvalidValue)?;
    let fits = u64::from(bytes) <= block.size - (address - block.start);
    if fits && address.is_multiple_of(u64::from(bytes)) { Ok(()) } else { Err(Error::InvalidValue) }
}

fn value_work(
    stream: &Stream,
    address: u64,
    value: u64,
    bytes: u32,
    wait: Option<u32>,
) -> Result<Work> {
    place(stream, address, bytes)?;
    Ok(match wait {
        Some(flags) => Work::Wait(address, value, bytes, flags),
        None => Work::Write(address, value, bytes),
    })
}

fn capture_info(
    stream: usize,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<usize>,
    nodes: Out<usize>,
    count: Out<usize>,
) -> Result {
    let stream = stream::get(stream)?;
    status.required()?;
    match &*stream.capture() {
        None => status.put(0),
        Some(c) => {
            status.put(if c.capture.is_invalid() { 2 } else { 1 });
            id.put(c.capture.id);
            graph.put(c.capture.handle);
            nodes.put(c.tail.as_ptr() as usize);
            count.put(c.tail.len());
        }
    }
    Ok(())
}

fn begin(stream: usize, graph: Arc<Graph>, handle: usize, tail: Vec<usize>, mode: u32) -> Result {
    let stream = stream::get(stream)?;
    if mode > 2 {
        return Err(Error::InvalidValue);
    }
    if stream.is_legacy() {
        return Err(Error::StreamCaptureUnsupported);
    }
    let mut capture = stream.capture();
    if capture.is_some() {
        return Err(Error::IllegalState);
    }
    let mut begun = Capture::begin(graph, handle, stream.queue, mode);
    begun.tail = tail;
    *capture = Some(begun);
    Ok(())
}

functions! {
    cuStreamCreate [2000 => cuStreamCreate] (stream: Out<usize>, flags: u32) {
        create(stream, flags, 0)
    }

    cuStreamCreateWithPriority [5050 => cuStreamCreateWithPriority]
    (stream: Out<usize>, flags: u32, priority: i32) {
        create(stream, flags, priority)
    }

    cuStreamDestroy [2000 => cuStreamDestroy, 4000 => cuStreamDestroy_v2] (handle: usize) {
        driver::get()?;
        let stream = STREAMS.remove(handle).ok_or(Error::InvalidHandle)?;
        if let Some(capturing) = stream.capture().take() {
            capturing.capture.invalidate();
        }
        // Its work goes on; the queue ends with the last holder.
        if let Ok(context) = stream.context() {
            context.leave(schedule::last(stream.queue), stream.flags & stream::NON_BLOCKING == 0);
        }
        schedule::close(stream.queue);
        Ok(())
    }

    cuStreamSynchronize [2000 => cuStreamSynchronize; 7000 => cuStreamSynchronize_ptsz] (stream: usize) {
        stream::get(stream)?.synchronize()
    }

    cuStreamQuery [2000 => cuStreamQuery; 7000 => cuStreamQuery_ptsz] (stream: usize) {
        let stream = stream::get(stream)?;
        stream.not_capturing()?;
        if !schedule::done(schedule::last(stream.queue)) {
            return Err(Error::NotReady);
        }
        stream.context()?.check()
    }

    cuStreamWaitEvent [3020 => cuStreamWaitEvent; 7000 => cuStreamWaitEvent_ptsz]
    (stream: usize, event: usize, flags: u32) {
        let stream = stream::get(stream)?;
        let event = event::get(event)?;
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        stream.wait_for(&event)
    }

    cuStreamAddCallback [5000 => cuStreamAddCallback; 7000 => cuStreamAddCallback_ptsz]
    (handle: usize, callback: StreamFn, data: Raw, flags: u32) {
        let stream = stream::get(handle)?;
        if callback.is_none() || flags != 0 {
            return Err(Error::InvalidValue);
        }
        stream.not_capturing()?;
        stream.enqueue(Work::Callback(callback, handle, data)).map(|_| ())
    }

    cuStreamGetPriority [5050 => cuStreamGetPriority; 7000 => cuStreamGetPriority_ptsz]
    (stream: usize, priority: Out<i32>) {
        Ok(priority.set(stream::get(stream)?.priority)?)
    }

    cuStreamGetFlags [5050 => cuStreamGetFlags; 7000 => cuStreamGetFlags_ptsz]
    (stream: usize, flags: Out<u32>) {
        Ok(flags.set(stream::get(stream)?.flags)?)
    }

    cuStreamGetId [12000 => cuStreamGetId; 12000 => cuStreamGetId_ptsz]
    (stream: usize, id: Out<u64>) {
        Ok(id.set(stream::id(&*stream::get(stream)?))?)
    }

    cuStreamGetCtx [9020 => cuStreamGetCtx; 9020 => cuStreamGetCtx_ptsz]
    (stream: usize, context: Out<usize>) {
        Ok(context.set(stream::get(stream)?.context()?.handle)?)
    }

    cuStreamGetCtx [12050 => cuStreamGetCtx_v2; 12050 => cuStreamGetCtx_v2_ptsz]
    (stream: usize, context: Out<usize>, green: Out<usize>) {
        green.put(0);
        Ok(context.set(stream::get(stream)?.context()?.handle)?)
    }

    cuStreamGetDevice [12080 => cuStreamGetDevice; 12080 => cuStreamGetDevice_ptsz]
    (stream: usize, device: Out<i32>) {
        stream::get(stream)?;
        Ok(device.set(0)?)
    }

    // Attributes are hints: they are kept and given back.
    cuStreamSetAttribute [11000 => cuStreamSetAttribute; 11000 => cuStreamSetAttribute_ptsz]
    (stream: usize, id: u32, value: In<[u8; 64]>) {
        let stream = stream::get(stream)?;
        let value = value.get()?;
        if !matches!(id, 1 | 3 | 8 | 9 | 10) {
            return Err(Error::InvalidValue);
        }
        stream.attributes.lock().unwrap_or_else(PoisonError::into_inner).insert(id, value);
        Ok(())
    }

    cuStreamGetAttribute [11000 => cuStreamGetAttribute; 11000 => cuStreamGetAttribute_ptsz]
    (stream: usize, id: u32, value: Out<[u8; 64]>) {
        let stream = stream::get(stream)?;
        if !matches!(id, 1 | 3 | 8 | 9 | 10) {
            return Err(Error::InvalidValue);
        }
        let set = stream.attributes.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied();
        let mut standard = [0; 64];
        match id {
            // The priority that it was made with.
            8 => standard[..4].copy_from_slice(&stream.priority.to_le_bytes()),
            3 => standard[0] = 1,
            _ => {}
        }
        Ok(value.set(set.unwrap_or(standard))?)
    }

    cuStreamCopyAttributes [11000 => cuStreamCopyAttributes; 11000 => cuStreamCopyAttributes_ptsz]
    (to: usize, from: usize) {
        let (to, from) = (stream::get(to)?, stream::get(from)?);
        let all = from.attributes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *to.attributes.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }

    cuEventCreate [2000 => cuEventCreate] (event: Out<usize>, flags: u32) {
        let context = context::current()?;
        event.required()?;
        if flags & !(BLOCKING | NO_TIMING | INTERPROCESS) != 0
            || flags & INTERPROCESS != 0 && flags & NO_TIMING == 0
        {
            return Err(Error::InvalidValue);
        }
        Ok(event.set(EVENTS.give(Arc::new(Event::new(&context, flags)?)))?)
    }

    cuEventDestroy [2000 => cuEventDestroy, 4000 => cuEventDestroy_v2] (event: usize) {
        driver::get()?;
        EVENTS.remove(event).map(|_| ()).ok_or(Error::InvalidHandle)
    }

    cuEventRecord [2000 => cuEventRecord; 7000 => cuEventRecord_ptsz] (event: usize, stream: usize) {
        let event = event::get(event)?;
        stream::get(stream)?.record(&event)
    }

    cuEventRecordWithFlags [11010 => cuEventRecordWithFlags; 11010 => cuEventRecordWithFlags_ptsz]
    (event: usize, stream: usize, flags: u32) {
        let event = event::get(event)?;
        let stream = stream::get(stream)?;
        match flags {
            0 => stream.record(&event),
            // External: a node of its own in a capture.
            1 => match &mut *stream.capture() {
                Some(capturing) => capturing.add(Work::Record(event)),
                None => Err(Error::InvalidValue),
            },
            _ => Err(Error::InvalidValue),
        }
    }

    cuEventQuery [2000 => cuEventQuery] (event: usize) {
        event::get(event)?.query()
    }

    cuEventSynchronize [2000 => cuEventSynchronize] (event: usize) {
        event::get(event)?.synchronize()
    }

    cuEventElapsedTime [2000 => cuEventElapsedTime, 12080 => cuEventElapsedTime_v2]
    (milliseconds: Out<f32>, from: usize, to: usize) {
        let (from, to) = (event::get(from)?, event::get(to)?);
        milliseconds.required()?;
        Ok(milliseconds.set(Event::elapsed(&from, &to)?)?)
    }

    cuStreamBeginCapture [10000 => cuStreamBeginCapture; 10000 => cuStreamBeginCapture_ptsz] (stream: usize) {
        let graph = Arc::new(Graph::default());
        begin(stream, Arc::clone(&graph), GRAPHS.reserve(), Vec::new(), 0)
    }

    cuStreamBeginCapture [10010 => cuStreamBeginCapture_v2; 10010 => cuStreamBeginCapture_v2_ptsz]
    (stream: usize, mode: u32) {
        begin(stream, Arc::new(Graph::default()), GRAPHS.reserve(), Vec::new(), mode)
    }

    cuStreamBeginCaptureToGraph [12030 => cuStreamBeginCaptureToGraph; 12030 => cuStreamBeginCaptureToGraph_ptsz]
    (stream: usize, graph: usize, nodes: In<usize>, edges: Raw, count: usize, mode: u32) {
        let found = GRAPHS.get(graph).ok_or(Error::InvalidValue)?;
        begin(stream, found, graph, nodes.list(count)?, mode)
    }

    cuStreamEndCapture [10000 => cuStreamEndCapture; 10000 => cuStreamEndCapture_ptsz]
    (stream: usize, graph: Out<usize>) {
        let stream = stream::get(stream)?;
        graph.put(0);
        let mut own = stream.capture();
        match &*own {
            None => return Err(Error::IllegalState),
            Some(c) if c.capture.origin != stream.queue => {
                c.capture.invalidate();
                return Err(Error::StreamCaptureUnmatched);
            }
            Some(c) if !c.capture.may_end_here() => return Err(Error::StreamCaptureWrongThread),
            _ => {}
        }
        let Some(capturing) = own.take() else { return Err(Error::IllegalState) };
        drop(own);
        // Streams that joined capture no longer.
        let joined = capturing.capture.joined_streams();
        for other in stream::all(&*stream.context()?).iter().filter(|s| joined.contains(&s.queue)) {
            other.capture().take();
        }
        capturing.capture.check()?;
        if !capturing.capture.is_joined(&capturing.tail) {
            return Err(Error::StreamCaptureUnjoined);
        }
        let handle = capturing.capture.handle;
        if GRAPHS.get(handle).is_none() {
            GRAPHS.give_as(handle, Arc::clone(&capturing.capture.graph));
        }
        graph.put(handle);
        Ok(())
    }

    cuStreamIsCapturing [10000 => cuStreamIsCapturing; 10000 => cuStreamIsCapturing_ptsz]
    (stream: usize, status: Out<u32>) {
        let stream = stream::get(stream)?;
        let now = stream.capture().as_ref().map_or(0, |c| if c.capture.is_invalid() { 2 } else { 1 });
        Ok(status.set(now)?)
    }

    cuStreamGetCaptureInfo [10010 => cuStreamGetCaptureInfo; 10010 => cuStreamGetCaptureInfo_ptsz]
    (stream: usize, status: Out<u32>, id: Out<u64>) {
        capture_info(stream, status, id, Out::none(), Out::none(), Out::none())
    }

    cuStreamGetCaptureInfo [11030 => cuStreamGetCaptureInfo_v2; 11030 => cuStreamGetCaptureInfo_v2_ptsz]
    (stream: usize, status: Out<u32>, id: Out<u64>, graph: Out<usize>, nodes: Out<usize>, count: Out<usize>) {
        capture_info(stream, status, id, graph, nodes, count)
    }

    cuStreamGetCaptureInfo [12030 => cuStreamGetCaptureInfo_v3; 12030 => cuStreamGetCaptureInfo_v3_ptsz]
    (stream: usize, status: Out<u32>, id: Out<u64>, graph: Out<usize>, nodes: Out<usize>, edges: Out<usize>,
     count: Out<usize>) {
        // All edges are plain ones.
        edges.put(0);
        capture_info(stream, status, id, graph, nodes, count)
    }

    cuStreamUpdateCaptureDependencies [11030 => cuStreamUpdateCaptureDependencies; 11030 => cuStreamUpdateCaptureDependencies_ptsz]
    (stream: usize, nodes: In<usize>, count: usize, flags: u32) {
        update(stream, &nodes.list(count)?, flags)
    }

    cuStreamUpdateCaptureDependencies [12030 => cuStreamUpdateCaptureDependencies_v2; 12030 => cuStreamUpdateCaptureDependencies_v2_ptsz]
    (stream: usize, nodes: In<usize>, edges: Raw, count: usize, flags: u32) {
        update(stream, &nodes.list(count)?, flags)
    }

    // Threads have no mode of their own here: each capture keeps the one it began with.
    cuThreadExchangeStreamCaptureMode [10010 => cuThreadExchangeStreamCaptureMode] (mode: Out<u32>) {
        thread_local!(static MODE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
        let new = mode.get()?;
        if new > 2 {
            return Err(Error::InvalidValue);
        }
        Ok(mode.set(MODE.replace(new))?)
    }

    cuStreamWriteValue32 [8000 => cuStreamWriteValue32, 11070 => cuStreamWriteValue32_v2; 8000 => cuStreamWriteValue32_ptsz, 11070 => cuStreamWriteValue32_v2_ptsz]
    (stream: usize, address: u64, value: u32, flags: u32) {
        let stream = stream::get(stream)?;
        let work = value_work(&stream, address, u64::from(value), 4, None)?;
        stream.enqueue(work).map(|_| ())
    }

    cuStreamWriteValue64 [9000 => cuStreamWriteValue64, 11070 => cuStreamWriteValue64_v2; 9000 => cuStreamWriteValue64_ptsz, 11070 => cuStreamWriteValue64_v2_ptsz]
    (stream: usize, address: u64, value: u64, flags: u32) {
        let stream = stream::get(stream)?;
        let work = value_work(&stream, address, value, 8, None)?;
        stream.enqueue(work).map(|_| ())
    }

    cuStreamWaitValue32 [8000 => cuStreamWaitValue32, 11070 => cuStreamWaitValue32_v2; 8000 => cuStreamWaitValue32_ptsz, 11070 => cuStreamWaitValue32_v2_ptsz]
    (stream: usize, address: u64, value: u32, flags: u32) {
        let stream = stream::get(stream)?;
        let work = value_work(&stream, address, u64::from(value), 4, Some(flags))?;
        stream.enqueue(work).map(|_| ())
    }

    cuStreamWaitValue64 [9000 => cuStreamWaitValue64, 11070 => cuStreamWaitValue64_v2; 9000 => cuStreamWaitValue64_ptsz, 11070 => cuStreamWaitValue64_v2_ptsz]
    (stream: usize, address: u64, value: u64, flags: u32) {
        let stream = stream::get(stream)?;
        let work = value_work(&stream, address, value, 8, Some(flags))?;
        stream.enqueue(work).map(|_| ())
    }

    cuStreamBatchMemOp [8000 => cuStreamBatchMemOp, 11070 => cuStreamBatchMemOp_v2; 8000 => cuStreamBatchMemOp_ptsz, 11070 => cuStreamBatchMemOp_v2_ptsz]
    (stream: usize, count: u32, list: In<BatchOp>, flags: u32) {
        let stream = stream::get(stream)?;
        let mut works = Vec::new();
        for op in list.list(count as usize)? {
            let low = op.value & u64::from(u32::MAX);
            works.push(match op.operation {
                1 => value_work(&stream, op.address, low, 4, Some(op.flags))?,
                2 => value_work(&stream, op.address, low, 4, None)?,
                4 => value_work(&stream, op.address, op.value, 8, Some(op.flags))?,
                5 => value_work(&stream, op.address, op.value, 8, None)?,
                // Barriers and flushes: work of a stream is ordered.
                3 | 6 => Work::Nothing,
                _ => return Err(Error::InvalidValue),
            });
        }
        stream.enqueue(Work::Graph(Arc::new(works))).map(|_| ())
    }
}

/// Adds to (0) or replaces (1) what the next captured node depends on.
fn update(stream: usize, nodes: &[usize], flags: u32) -> Result {
    let stream = stream::get(stream)?;
    let mut capture = stream.capture();
    let Some(c) = &mut *capture else { return Err(Error::IllegalState) };
    c.capture.check()?;
    for n in nodes {
        c.capture.graph.with(*n, |_| ())?;
    }
    match flags {
        0 => {
            c.tail.extend(nodes.iter().filter(|n| !c.tail.contains(n)).copied().collect::<Vec<_>>())
        }
        1 => c.tail = nodes.to_vec(),
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}
