//! What the tests of the command share: running it, and folders of their own.

#![allow(dead_code, reason = "each test uses what it needs")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A kernel that multiplies an array by a number.
pub const TWICE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data, .param .f32 scale)
{
    .reg .b32 %r1;
    .reg .f32 %f<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [scale];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1];
    mul.rn.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
";

/// What a run of the command came to.
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    pub fn of(command: &mut Command, stdin: &str) -> Outcome {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may have ended.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Outcome {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", self.stdout, self.stderr))
    }
}

/// The command with these arguments.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxrun"));
    command.args(args);
    command
}

/// Runs the command with this on its standard input.
pub fn ptxrun_with(args: &[&str], stdin: &str) -> Outcome {
    Outcome::of(&mut command(args), stdin)
}

/// Runs the command.
pub fn ptxrun(args: &[&str]) -> Outcome {
    ptxrun_with(args, "")
}

/// Path of a file of the samples.
pub fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name).display().to_string()
}

/// A folder of its own for a test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ptxrun-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    /// Path of a file in it.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
    /// Writes a file; its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.file(name)
    }
    /// Runs the command in it.
    pub fn run(&self, args: &[&str]) -> Outcome {
        self.run_with(args, "")
    }
    /// Runs the command in it with this on its standard input.
    pub fn run_with(&self, args: &[&str], stdin: &str) -> Outcome {
        Outcome::of(command(args).current_dir(&self.0), stdin)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
