//! `ptxrun exec` and `ptxrun env`: programs that use CUDA or OpenCL find our libraries first; `ptxrun install-icd`.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ptx_runtime::device::{HOST, profile};
use ptx_runtime::timing::ProfileError;
use serde_json::json;

use crate::cli::{Common, Emulation, EnvArgs, ExecArgs, InstallIcdArgs};
use crate::python_path;
use crate::sanitize;
use crate::terminal::{Failed, INVALID, Outcome, USAGE, print, print_json};

/// A library: the names under which programs look for it, and the file names that it may have here.
struct Library {
    links: &'static [&'static str],
    files: &'static [&'static str],
}

/// The library with the engine, which has the faces of both drivers and of `libgpuocelot.so`.
const CORE: &str = "libptxrun_core.so";

/// The CUDA driver.
const DRIVER: Library = Library {
    links: &["libcuda.so.1", "libcuda.so"],
    files: &["libcuda.so.1", "libcuda.so", CORE],
};
/// What programs ask of the device without using it.
const MANAGEMENT: Library = Library {
    links: &["libnvidia-ml.so.1", "libnvidia-ml.so"],
    files: &["libnvidia-ml.so.1", "libnvidia-ml.so", CORE],
};
const RUNTIME: Library = Library {
    links: &["libcudart.so.13", "libcudart.so"],
    files: &["libcudart.so.13", "libcudart.so", "libcuda_runtime.so"],
};
/// The runtime for programs of CUDA 12, whose interface is another.
const RUNTIME_12: Library =
    Library { links: &["libcudart.so.12"], files: &["libcudart.so.12", "libcudart12.so"] };
/// The linker that programs call in their own process.
const LINKER: Library = Library {
    links: &["libnvJitLink.so.13", "libnvJitLink.so"],
    files: &["libnvJitLink.so.13", "libnvJitLink.so", "libnvjitlink_loader.so"],
};
/// The OpenCL driver, which loaders find through a file that names it.
const OPENCL: Library = Library { links: &[], files: &["libopencl_icd.so", CORE] };
const OCELOT: Library = Library { links: &["libgpuocelot.so"], files: &["libgpuocelot.so", CORE] };

/// Where the libraries are, if the program that runs the command knows.
static INSTALLED: OnceLock<PathBuf> = OnceLock::new();

/// Says where the libraries are.
pub(crate) fn installed_in(folder: PathBuf) {
    // The first word holds: a process has one library.
    let _ = INSTALLED.set(std::path::absolute(&folder).unwrap_or(folder));
}

/// Triton calls the assembler that these name, up to sm_90 and from sm_100 on. Its own makes machine code.
const TRITON_ASSEMBLERS: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];

/// This command under the name of NVIDIA's assembler, whose work it does under it; nothing where no program is the
/// command. The process may be Python's, whose package has the program beside the libraries in `home`.
fn assembler(folder: &Path, home: &Path) -> io::Result<Option<PathBuf>> {
    let file = format!("ptxrun{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe()?.canonicalize()?;
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| *name == *file);
    let Some(program) =
        Some(own).filter(named).or_else(|| Some(home.join(&file)).filter(|p| p.is_file()))
    else {
        return Ok(None);
    };
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    let name = bin.join("ptxas");
    link(&program, &name)?;
    Ok(Some(name))
}

/// Folders that may hold the libraries: the one that the user names, the command's own, and where
/// packages put them.
fn folders() -> Vec<PathBuf> {
    if let Some(named) = environment::LIBDIR.raw() {
        // Links that lead here stand in another folder.
        let named = PathBuf::from(named);
        return vec![std::path::absolute(&named).unwrap_or(named)];
    }
    if let Some(folder) = INSTALLED.get() {
        return vec![folder.clone()];
    }
    let Some(own) = std::env::current_exe().ok().and_then(|exe| exe.canonicalize().ok()) else {
        return Vec::new();
    };
    let Some(folder) = own.parent() else { return Vec::new() };
    let mut folders = vec![folder.to_owned()];
    if let Some(prefix) = folder.parent() {
        folders.extend(["lib/ptxrun", "lib"].map(|place| prefix.join(place)));
    }
    folders
}

impl Library {
    /// The file in `folder`.
    fn find(&self, folder: &Path) -> Option<PathBuf> {
        self.files.iter().map(|name| folder.join(name)).find(|path| path.is_file())
    }
}

/// A folder of this user alone, where nobody else can put libraries.
fn private_folder(name: &str) -> io::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| {
        std::env::var_os("HOME").filter(|h| !h.is_empty()).map(|h| Path::new(&h).join(".cache"))
    });
    let folder = match cache.filter(|c| c.is_absolute()) {
        Some(cache) => cache.join("ptxrun").join(name),
        None => return private_temporary_folder(name),
    };
    // Compiled code is kept beside it, and only in a folder that is this user's alone.
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(&folder)?;
    Ok(folder)
}

/// Without a home folder: one in the folder for temporary files, if nobody else has made it.
#[cfg(unix)]
fn private_temporary_folder(name: &str) -> io::Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let me = std::fs::metadata("/proc/self")?.uid();
    let folder = std::env::temp_dir().join(format!("ptxrun-{me}-{name}"));
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(&folder)?;
    if !found.is_dir() || found.uid() != me || found.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!("{} is not this user's alone", folder.display())));
    }
    Ok(folder)
}
#[cfg(not(unix))]
fn private_temporary_folder(_: &str) -> io::Result<PathBuf> {
    Err(io::Error::other("set HOME or XDG_CACHE_HOME"))
}

/// Makes `link` lead to `file`; another `ptxrun` may be doing the same.
#[cfg(unix)]
fn link(file: &Path, link: &Path) -> io::Result<()> {
    if std::fs::read_link(link).is_ok_and(|to| to == file) {
        return Ok(());
    }
    let fresh = link.with_extension(format!("new{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    std::os::unix::fs::symlink(file, &fresh)?;
    std::fs::rename(&fresh, link)
}
#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("programs are run on Unix systems only"))
}

/// Refuses variables that the libraries would refuse: a program would only say that it found no device.
pub(crate) fn judge_variables() -> Result<(), String> {
    environment::check("ptxrun").map_err(|wrong| wrong.to_string())?;
    ptx_runtime::Backend::from_environment().map_err(|error| error.to_string())?;
    let named = environment::DEVICE.text().unwrap_or_default();
    judge_devices(&named).map_err(|error| format!("{}: {error}", environment::DEVICE.name))
}

/// Refuses devices that there are none of; OpenCL programs may find several.
fn judge_devices(named: &str) -> Result<(), ProfileError> {
    let names = named.split(',').map(str::trim);
    for name in names.filter(|name| !name.is_empty() && *name != HOST) {
        profile(name)?;
    }
    Ok(())
}

/// The variables that make programs find the libraries, in the order of printing.
pub(crate) fn variables(
    emulation: &Emulation,
    common: &Common,
) -> Result<Vec<(&'static str, OsString)>, Failed> {
    // A folder with either driver will do: programs of OpenCL need no CUDA.
    variables_of([DRIVER, OPENCL], "lib", emulation, common)
}

/// The same with the library that has the debugger, whatever others are beside it.
#[cfg(unix)]
pub(crate) fn variables_for_debugging(
    emulation: &Emulation,
    common: &Common,
) -> Result<Vec<(&'static str, OsString)>, Failed> {
    let core = |library: Library| Library { files: &[CORE], ..library };
    variables_of([core(DRIVER), core(OPENCL)], "debug", emulation, common)
}

fn variables_of(
    [driver, opencl]: [Library; 2],
    kind: &str,
    emulation: &Emulation,
    common: &Common,
) -> Result<Vec<(&'static str, OsString)>, Failed> {
    let named = emulation.device.as_deref().unwrap_or_default();
    judge_devices(named).map_err(|error| common.fail(USAGE, "device", error.to_string()))?;
    let folders = folders();
    let home =
        [&driver, &opencl].into_iter().find_map(|l| folders.iter().find(|f| l.find(f).is_some()));
    let Some(home) = home else {
        let places: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        let message = format!(
            "{CORE} of ptxrun is not installed; looked in {} (PTXRUN_LIBDIR names another folder)",
            places.join(", ")
        );
        return Err(common.fail(INVALID, "library", message));
    };
    let mut hasher = DefaultHasher::new();
    home.hash(&mut hasher);
    let failed = |error: io::Error| {
        common.fail(INVALID, "library", format!("cannot prepare the library folder: {error}"))
    };
    let folder = private_folder(&format!("{kind}-{:016x}", hasher.finish())).map_err(failed)?;
    for library in [&driver, &MANAGEMENT, &RUNTIME, &RUNTIME_12, &LINKER] {
        if let Some(file) = library.find(home) {
            for name in library.links {
                link(&file, &folder.join(name)).map_err(failed)?;
            }
        }
    }
    let vendors = match opencl.find(home) {
        Some(file) => Some(vendor_folder(&folder, &file).map_err(failed)?),
        None => None,
    };
    let assembler = assembler(&folder, home).map_err(failed)?;
    let mut path = folder.clone().into_os_string();
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH").filter(|old| !old.is_empty()) {
        let known = std::env::split_paths(&old).any(|p| p.as_os_str() == path);
        if known {
            path = old;
        } else {
            path.push(":");
            path.push(old);
        }
    }
    let mut variables = vec![("LD_LIBRARY_PATH", path)];
    if LINKER.find(home).is_some() {
        // Packages of Python bring NVIDIA's and look for it beside themselves first, but take one that is there.
        let mut preload = folder.join(LINKER.links[0]).into_os_string();
        if let Some(old) =
            std::env::var_os("LD_PRELOAD").filter(|old| !old.is_empty() && *old != preload)
        {
            preload.push(":");
            preload.push(old);
        }
        variables.push(("LD_PRELOAD", preload));
    }
    if driver.find(home).is_some() {
        let assemblers =
            assembler.iter().flat_map(|path| TRITON_ASSEMBLERS.map(|name| (name, path.into())));
        variables.extend(assemblers);
        variables.push(("TRITON_LIBCUDA_PATH", folder.clone().into_os_string()));
        variables.push(("PYTHONPATH", python_path::prepare(&folder).map_err(failed)?));
    }
    if let Some(file) = OCELOT.find(home) {
        variables.push(("OCELOT_PATH", file.into()));
    }
    if let Some(vendors) = vendors {
        variables.push(("OCL_ICD_VENDORS", vendors.into()));
    }
    if let Some(device) = &emulation.device {
        variables.push((environment::DEVICE.name, device.into()));
    }
    if let Some(backend) = &emulation.backend {
        variables.push((environment::BACKEND.name, backend.into()));
    }
    if emulation.verbose {
        variables.push((environment::VERBOSE.name, "1".into()));
    }
    Ok(variables)
}

/// Writes a vendor file, which names an OpenCL driver to loaders.
fn write_vendor(folder: &Path, driver: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join("ptxrun.icd");
    let mut line = driver.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    if std::fs::read(&file).is_ok_and(|old| old == line) {
        return Ok(file);
    }
    let fresh = folder.join(format!("ptxrun.new{}", std::process::id()));
    std::fs::write(&fresh, line)?;
    std::fs::rename(&fresh, &file)?;
    Ok(file)
}

/// A folder with the vendor file of our driver and no other.
fn vendor_folder(folder: &Path, driver: &Path) -> io::Result<PathBuf> {
    let vendors = folder.join("vendors");
    write_vendor(&vendors, driver)?;
    Ok(vendors)
}

/// Writes the vendor file where OpenCL loaders look for it.
pub(crate) fn install_icd(args: &InstallIcdArgs) -> Outcome {
    let common = &args.common;
    let folders = folders();
    let Some(driver) = folders.iter().find_map(|f| OPENCL.find(f)) else {
        let places: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        let message = format!(
            "{CORE} of ptxrun is not installed; looked in {} (PTXRUN_LIBDIR names another folder)",
            places.join(", ")
        );
        return Err(common.fail(INVALID, "library", message));
    };
    let folder = if args.user {
        let failed = |error: io::Error| common.fail(INVALID, "folder", error.to_string());
        private_folder("vendors").map_err(failed)?
    } else {
        PathBuf::from("/etc/OpenCL/vendors")
    };
    let file = write_vendor(&folder, &driver).map_err(|error| {
        let message = format!("cannot write {}: {error}", folder.join("ptxrun.icd").display());
        common.fail(INVALID, "folder", message)
    })?;
    let variable = args.user.then(|| folder.display().to_string());
    if common.json {
        print_json(
            &json!({"ok": true, "file": file.display().to_string(), "OCL_ICD_VENDORS": variable}),
        );
        return Ok(());
    }
    let mut text = format!("wrote {}\n", file.display());
    if args.user {
        text.push_str("programs find the driver where this is set:\nexport OCL_ICD_VENDORS=");
        text.push_str(&String::from_utf8_lossy(&quoted(folder.as_os_str().as_encoded_bytes())));
        text.push('\n');
    }
    print(text.as_bytes());
    Ok(())
}

/// Replaces this process by the program.
pub(crate) fn exec(args: &ExecArgs) -> Outcome {
    let common = Common { json: false, color: clap::ColorChoice::Auto };
    if let Some(checks) = args.check {
        return sanitize::program(&args.emulation, &args.program, &sanitize::How::plain(checks));
    }
    let variables = variables(&args.emulation, &common)?;
    let Some((program, rest)) = args.program.split_first() else { return Err(Failed(USAGE)) };
    let mut command = Command::new(program);
    command.args(rest).envs(variables);
    let error = replace(&mut command);
    // The statuses of shells: 127 not found, 126 not runnable.
    let status = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Err(common.fail(status, "program", format!("cannot run {}: {error}", program.display())))
}

#[cfg(unix)]
fn replace(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}
#[cfg(not(unix))]
fn replace(_: &mut Command) -> io::Error {
    io::Error::other("programs are run on Unix systems only")
}

/// Prints the variables.
pub(crate) fn env(args: &EnvArgs) -> Outcome {
    let variables = variables(&args.emulation, &args.common)?;
    if args.common.json {
        let all: serde_json::Map<_, _> = variables
            .iter()
            .map(|(name, value)| ((*name).into(), value.to_string_lossy().into()))
            .collect();
        print_json(&json!({"ok": true, "variables": all}));
        return Ok(());
    }
    let mut text = Vec::new();
    for (name, value) in &variables {
        let value = value.as_encoded_bytes();
        if args.github {
            text.extend_from_slice(format!("{name}=").as_bytes());
            text.extend_from_slice(value);
        } else {
            text.extend_from_slice(format!("export {name}=").as_bytes());
            text.extend_from_slice(&quoted(value));
        }
        text.push(b'\n');
    }
    print(&text);
    Ok(())
}

/// A value as a word of a POSIX shell.
fn quoted(value: &[u8]) -> Vec<u8> {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-:+,=@%".contains(b);
    if !value.is_empty() && value.iter().all(plain) {
        return value.to_vec();
    }
    let mut out = vec![b'\''];
    for b in value {
        match b {
            b'\'' => out.extend_from_slice(b"'\\''"),
            b => out.push(*b),
        }
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted(b"/usr/lib:/opt/x"), b"/usr/lib:/opt/x");
        assert_eq!(quoted(b"/a b/it's"), b"'/a b/it'\\''s'");
        assert_eq!(quoted(b""), b"''");
    }

    #[test]
    #[cfg(unix)]
    fn links_follow_the_library() {
        let folder = std::env::temp_dir().join(format!("ptxrun-link-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = folder.join("libcuda.so.1");
        for target in ["/a/libcuda.so", "/b/libcuda.so", "/b/libcuda.so"] {
            link(Path::new(target), &place).unwrap();
            assert_eq!(std::fs::read_link(&place).unwrap(), Path::new(target));
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
