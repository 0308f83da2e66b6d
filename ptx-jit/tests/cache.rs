//! Compiled code on disk: found again, never trusted when it is not what was written.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{Case, module};
use ptx_jit::{Cache, Kernel, compile_cached};

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
    let kernel = compile_cached(&program, [64, 1, 1], None, cache).unwrap();
    let mut case = Case::new(&text, "k", [1; 3], [64, 1, 1]).unwrap();
    case.words(0..64);
    case.compare_with(&kernel).unwrap();
    kernel
}

#[test]
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

#[test]
fn cut_short() {
    for keep in [0, 30, 60, 1 << 16] {
        damaged("cut", |path| {
            fs::File::options().write(true).open(path).unwrap().set_len(keep).unwrap()
        });
    }
}

#[test]
fn altered() {
    // The header, the table of sites, the code.
    for at in [0, 9, 41, 60, (1 << 16) + 5] {
        damaged("altered", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
        });
    }
}

#[test]
fn writable_by_others() {
    damaged("open", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap());
}

#[test]
fn of_another_user() {
    // Only root can give a file away.
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    damaged("foreign", |path| std::os::unix::fs::chown(path, Some(65534), None).unwrap());
}

#[test]
fn a_link_is_not_followed() {
    damaged("link", |path| {
        let target = std::env::temp_dir().join(format!("ptxrun-linked-{}", std::process::id()));
        fs::rename(path, &target).unwrap();
        std::os::unix::fs::symlink(&target, path).unwrap();
    });
    fs::remove_file(std::env::temp_dir().join(format!("ptxrun-linked-{}", std::process::id())))
        .unwrap();
}

#[test]
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

#[test]
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

#[test]
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
