//! The linker as a program calls it.

use c_border::{In, Out, Raw, Text};
use nvjitlink::api::*;
use ptx_runtime::{Verified, cubin};
use std::ffi::{CStr, CString};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const CALLER: &str = ".extern .func (.reg .b32 r) twice(.reg .b32 a);\n\
    .visible .entry k(.param .u64 p) {\n.reg .b64 %rd<2>; .reg .b32 %r<3>;\nld.param.u64 %rd1, [p];\n\
    ld.global.b32 %r1, [%rd1];\ncall (%r2), twice, (%r1);\nst.global.b32 [%rd1], %r2;\nret;\n}\n";
const CALLEE: &str = ".visible .func (.reg .b32 r) twice(.reg .b32 a) { add.u32 r, a, a; ret; }\n";

fn create(words: &[&str]) -> Result<usize, u32> {
    let words: Vec<CString> = words.iter().map(|w| CString::new(*w).unwrap()).collect();
    let pointers: Vec<usize> = words.iter().map(|w| w.as_ptr().expose_provenance()).collect();
    let mut handle = 0usize;
    let count = u32::try_from(pointers.len()).unwrap();
    match nvJitLinkCreate(Out::to(&mut handle), count, In::of(&pointers)) {
        0 => Ok(handle),
        status => Err(status),
    }
}

fn add(handle: usize, kind: u32, data: &[u8]) -> u32 {
    let data_at = Raw::new(data.as_ptr().expose_provenance());
    nvJitLinkAddData(handle, kind, data_at, data.len(), Text::of(c"input.ptx"))
}

fn bytes(size: impl Fn(Out<usize>) -> u32, get: impl Fn(Raw) -> u32) -> Vec<u8> {
    let mut n = 0usize;
    assert_eq!(size(Out::to(&mut n)), 0);
    let mut out = vec![0u8; n];
    assert_eq!(get(Raw::new(out.as_mut_ptr().expose_provenance())), 0);
    out
}

fn errors(handle: usize) -> String {
    let log = bytes(|s| nvJitLinkGetErrorLogSize(handle, s), |b| nvJitLinkGetErrorLog(handle, b));
    CStr::from_bytes_with_nul(&log).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn two_texts_become_a_file_of_the_driver() {
    let mut handle = create(&["-arch=sm_90", "-lineinfo", "-maxrregcount=64"]).unwrap();
    assert_eq!(add(handle, 2, format!("{HEAD}{CALLER}").as_bytes()), 0);
    assert_eq!(add(handle, 10, format!("{HEAD}{CALLEE}\0").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(handle), 0, "{}", errors(handle));
    let file =
        bytes(|s| nvJitLinkGetLinkedCubinSize(handle, s), |b| nvJitLinkGetLinkedCubin(handle, b));
    let inner = cubin::container(&file).expect("our assembler's form");
    let verified = Verified::from_bytes(inner.to_vec(), "linked").unwrap();
    assert!(verified.undefined().is_none());
    let needs = verified.resources("k").unwrap().unwrap();
    assert_eq!(needs.tuning.max_nreg, Some(64));
    // PTX is given out only where it was asked for: NVJITLINK_ERROR_LTO_NOT_ENABLED.
    assert_eq!(nvJitLinkGetLinkedPtxSize(handle, Out::to(&mut 0)), 18);
    assert_eq!(nvJitLinkDestroy(Out::to(&mut handle)), 0);
    assert_eq!(handle, 0);
}

#[test]
fn what_was_linked_is_linked_again() {
    let object = create(&["-arch=sm_90", "-r"]).unwrap();
    assert_eq!(add(object, 2, format!("{HEAD}{CALLER}").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(object), 0, "{}", errors(object));
    let file =
        bytes(|s| nvJitLinkGetLinkedCubinSize(object, s), |b| nvJitLinkGetLinkedCubin(object, b));
    let program = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(add(program, 1, &file), 0, "{}", errors(program));
    assert_eq!(nvJitLinkComplete(program), 9, "a function is missing");
    assert!(errors(program).contains("`twice`"), "{}", errors(program));
    assert_eq!(add(program, 2, format!("{HEAD}{CALLEE}").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(program), 0, "{}", errors(program));
}

#[test]
fn refusals_have_codes_and_words() {
    assert_eq!(create(&["-O3"]), Err(2));
    assert_eq!(create(&["-arch=sm_90", "-what"]), Err(1));
    let handle = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(nvJitLinkComplete(handle), 3);
    assert_eq!(add(handle, 1, b"\x7fELF of a device"), 8);
    assert!(errors(handle).contains("hand over PTX"), "{}", errors(handle));
    assert_eq!(add(handle, 3, b"BC"), 12);
    assert_eq!(add(handle, 2, b"int main() {}"), 8);
    assert_eq!(add(handle, 99, b"x"), 3);
    assert_eq!(add(handle, 2, format!("{HEAD}.visible .entry k() {{ bogus; }}").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(handle), 4);
    assert!(errors(handle).contains("bogus"), "{}", errors(handle));
    let newer = create(&["-arch=sm_80"]).unwrap();
    let text = format!("{}.visible .entry k() {{ ret; }}", HEAD.replace("sm_80", "sm_90"));
    assert_eq!(add(newer, 2, text.as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(newer), 13);
}

#[test]
fn foreign_handles_and_null_pointers_are_codes() {
    assert_eq!(nvJitLinkCreate(Out::new(0), 0, In::new(0)), 10);
    assert_eq!(nvJitLinkDestroy(Out::new(0)), 10);
    assert_eq!(nvJitLinkComplete(0xdead), 3);
    let mut gone = create(&["-arch=sm_90"]).unwrap();
    let kept = gone;
    assert_eq!(nvJitLinkDestroy(Out::to(&mut gone)), 0);
    assert_eq!(nvJitLinkComplete(kept), 3);
    let handle = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(nvJitLinkAddData(handle, 2, Raw::none(), 9, Text::of(c"n")), 10);
    assert_eq!(nvJitLinkAddFile(handle, 2, Text::of(c"/no/such/file")), 3);
    assert_eq!(nvJitLinkGetLinkedCubinSize(handle, Out::to(&mut 0)), 3);
    assert_eq!(nvJitLinkGetErrorLogSize(handle, Out::new(0)), 10);
}
