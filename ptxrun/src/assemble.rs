//! `ptxrun asm` and `ptxrun dis`: containers of verified PTX, and what is in them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_runtime::Verified;
use ptx_runtime::parse::container::{BUILD, Container, FORMAT};
use serde_json::{Value, json};

use crate::cli::{AsmArgs, CodeArg, DisArgs};
use crate::source_file::{build_options, load};
use crate::terminal::{
    Failed, INVALID, Outcome, USAGE, display_name, is_stdin, is_stdout, print, print_json,
    read_bytes, write_file,
};
use crate::{list, timing};

/// Writes another file and gives it the name, so that a container that is in use is never changed.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = File::create_new(&draft)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// The kernels and block shapes that `--code` asks for; a shape alone is for all kernels.
fn shapes<'a>(codes: &'a [CodeArg], verified: &'a Verified) -> Vec<(&'a str, [u32; 3])> {
    let mut all = Vec::new();
    for code in codes {
        match &code.kernel {
            Some(name) => all.push((name.as_str(), code.block)),
            None => {
                all.extend(list::entries(verified.module()).map(|f| (f.name.as_str(), code.block)));
            }
        }
    }
    all
}

pub(crate) fn asm(args: &AsmArgs) -> Outcome {
    let common = &args.common;
    let options = build_options(&args.input.build, common)?;
    let output = match &args.output {
        Some(path) => path.clone(),
        None if is_stdin(&args.file) => {
            return Err(common.fail(USAGE, "usage", "name the container with -o"));
        }
        None => args.file.with_extension("ptxb"),
    };
    let device = timing::device(&args.input.device, common)?;
    let verified = load(&args.file, &options, args.input.lenient, common)?;
    if let Some(profile) = &device {
        timing::limits::target(verified.module(), profile)
            .map_err(|error| common.fail(INVALID, "device", error))?;
    }
    let bytes = verified
        .assemble(&shapes(&args.code, &verified))
        .map_err(|error| common.fail(INVALID, "jit", error))?;
    if is_stdout(&output) {
        if common.json {
            let message = "a container on standard output leaves no place for --json";
            return Err(common.fail(USAGE, "usage", message));
        }
        print(&bytes);
        return Ok(());
    }
    replace(&output, &bytes).map_err(|error| {
        common.fail(USAGE, "file", format!("cannot write {}: {error}", output.display()))
    })?;
    if common.json {
        print_json(
            &json!({"ok": true, "file": output.display().to_string(), "bytes": bytes.len()}),
        );
    }
    Ok(())
}

fn about(container: &Arc<Container>) -> Value {
    let sections: Vec<Value> = container
        .sections()
        .map(|(s, at)| json!({"name": s.name(), "offset": at.start, "bytes": at.len()}))
        .collect();
    let mut out = json!({
        "file": container.file(),
        "bytes": container.len(),
        "format": FORMAT,
        "build": format!("{:016x}", container.build()),
        "this_build": container.build() == BUILD,
        "lenient": container.about().lenient,
        "sections": sections,
    });
    if let Ok(verified) = Verified::from_container(container) {
        let module = verified.module();
        out["module"] = json!({
            "name": &*module.name,
            "version": module.info.version.to_string(),
            "target": module.info.target.to_string(),
            "address_size": module.info.address_bits,
            "kernels": list::entries(module).map(|f| f.name.as_str()).collect::<Vec<_>>(),
            "compiled": verified.bundled(),
        });
    }
    out
}

fn describe(container: &Arc<Container>) -> String {
    let about = about(container);
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut out = format!("{}: {} bytes, format {FORMAT}\n", container.file(), container.len());
    let whose =
        if container.build() == BUILD { "this one" } else { "another one; assemble it again" };
    out += &format!("build    {:016x} ({whose})\n", container.build());
    for (section, at) in container.sections() {
        out += &format!("{:8} {:>9} bytes from {}\n", section.name(), at.len(), at.start);
    }
    if let Some(module) = about.get("module") {
        let kernels: Vec<String> =
            module["kernels"].as_array().into_iter().flatten().map(word).collect();
        out += &format!(
            "module   {}: PTX {}, {}, {} bits\nkernels  {}\ncompiled {}\n",
            word(&module["name"]),
            word(&module["version"]),
            word(&module["target"]),
            module["address_size"],
            kernels.join(" "),
            module["compiled"],
        );
    }
    out
}

pub(crate) fn dis(args: &DisArgs) -> Outcome {
    let common = &args.common;
    let opened = if is_stdin(&args.file) {
        Container::from_bytes(read_bytes(&args.file, common)?, &display_name(&args.file))
    } else {
        Container::open(&args.file)
    };
    let refused = |error| -> Failed { common.fail(INVALID, "container", error) };
    let container = opened.map_err(refused)?;
    let text = container.text().map_err(refused)?;
    let output = args.output.as_ref().filter(|path| !is_stdout(path));
    if let Some(path) = output {
        write_file(path, text.as_bytes(), common)?;
    }
    if common.json {
        let mut about = about(&container);
        about["ok"] = true.into();
        if !args.info && output.is_none() {
            about["text"] = text.into();
        }
        print_json(&about);
    } else if args.info {
        print(describe(&container).as_bytes());
    } else if output.is_none() {
        print(text.as_bytes());
    }
    Ok(())
}
