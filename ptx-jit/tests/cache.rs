//! Compiled code on disk: found again, never trusted when it is not what was written.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::{Case, module};
use ptx_jit::{
    Bundle, Cache, Collection, Kernel, Options, Stop, collect, compile, compile_cached, find,
};

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ptxrun-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }
    fn cache(&self) -> Cache {
        Cache::new(&self.0, 64 << 20)
    }
    fn entry(&self) -> PathBuf {
        let mut all = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().path());
        let one = all.next().expect("an entry");
        assert!(all.next().is_none(), "one entry");
        one
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a killed writer left goes when it is old, or of a time to come: clocks jump. What another one writes stays.
fn drafts_of_killed_writers_go() {
    let folder = Folder::new("drafts");
    let cache = folder.cache();
    run(&cache, 3);
    let hour = Duration::from_secs(3700);
    let now = SystemTime::now();
    let drafts = [("1-0", now - hour), ("2-0", now + hour), ("3-0", now)];
    let path = |name: &str| folder.0.join(format!("{name}.draft"));
    for (name, time) in drafts {
        fs::write(path(name), "half of").unwrap();
        fs::File::options().write(true).open(path(name)).unwrap().set_modified(time).unwrap();
    }
    // Another process looks through the folder when it first stores something.
    run(&folder.cache(), 4);
    assert_eq!(drafts.map(|(name, _)| path(name).exists()), [false, false, true]);
    assert_eq!(cache.clear().unwrap().entries, 2);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}

fn text(factor: u32) -> String {
    let body = format!(
        ".reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
        add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3]; mul.lo.u32 %r2, %r2, {factor};
        st.global.u32 [%rd3], %r2; ret;"
    );
    module("sm_70", ".param .u64 a", &body)
}

/// Compiles through the cache, runs, and looks at the results.
fn run(cache: &Cache, factor: u32) -> Kernel {
    let text = text(factor);
    let (program, _) = common::program(&text, "k").unwrap();
    let kernel = compile_cached(&program, [64, 1, 1], None, Options::default(), cache).unwrap();
    let mut case = Case::new(&text, "k", [1; 3], [64, 1, 1]).unwrap();
    case.words(0..64);
    case.compare_with(&kernel).unwrap();
    kernel
}

fn found_again() {
    let folder = Folder::new("again");
    let cache = folder.cache();
    assert_eq!(cache.usage().unwrap().entries, 0);
    assert!(!run(&cache, 3).stats.cached);
    assert!(run(&cache, 3).stats.cached);
    assert!(!run(&cache, 5).stats.cached, "another kernel");
    assert_eq!(cache.usage().unwrap().entries, 2);
    assert_eq!(cache.clear().unwrap().entries, 2);
    assert!(!run(&cache, 3).stats.cached);
}

/// Damages the only entry; it must be compiled again and replaced.
fn damaged(name: &str, damage: impl Fn(&Path)) {
    let folder = Folder::new(name);
    let cache = folder.cache();
    run(&cache, 3);
    damage(&folder.entry());
    assert!(!run(&cache, 3).stats.cached, "{name}");
    assert!(run(&cache, 3).stats.cached, "{name}: replaced");
}

fn cut_short() {
    // In the head, in what stands beside the code, before the code and in it.
    for keep in [0, 30, 60, 1 << 16, (1 << 16) + 64] {
        damaged("cut", |path| {
            fs::File::options().write(true).open(path).unwrap().set_len(keep).unwrap()
        });
    }
}

fn altered() {
    // The magic, the key, the numbers of words and of bytes, what stands beside the code, the gap, the code.
    for at in [0, 9, 24, 30, 32, 41, 60, 144, 160, 168, 184, 20_000, (1 << 16) - 1, (1 << 16) + 5] {
        damaged("altered", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
        });
    }
}

/// Adds numbers up to a limit that is a parameter, which code takes to be small where it was.
const COUNTED: &str = ".reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p1;
    ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, 0;
    LOOP: setp.ge.s32 %p1, %r2, %r1; @%p1 bra DONE;
    mul.wide.s32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r4, [%rd3];
    add.s32 %r3, %r3, %r4; st.global.u32 [%rd3], %r3; add.s32 %r2, %r2, 64; bra LOOP;
    DONE: ret;";

/// Launch of [`COUNTED`] for `n` numbers, of which the memory has 256.
fn counted(n: u32) -> Case {
    let text = module("sm_70", ".param .u64 a, .param .u32 n, .param .f32 x", COUNTED);
    let mut case = Case::new(&text, "k", [1; 3], [64, 1, 1]).unwrap();
    case.words(0..256);
    case.arg(&n.to_le_bytes()).arg(&(n as f32).to_le_bytes());
    case
}

fn only_for_launches_that_keep_its_assumptions() {
    let folder = Folder::new("assumed");
    let cache = folder.cache();
    let get = |case: &Case| {
        let seen = case.seen();
        let none = Options::default();
        let kernel = compile_cached(&case.program, [64, 1, 1], Some(seen), none, &cache).unwrap();
        assert!(kernel.fits(case.seen()));
        kernel
    };
    let small = counted(100);
    assert!(!get(&small).stats.cached);
    let cached = get(&counted(4000));
    assert!(cached.stats.cached, "as small");
    small.compare_with(&cached).unwrap();
    for n in [5000, u32::MAX] {
        let large = counted(n);
        assert!(!cached.fits(large.seen()), "{n}");
        let other = get(&large);
        assert!(!other.stats.cached, "{n}: never code for small numbers");
        assert!(get(&large).stats.cached, "{n}");
    }
    let mut wide = counted(100);
    wide.params.grid = [1000, 1, 1];
    assert!(!cached.fits(wide.seen()));
    assert!(!get(&wide).stats.cached, "a larger grid");
    assert_eq!(cache.usage().unwrap().entries, 4);
    let none = Options::default();
    for block in [[32, 1, 1], [64, 1, 1]] {
        let any = compile_cached(&small.program, block, None, none, &cache).unwrap();
        assert!(!any.stats.cached, "{block:?}, for all launches");
        assert!(any.fits(wide.seen()));
    }
    let fast = Options { fast_nan: true, ..Options::default() };
    let kernel = compile_cached(&small.program, [64, 1, 1], None, fast, &cache).unwrap();
    assert!(!kernel.stats.cached, "other options");
}

fn an_entry_under_the_name_of_another() {
    let folder = Folder::new("renamed");
    let cache = folder.cache();
    run(&cache, 3);
    let first = folder.entry();
    let bytes = fs::read(&first).unwrap();
    fs::remove_file(first).unwrap();
    run(&cache, 5);
    fs::write(folder.entry(), bytes).unwrap();
    // `run` looks at the results.
    assert!(!run(&cache, 5).stats.cached);
}

/// Every kind of effect that has a slow way: loads and stores of several sizes, an atomic, a shuffle, a barrier, a call
/// and special registers that the launch tells.
const EFFECTS: &str = "
    .reg .b16 %h<2>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<2>; .shared .align 8 .b64 s[64];
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %nsmid; mov.u32 %r3, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd3];
    ld.global.s8 %r8, [%rd3+3]; ld.global.u16 %h1, [%rd3+2]; cvt.u32.u16 %r9, %h1;
    shfl.sync.bfly.b32 %r10|%p1, %r4, 5, 31, -1; atom.global.add.u32 %r11, [%rd1], 7;
    shl.b32 %r12, %r1, 3; mov.u32 %r13, s; add.s32 %r12, %r12, %r13; cvt.u64.u32 %rd4, %r10; st.shared.u64 [%r12], %rd4;
    bar.sync 0; xor.b32 %r12, %r12, 8; ld.shared.u64 %rd5, [%r12]; cvt.u32.u64 %r14, %rd5;
    add.s32 %r5, %r5, %r8; add.s32 %r6, %r6, %r9; add.s32 %r7, %r7, %r14; add.s32 %r4, %r2, %r3;
    @%p1 add.s32 %r5, %r5, 1; st.global.v2.u32 [%rd3+8], {%r6, %r7}; st.global.u32 [%rd3+4], %r5; ret;";

fn effects_and_faults_of_cached_code() {
    let folder = Folder::new("effects");
    let cache = folder.cache();
    let text = module("sm_70", ".param .u64 a", EFFECTS);
    // The last buffer is too short for the second thread block's half.
    for words in [256, 250] {
        let new = || {
            let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
            case.words((0..words).map(|n| n * 77_777));
            case
        };
        let all = |case: &Case| {
            let kernel =
                compile_cached(&case.program, [64, 1, 1], None, Options::default(), &cache);
            let kernel = kernel.unwrap();
            (kernel.stats.cached, case.run_compiled(&kernel))
        };
        let (first, second) = (new(), new());
        let (_, stop) = all(&first);
        assert_eq!((true, stop.clone()), all(&second));
        assert_eq!(first.copies.bytes(first.buffers[0]), second.copies.bytes(second.buffers[0]));
        match stop {
            Ok(()) => assert_eq!(words, 256),
            Err(Stop::Fault { span, function, .. }) => {
                let at = span.start as usize..span.end as usize;
                assert!(text[at.clone()].starts_with("ld.global.v4"), "{}", &text[at]);
                assert_eq!((words, function), (250, 0));
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(cache.usage().unwrap().entries, 1);
    // The same from a bundle.
    let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
    case.words((0..256).map(|n| n * 77_777));
    let fresh = compile(&case.program, [64, 1, 1], None, Options::default()).unwrap();
    case.run_compiled(&fresh).unwrap();
    let want = case.copies.bytes(case.buffers[0]);
    let mut case = Case::new(&text, "k", [2, 1, 1], [64, 1, 1]).unwrap();
    case.words((0..256).map(|n| n * 77_777));
    let mut all = Collection::default();
    collect(&case.program, [64, 1, 1], None, Options::default(), &mut all).unwrap();
    let bytes = all.into_bytes();
    for damage in [false, true] {
        let mut bytes = bytes.clone();
        let n = bytes.len();
        bytes[n - 9] ^= u8::from(damage);
        let bundle = Bundle::new(std::sync::Arc::new(bytes), 0..n);
        let find = |options| find(&case.program, [64, 1, 1], None, options, &bundle).unwrap();
        assert!(find(Options { fast_nan: true, ..Options::default() }).is_none());
        let Some(kernel) = find(Options::default()) else {
            assert!(damage, "found");
            continue;
        };
        assert!(!damage && kernel.stats.cached);
        case.run_compiled(&kernel).unwrap();
        assert_eq!(case.copies.bytes(case.buffers[0]), want);
    }
}

/// What a hit costs; run it alone: `cargo test --release -p ptx-jit --test cache -- --ignored --nocapture`.
fn time_of_a_hit() {
    let folder = Folder::new("time");
    let cache = folder.cache();
    // As many instructions as SHA-256 has.
    let round =
        "mad.lo.s32 %r2, %r2, %r3, %r4; xor.b32 %r3, %r2, %r4; shf.l.wrap.b32 %r4, %r4, %r3, 7;\n";
    let body = format!(
        ".reg .b32 %r<5>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3]; mov.u32 %r3, %r1;
        mov.u32 %r4, 99; {} st.global.u32 [%rd3], %r2; ret;",
        round.repeat(1000)
    );
    let (program, _) = common::program(&module("sm_70", ".param .u64 a", &body), "k").unwrap();
    for turn in 0..20 {
        let start = std::time::Instant::now();
        let kernel =
            compile_cached(&program, [64, 1, 1], None, Options::default(), &cache).unwrap();
        let took = start.elapsed();
        assert_eq!(kernel.stats.cached, turn > 0);
        println!("{took:?}, {} bytes of code", kernel.stats.code_bytes);
    }
}

fn writable_by_others() {
    damaged("open", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap());
}

fn of_another_user() {
    // Only root can give a file away.
    damaged("foreign", |path| std::os::unix::fs::chown(path, Some(65534), None).unwrap());
}

fn a_link_is_not_followed() {
    damaged("link", |path| {
        let target = std::env::temp_dir().join(format!("ptxrun-linked-{}", std::process::id()));
        fs::rename(path, &target).unwrap();
        std::os::unix::fs::symlink(&target, path).unwrap();
    });
    fs::remove_file(std::env::temp_dir().join(format!("ptxrun-linked-{}", std::process::id())))
        .unwrap();
}

fn limited() {
    let folder = Folder::new("limited");
    let one = Cache::new(&folder.0, 64 << 20);
    run(&one, 3);
    let bytes = one.usage().unwrap().bytes;
    let small = Cache::new(&folder.0, 2 * bytes);
    for factor in 4..9 {
        run(&small, factor);
        assert!(small.usage().unwrap().bytes <= 2 * bytes);
    }
    assert!(small.usage().unwrap().entries >= 1);
}

fn filled_by_several_at_once() {
    let folder = Folder::new("several");
    let cache = folder.cache();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (3..12).for_each(|factor| drop(run(&cache, factor))));
        }
    });
    assert_eq!(cache.usage().unwrap().entries, 9);
    assert!(
        fs::read_dir(&folder.0).unwrap().all(|e| e.unwrap().path().extension().unwrap() == "jit")
    );
    (3..12).for_each(|factor| assert!(run(&cache, factor).stats.cached));
}

/// Set for the processes that [`filled_by_two_processes`] starts.
const CHILD: &str = "PTX_JIT_TEST_CACHE";

fn filled_by_two_processes() {
    if let Some(folder) = std::env::var_os(CHILD) {
        let cache = Cache::new(folder, 64 << 20);
        (3..12).for_each(|factor| drop(run(&cache, factor)));
        return;
    }
    let folder = Folder::new("processes");
    let child = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["filled_by_two_processes", "--exact"])
            .env(CHILD, &folder.0)
            .spawn()
            .unwrap()
    };
    let mut both = [child(), child()];
    assert!(both.iter_mut().all(|c| c.wait().unwrap().success()));
    let cache = folder.cache();
    assert_eq!(cache.usage().unwrap().entries, 9);
    (3..12).for_each(|factor| assert!(run(&cache, factor).stats.cached));
}

fn what_is_no_file_is_passed_by() {
    let folder = Folder::new("nofile");
    let cache = folder.cache();
    run(&cache, 3);
    let entry = folder.entry();
    // A pipe without a writer would be waited for.
    fs::remove_file(&entry).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &entry,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    run(&cache, 3);
    assert!(fs::symlink_metadata(&entry).unwrap().is_file(), "the pipe is replaced");
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    run(&cache, 3);
    assert!(fs::symlink_metadata(&entry).unwrap().is_file(), "an empty folder is replaced");
    // What somebody keeps there stays.
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    fs::write(entry.join("kept"), "").unwrap();
    run(&cache, 3);
    assert!(entry.join("kept").is_file());
    fs::remove_dir_all(&entry).unwrap();
}

fn a_folder_that_all_may_write_to_is_not_used() {
    let folder = Folder::new("shared");
    let cache = folder.cache();
    run(&cache, 3);
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
    run(&cache, 4);
    assert_eq!(cache.usage().unwrap().entries, 1, "nothing new is kept");
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
    run(&cache, 4);
    assert_eq!(cache.usage().unwrap().entries, 2);
}

golden::tests! {
    drafts_of_killed_writers_go,
    found_again,
    cut_short,
    altered,
    only_for_launches_that_keep_its_assumptions,
    an_entry_under_the_name_of_another,
    effects_and_faults_of_cached_code,
    time_of_a_hit: nothing().on_request("prints times"),
    writable_by_others,
    of_another_user: condition("root", rustix::process::geteuid().is_root()),
    a_link_is_not_followed,
    limited,
    filled_by_several_at_once,
    filled_by_two_processes,
    what_is_no_file_is_passed_by,
    a_folder_that_all_may_write_to_is_not_used,
}
