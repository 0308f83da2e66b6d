//! Device memory: channels that transfer one burst after another, plus a fixed latency.

use crate::profile::Profile;

/// Sub-cycle resolution of transfer times.
const FRACTION: u64 = 1 << 10;

/// Clocks over which the use of device memory is averaged.
const WINDOW: u64 = 1024;
/// Pages of a channel that are as good as open: its banks', and what its scheduler gathers before it opens
/// another.
const BANKS: usize = 64;
/// Use beyond which waiting no longer grows: then the channels' queues take over.
const MOST_USED: f64 = 0.75;

/// Queues of the memory channels. Times are SM clocks.
#[derive(Debug, Clone)]
pub struct Dram {
    /// When each channel is free again, in 1/1024 clocks.
    free_at: Vec<u64>,
    /// Transfer time per byte on one channel, in 1/1024 clocks.
    per_byte: f64,
    interleave_shift: u32,
    /// See [`Dram::channel`].
    hashed: bool,
    burst: u64,
    /// What lines take longer than others, see [`Dram::apart`].
    spread: Vec<i64>,
    /// Waiting beyond the channels' queues, see [`Dram::waiting`].
    queue_clocks: f64,
    bytes_per_window: f64,
    /// Open page of each bank of each channel, in units of pages, and what opening one costs a channel.
    open: Vec<[u64; BANKS]>,
    page_shift: u32,
    page_time: u64,
    turn_time: u64,
    /// Whether the last transfer opened a page.
    opened: bool,
    /// A clock that all who use it have come to, about.
    pub all_at: u64,
    window: u64,
    this_window: u64,
    last_window: u64,
    bytes_read: u64,
    bytes_written: u64,
}

impl Dram {
    /// Idle memory of a checked profile.
    pub fn new(profile: &Profile) -> Self {
        let d = &profile.dram;
        let per_channel =
            profile.dram_bytes_per_cycle() * d.efficiency / f64::from(d.channels.max(1));
        Self {
            free_at: vec![0; d.channels.max(1) as usize],
            per_byte: FRACTION as f64 / per_channel,
            interleave_shift: d.interleave_bytes.max(1).ilog2(),
            hashed: d.hashed_channels,
            burst: u64::from(d.burst_bytes.max(1)),
            spread: d
                .spread
                .iter()
                .map(|clocks| (f64::from(*clocks) * profile.memory_clock_ratio()) as i64)
                .collect(),
            queue_clocks: f64::from(d.queue_cycles) * profile.memory_clock_ratio(),
            bytes_per_window: profile.dram_bytes_per_cycle() * d.efficiency * WINDOW as f64,
            open: vec![[u64::MAX; BANKS]; d.channels.max(1) as usize],
            page_shift: d.page_bytes.max(1).ilog2(),
            page_time: (d.page_bursts * d.burst_bytes as f64 * FRACTION as f64 / per_channel)
                as u64,
            turn_time: (d.turn_bursts * d.burst_bytes as f64 * FRACTION as f64 / per_channel)
                as u64,
            opened: false,
            all_at: u64::MAX,
            window: 0,
            this_window: 0,
            last_window: 0,
            bytes_read: 0,
            bytes_written: 0,
        }
    }

    /// Queues a read at time `now`; returns when its last byte is there. The caller adds the unloaded
    /// latency, which the queue does not contain.
    pub fn read(&mut self, now: u64, address: u64, bytes: u32) -> u64 {
        let moved = self.rounded(address, bytes);
        self.bytes_read += moved;
        // Who waits for its turn does not notice what else makes reads wait.
        self.transfer(now, address, moved).max(now + self.waiting(now))
    }

    /// Queues a write at time `now`; returns when its last byte is transferred.
    pub fn write(&mut self, now: u64, address: u64, bytes: u32) -> u64 {
        let moved = self.rounded(address, bytes);
        self.bytes_written += moved;
        self.transfer(now, address, moved)
    }

    /// The channel of an address turns from reading to writing what was just read.
    pub fn turn_round(&mut self, address: u64) {
        if self.opened {
            let channel = self.channel(address >> self.interleave_shift);
            self.free_at[channel] += self.turn_time;
        }
    }

    /// Clocks that a read of a line takes more than the mean: some are near, some far, and some meet a refresh.
    /// A warp that waits for many lines waits for the slowest.
    pub fn apart(&self, line: u64) -> i64 {
        one_of(&self.spread, hash(line))
    }

    /// The channel of a chunk. Chunks in a row take one channel after the other; where channels are hashed, every
    /// round of them begins at another one, so that no distance of addresses meets the same few.
    fn channel(&self, chunk: u64) -> usize {
        let channels = self.free_at.len() as u64;
        let round = chunk / channels;
        ((chunk + if self.hashed { hash(round) } else { 0 }) % channels) as usize
    }

    /// Bytes of the smallest transfer.
    pub fn burst_bytes(&self) -> u64 {
        self.burst
    }

    /// Bytes read and written so far, whole bursts.
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes_read, self.bytes_written)
    }

    /// When the last queued transfer ends.
    pub fn drained_at(&self) -> u64 {
        self.free_at.iter().max().map_or(0, |t| t.div_ceil(FRACTION))
    }

    fn rounded(&self, address: u64, bytes: u32) -> u64 {
        let first = address / self.burst;
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1) / self.burst;
        (last - first + 1) * self.burst
    }

    /// Clocks that a read waits though it may have its turn at the channel at once: what banks, refresh and changes of
    /// direction cost, as the mean wait of a queue with random service, s * u / (1 - u) at use u.
    fn waiting(&self, now: u64) -> u64 {
        if self.queue_clocks == 0.0 {
            return 0;
        }
        let into = (now.saturating_sub(self.window * WINDOW) as f64 / WINDOW as f64).min(1.0);
        let bytes = self.this_window as f64 + self.last_window as f64 * (1.0 - into);
        let used = (bytes / self.bytes_per_window).min(MOST_USED);
        (self.queue_clocks * used / (1.0 - used)) as u64
    }

    fn transfer(&mut self, now: u64, address: u64, bytes: u64) -> u64 {
        let window = now / WINDOW;
        if window > self.window {
            self.last_window = if window == self.window + 1 { self.this_window } else { 0 };
            (self.this_window, self.window) = (0, window);
        }
        self.this_window += bytes;
        let chunk = address >> self.interleave_shift;
        let channel = self.channel(chunk);
        let start = self.free_at[channel].max(now.min(self.all_at) * FRACTION);
        let mut time = (bytes as f64 * self.per_byte).round() as u64;
        if self.page_time > 0 {
            // What one channel holds lies together there, whatever lies between in the address space.
            let own = chunk / self.free_at.len() as u64;
            let page = own << self.interleave_shift >> self.page_shift;
            let bank = (page ^ page >> 6 ^ page >> 11) as usize % BANKS;
            let open = &mut self.open[channel][bank];
            self.opened = *open != page;
            if self.opened {
                *open = page;
                time += self.page_time;
            }
        }
        let end = start + time;
        self.free_at[channel] = end;
        end.max(now * FRACTION + time).div_ceil(FRACTION)
    }

    /// Share of the clocks up to `end` that the channels transfer; what is queued beyond is not counted.
    pub fn used(&self, end: u64) -> f64 {
        let beyond: f64 = self
            .free_at
            .iter()
            .map(|t| t.saturating_sub(end * FRACTION) as f64 / self.per_byte)
            .sum();
        let all = (self.bytes_read + self.bytes_written) as f64 - beyond;
        (all * WINDOW as f64 / (self.bytes_per_window * end.max(1) as f64)).clamp(0.0, 1.0)
    }
}

/// 24 bits of a number, whatever bits it differs from others by.
pub(crate) fn hash(n: u64) -> u64 {
    (n ^ n >> 15).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// One of the numbers that a hash picks.
pub(crate) fn one_of(list: &[i64], hash: u64) -> i64 {
    match list.len() as u64 {
        0 => 0,
        count => list[(hash % count) as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Catalog;

    fn g80() -> Profile {
        Catalog::embedded().unwrap().get("8800 GTX").unwrap()
    }

    /// A long coalesced stream runs at the profile's bandwidth times its efficiency.
    #[test]
    fn stream_reaches_the_effective_bandwidth() {
        let p = g80();
        let mut dram = Dram::new(&p);
        let bytes = 64 * 100_000_u64;
        let mut end = 0;
        for i in 0..100_000 {
            end = end.max(dram.read(0, i * 64, 64));
        }
        let gbps = bytes as f64 / (end as f64 / (p.clock.sm_mhz * 1e6)) / 1e9;
        let expected = p.dram.bandwidth_gbps * p.dram.efficiency;
        assert!((gbps / expected - 1.0).abs() < 0.01, "{gbps} for {expected}");
        assert_eq!(dram.bytes(), (bytes, 0));
    }

    /// Accesses that all meet in one channel run at one channel's share (partition camping).
    #[test]
    fn one_channel_is_a_sixth() {
        let p = g80();
        let mut all = Dram::new(&p);
        let mut one = Dram::new(&p);
        let (mut end_all, mut end_one) = (0, 0);
        for i in 0..6_000 {
            end_all = end_all.max(all.read(0, i * 256, 64));
            end_one = end_one.max(one.read(0, i * 256 * 6, 64));
        }
        let ratio = end_one as f64 / end_all as f64;
        assert!((ratio - 6.0).abs() < 0.05, "{ratio}");
    }

    /// Beside a busy channel a read waits for its turn, or for what else makes reads wait: not for both.
    #[test]
    fn who_waits_for_its_turn_waits_for_nothing_else() {
        let p = Catalog::embedded().unwrap().get("H200").unwrap();
        let mut dram = Dram::new(&p);
        let mut alone = Dram::new(&p);
        alone.queue_clocks = 0.0;
        // Half of the bandwidth for a while.
        let bytes = (dram.bytes_per_window / 2.0) as u64;
        for i in 0..bytes / 64 {
            dram.read(0, i * 64, 64);
            alone.read(0, i * 64, 64);
        }
        let now = 1000;
        let (found, turn) = (dram.read(now, bytes, 64), alone.read(now, bytes, 64));
        assert!(found > turn, "{found} after {turn}");
        // One channel with much before it.
        for _ in 0..4096 {
            dram.read(now, 0, 64);
            alone.read(now, 0, 64);
        }
        assert_eq!(dram.read(now, 0, 64), alone.read(now, 0, 64));
    }

    #[test]
    fn small_reads_move_a_whole_burst() {
        let mut dram = Dram::new(&g80());
        dram.read(0, 4, 4);
        dram.write(0, 60, 8);
        assert_eq!(dram.bytes(), (32, 64));
    }

    /// Some lines take longer than others, each always the same, and the mean stays.
    #[test]
    fn lines_have_times_of_their_own() {
        let p = Catalog::embedded().unwrap().get("H200").unwrap();
        let dram = Dram::new(&p);
        let all: Vec<i64> = (0..65_536).map(|line| dram.apart(line)).collect();
        let mean = all.iter().sum::<i64>() as f64 / all.len() as f64;
        assert!(mean.abs() < 5.0, "{mean}");
        let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert_eq!((*least, *most), (-77, 302));
        assert_eq!(dram.apart(77), all[77]);
        assert!((0..1000).all(|line| Dram::new(&g80()).apart(line) == 0));
    }

    /// With a hash, rows that are a power of two apart use all channels, and a stream uses them evenly as before.
    #[test]
    fn hashed_channels_know_no_bad_stride() {
        let mut p = Catalog::embedded().unwrap().get("H100").unwrap();
        let used = |p: &Profile, stride: u64| {
            let dram = Dram::new(p);
            let mut seen = vec![0; p.dram.channels as usize];
            (0..80_000).for_each(|i| seen[dram.channel(i * stride)] += 1);
            (*seen.iter().min().unwrap(), *seen.iter().max().unwrap())
        };
        assert_eq!(used(&p, 1), (1000, 1000));
        let (least, most) = used(&p, 16);
        assert!(least > 850 && most < 1150, "{least} to {most}");
        p.dram.hashed_channels = false;
        assert_eq!(used(&p, 1), (1000, 1000));
        assert_eq!(used(&p, 16), (0, 16_000));
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let mut dram = Dram::new(&g80());
        let first = dram.read(0, 0, 32);
        let later = dram.read(1_000, 0, 32);
        assert!(later >= 1_000 && later - 1_000 <= first);
    }
}
