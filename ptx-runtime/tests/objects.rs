//! Texture and surface objects, and copies of PTX 9.2, against what an H100 returned (`golden/data/objects.tar.xz`).

use std::collections::BTreeMap;
use std::sync::Arc;

use ptx_runtime::isa::texture::{Channel, Texture};
use ptx_runtime::{Backend, Context, DeviceOptions, KernelArg, LaunchConfig, Module, Verified};

/// The recording: lines of words.
struct Recording {
    files: BTreeMap<String, String>,
}

impl Recording {
    fn read() -> Self {
        let files = golden::texts_of(&golden::packed("objects")).expect("the archive");
        Self { files }
    }

    fn lines<'a>(&'a self, what: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
        let words = |line: &'a str| line.split(' ').collect::<Vec<_>>();
        self.files["h100.txt"].lines().map(words).filter(move |w| w[0] == what)
    }

    fn words(&self) -> Vec<u8> {
        bytes(self.lines("words").next().expect("the numbers of stores")[1])
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |d: u8| (d as char).to_digit(16).expect("a digit") as u8;
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// A device with a module of the recording.
struct Device {
    context: Context,
    module: Module,
    backend: Backend,
}

impl Device {
    fn new(recording: &Recording, module: &str, backend: Backend) -> Self {
        let context = Context::new(&DeviceOptions::default()).expect("a device");
        let verified = Verified::new(&recording.files[module], module).expect("the module");
        let module = Module::from_verified(&context, &verified).expect("a module");
        Self { context, module, backend }
    }

    fn run(&self, kernel: &str, blocks: u32, threads: u32, args: Vec<KernelArg>) {
        let config = LaunchConfig {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            args,
            backend: self.backend,
            ..LaunchConfig::default()
        };
        let launched = self.context.launch(&self.module, kernel, config);
        launched.unwrap_or_else(|e| panic!("{kernel}: {e}"));
    }

    fn object(&self, texture: &Arc<Texture>) -> KernelArg {
        KernelArg::Object(self.context.add_object(texture.clone()))
    }

    fn input(&self, data: &[u8]) -> KernelArg {
        let at = self.context.alloc(data.len() as u64).expect("memory");
        self.context.copy_to_device(at, data).expect("written");
        KernelArg::Pointer(at)
    }

    /// Runs a kernel whose last pointer is for `len` bytes of results.
    fn results(
        &self,
        kernel: &str,
        shape: (u32, u32),
        args: Vec<KernelArg>,
        more: Vec<KernelArg>,
        len: usize,
    ) -> Vec<u8> {
        let at = self.context.alloc(len as u64).expect("memory");
        let mut all = args;
        all.push(KernelArg::Pointer(at));
        all.extend(more);
        self.run(kernel, shape.0, shape.1, all);
        let mut out = vec![0; len];
        self.context.copy_from_device(at, &mut out).expect("read");
        out
    }
}

/// The formats by their number in the recording.
fn channel(number: &str) -> Channel {
    use Channel::*;
    [U8, U16, U32, S8, S16, S32, F16, F32][number.parse::<usize>().expect("a number")]
}

fn count(word: &str) -> u8 {
    word.parse().expect("a number")
}

fn both(check: impl Fn(&Recording, Backend)) {
    let recording = Recording::read();
    for backend in [Backend::Interp, Backend::Jit] {
        check(&recording, backend);
    }
}

#[test]
fn formatted_stores_convert_their_numbers() {
    both(|recording, backend| {
        let device = Device::new(recording, "textures.ptx", backend);
        let words = recording.words();
        let surface = |format: Channel, channels: u8| {
            Arc::new(Texture::array(&[8, 4], format, channels, &vec![0xa5; 8 * 4 * 16]))
        };
        let mut cases = 0;
        for line in recording.lines("sustp") {
            let [_, format, channels, numbers, want] = line[..] else { panic!("{line:?}") };
            let object = surface(channel(format), count(channels));
            let args = vec![device.object(&object), device.input(&words)];
            device.run(&format!("sustp_v{numbers}"), 1, 32, args);
            assert_eq!(object.bytes(), bytes(want), "format {format}, {channels} of {numbers}");
            cases += 1;
        }
        for line in recording.lines("sustp_out") {
            let object = surface(Channel::U8, 4);
            let kernel = ["sustp_clamp", "sustp_zero"][usize::from(count(line[1]))];
            device.run(kernel, 1, 32, vec![device.object(&object), device.input(&words)]);
            assert_eq!(object.bytes(), bytes(line[2]), "{kernel}");
            cases += 1;
        }
        assert_eq!(cases, 74);
    });
}

#[test]
fn formatted_reductions_take_samples_of_their_own_size() {
    both(|recording, backend| {
        let device = Device::new(recording, "textures.ptx", backend);
        let words = recording.words();
        let mut cases = 0;
        for line in recording.lines("suredp") {
            let [_, format, channels, op, before, after] = line[..] else { panic!("{line:?}") };
            let object = Arc::new(Texture::array(
                &[16, 4],
                channel(format),
                count(channels),
                &bytes(before),
            ));
            let args = vec![device.object(&object), device.input(&words)];
            device.run(&format!("suredp_{op}"), 1, 32, args);
            assert_eq!(object.bytes(), bytes(after), "format {format} x {channels}, {op}");
            cases += 1;
        }
        assert_eq!(cases, 168);
    });
}

#[test]
fn comparisons_of_depth_have_no_effect_on_ordinary_textures() {
    both(|recording, backend| {
        let device = Device::new(recording, "textures.ptx", backend);
        let (mut inputs, mut cases) = (Vec::new(), 0);
        let gathers: Vec<Vec<&str>> = recording.lines("depthgather").collect();
        for line in recording.lines("depth").filter(|line| line[1] == "0") {
            let [_, _, format, linear, texels, at, want] = line[..] else { panic!("{line:?}") };
            let mut t = Texture::array(&[4, 4], channel(format), 1, &bytes(texels));
            t.linear = linear == "1";
            t.read_normalized = !t.channel.is_float();
            let t = Arc::new(t);
            inputs.clone_from(&bytes(at));
            let gathered = gathers.iter().find(|g| g[2] == format && g[3] == linear);
            for (kernel, want) in [("depth", want), ("depth_gather", gathered.expect("it")[4])] {
                let args = vec![device.object(&t), device.input(&inputs)];
                let out = device.results(kernel, (1, 64), args, Vec::new(), 1024);
                assert_eq!(out, bytes(want), "{kernel}, format {format}, linear {linear}");
                cases += 1;
            }
        }
        assert_eq!(cases, 32);
    });
}

#[test]
fn directions_find_texels_of_cubes() {
    both(|recording, backend| {
        let device = Device::new(recording, "textures.ptx", backend);
        let directions = bytes(recording.lines("directions").next().expect("it")[1]);
        let mut cases = 0;
        for line in recording.lines("cube") {
            let [_, format, layered, linear, seamless, kernel, texels, want] = line[..] else {
                panic!("{line:?}")
            };
            let format = if format == "1" { Channel::U8 } else { Channel::F32 };
            let faces = if layered == "1" { 12 } else { 6 };
            let mut t = Texture::array(&[4, 4, faces], format, 1, &bytes(texels));
            (t.size[2], t.dimensions, t.layers) = (1, 2, faces);
            t.linear = linear == "1";
            (t.normalized, t.read_normalized) = (true, format == Channel::U8);
            t.seamless = seamless == "1";
            let args = vec![device.object(&Arc::new(t)), device.input(&directions)];
            let out = device.results(kernel, (4, 128), args, Vec::new(), 8192);
            let name =
                format!("{format:?}, layered {layered}, linear {linear}, seamless {seamless}");
            let want = bytes(want);
            let differs: Vec<usize> =
                (0..512).filter(|i| out[16 * i..][..16] != want[16 * i..][..16]).collect();
            assert!(differs.is_empty(), "{kernel}, {name}: {differs:?}");
            cases += 1;
        }
        assert_eq!(cases, 32);
    });
}

#[test]
fn texels_have_one_sample() {
    both(|recording, backend| {
        let device = Device::new(recording, "textures.ptx", backend);
        let mut cases = 0;
        for line in recording.lines("ms") {
            let [layered, sample, layer] = [1, 2, 3].map(|i| line[i].parse::<u32>().expect("it"));
            let data: Vec<u8> = (1u32..=192).flat_map(u32::to_le_bytes).collect();
            let mut t = Texture::array(&[8, 8, 3], Channel::U32, 1, &data);
            (t.size[2], t.dimensions, t.layers) = (1, 2, 3 * layered);
            let kernel = if layered == 1 { "a2dms" } else { "ms" };
            let more = [sample, layer].map(|v| KernelArg::Bytes(v.to_le_bytes().to_vec()));
            let args = vec![device.object(&Arc::new(t))];
            let out = device.results(kernel, (1, 64), args, more.to_vec(), 1024);
            let first: Vec<String> = out
                .chunks(16)
                .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]).to_string())
                .collect();
            assert_eq!(first, line[4..], "{kernel}, sample {sample}, layer {layer}");
            cases += 1;
        }
        assert_eq!(cases, 20);
    });
}

#[test]
fn variables_say_which_objects_they_stand_for() {
    both(|recording, backend| {
        let device = Device::new(recording, "textures.ptx", backend);
        let out = device.results("values", (1, 1), Vec::new(), Vec::new(), 40);
        let words: Vec<String> = out
            .chunks(4)
            .map(|c| format!("{:08x}", u32::from_le_bytes([c[0], c[1], c[2], c[3]])))
            .collect();
        let want = recording.lines("values").next().expect("it");
        // The low halves number objects.
        for i in (0..10).filter(|i| ![0, 2].contains(i)) {
            assert_eq!(words[i], want[i + 1], "word {i}");
        }
    });
}

#[test]
fn bulk_copies_leave_out_bytes_and_stores_have_128_bits() {
    both(|recording, backend| {
        let device = Device::new(recording, "copies.ptx", backend);
        let mut state = 99u64;
        let data: Vec<u8> = (0..4096)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 16) as u8
            })
            .collect();
        let mut cases = 0;
        for line in recording.lines("misc") {
            let blocks = if line[1] == "st_async_b128" { 2 } else { 1 };
            let args = vec![device.input(&data)];
            let mut out = device.results(line[1], (blocks, 32), args, Vec::new(), 4096);
            let want = bytes(line[2]);
            // `oob_LEFT_RIGHT`: bytes of the 64 that are undefined by the manual. The device had copied them too.
            if let Some((left, right)) =
                line[1].strip_prefix("oob_").and_then(|r| r.split_once('_'))
            {
                let [left, right] = [left, right].map(|n| n.parse::<usize>().expect("bytes"));
                out[..left].copy_from_slice(&want[..left]);
                out[64 - right..64].copy_from_slice(&want[64 - right..64]);
            }
            assert_eq!(out[..2048], want, "{}", line[1]);
            cases += 1;
        }
        assert_eq!(cases, 6);
    });
}
