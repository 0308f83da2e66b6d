//! Files that are no PTX text: what they are instead, in one finding.

use crate::diag::{Code, Diag};
use crate::span::Span;

/// What a text that cannot be read is, if its beginning says so.
pub(crate) fn recognise(text: &str) -> Option<Diag> {
    let head = &text.as_bytes()[..text.len().min(512)];
    let finding = |message: &str, help: &str| {
        let mut diag = Diag::error(Code::Syntax, Span::point(0), message);
        diag.help(help);
        Some(diag)
    };
    let zeros = head.iter().filter(|b| **b == 0).count();
    match head {
        [0x7f, b'E', b'L', b'F', ..] => finding(
            "this is an ELF file (a program, a library or a cubin), not PTX text",
            "`cuobjdump -ptx FILE` prints the PTX that such a file may hold",
        ),
        // The order mark of UTF-16 is no UTF-8: readers put U+FFFD in its place.
        _ if zeros * 3 > head.len() && head.windows(2).all(|w| w != [0, 0]) => finding(
            "this is text in UTF-16; PTX is written in ASCII",
            "convert it: `iconv -f UTF-16 -t ASCII FILE`",
        ),
        _ if zeros > 0 => finding(
            "this is a binary file, not PTX text",
            "PTX begins with `.version` and `.target`",
        ),
        [0xef, 0xbb, 0xbf, ..] => finding(
            "the file begins with a byte order mark (U+FEFF), which PTX does not have",
            "save it as plain ASCII, or as UTF-8 without the mark",
        ),
        _ => {
            let begins = |word: &str| text.trim_start().starts_with(word);
            if begins(".") || begins("//") && text.contains("\n.version") {
                None
            } else if text.contains("__global__") || text.contains("<cuda") {
                finding(
                    "this is CUDA C++, not PTX",
                    "compile it first: `nvcc -ptx FILE.cu -o FILE.ptx`",
                )
            } else if text.contains("__kernel") || text.contains("kernel void") {
                finding("this is OpenCL C, not PTX", "give the file a name that ends in `.cl`")
            } else {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_and_verify;

    fn only(text: &str) -> String {
        let (_, diags) = parse_and_verify(text, "t");
        assert_eq!(diags.len(), 1, "{text:?}: {diags:?}");
        diags[0].message.clone()
    }

    #[test]
    fn files_of_other_kinds_are_named() {
        assert!(only("\u{7f}ELF\u{2}\u{1}\0\0").contains("ELF"));
        assert!(only("\u{fffd}\u{fffd}.\0v\0e\0r\0s\0i\0o\0n\0").contains("UTF-16"));
        assert!(only("PK\u{3}\u{4}and so on and on\0").contains("binary"));
        assert!(only("\u{feff}.version 8.0\n.target sm_90\n").contains("byte order mark"));
        assert!(only("#include <x>\n__global__ void k(int *a) { a[0] = 1; }").contains("CUDA C++"));
        assert!(only("__kernel void k(__global int *a) { a[0] = 1; }").contains("OpenCL C"));
    }

    #[test]
    fn a_module_without_header_is_one_finding() {
        assert!(
            only(".entry k() { .reg .b32 %r<4>; add.s32 %r1, %r2, %r3; ret; }")
                .contains("`.version`")
        );
        assert!(only(".version 8.0\n.entry k() { ret; }").contains("`.target`"));
    }
}
