//! The command `ptxrun` as packages ship it. The engine is in `libptxrun_core.so`, which programs of CUDA and OpenCL
//! and the Python package load too; this program only finds it and hands it the command line. No search path is
//! written into the file: the library is looked for beside the program and in `../lib/ptxrun`.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::{CString, OsString, c_char, c_int};
use std::io::Write;
use std::path::PathBuf;

use libloading::{Library, Symbol};

/// `ptxrun_main` of the library.
type Main = unsafe extern "C" fn(c_int, *const *const c_char, *const c_char) -> c_int;

fn main() {
    match start() {
        Ok(status) => std::process::exit(status),
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            std::process::exit(1);
        }
    }
}

/// Folders that may hold the library: the one that the user names, the program's own, and where packages put it.
fn folders() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os("PTXRUN_LIBDIR") {
        return vec![named.into()];
    }
    let own = std::env::current_exe().and_then(|exe| exe.canonicalize()).unwrap_or_default();
    let Some(folder) = own.parent() else { return Vec::new() };
    let prefix = folder.parent().into_iter();
    let placed = prefix.flat_map(|p| ["lib/ptxrun", "lib"].map(|place| p.join(place)));
    std::iter::once(folder.to_owned()).chain(placed).collect()
}

fn start() -> Result<i32, String> {
    let file = format!("{DLL_PREFIX}ptxrun_core{DLL_SUFFIX}");
    let folders = folders();
    let Some(folder) = folders.iter().find(|f| f.join(&file).is_file()) else {
        let places: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        return Err(format!(
            "{file} is not installed; looked in {} (PTXRUN_LIBDIR names another folder)",
            places.join(", ")
        ));
    };
    let words: Vec<CString> = std::env::args_os().map(c_string).collect::<Result<_, _>>()?;
    let pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    let home = c_string(folder.clone().into_os_string())?;
    let count = c_int::try_from(pointers.len()).map_err(|e| e.to_string())?;
    // SAFETY: a library of ours; what runs when it is loaded only notes the command line.
    let library = unsafe { Library::new(folder.join(&file)) }.map_err(|e| e.to_string())?;
    // SAFETY: the type is the one with which the library defines the function.
    let main: Symbol<'_, Main> =
        unsafe { library.get(b"ptxrun_main\0") }.map_err(|e| e.to_string())?;
    // SAFETY: `count` zero-terminated strings, and one more, which live until the call returns.
    Ok(unsafe { main(count, pointers.as_ptr(), home.as_ptr()) })
}

fn c_string(text: OsString) -> Result<CString, String> {
    CString::new(text.into_encoded_bytes()).map_err(|_| "a word with a zero byte".into())
}
