//! Forms of a kernel as text: the lines of PTX stand above what they became.

mod common;

use std::collections::BTreeSet;

use common::{module, program};
use ptx_jit::{Options, Seen, dump, dump_asm, dump_clif};
use ptx_parse::code::Program;

/// A loop, a divergent branch, a table of branches and numbers.
const BODY: &str = ".reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mov.u32 %r3, 0;
LOOP:
    setp.ge.u32 %p1, %r3, %r1;
    @%p1 bra DONE;
    fma.rn.f32 %f1, %f1, 0f40490FDB, %f1;
    add.u32 %r3, %r3, 1;
    bra LOOP;
DONE:
    and.b32 %r4, %r2, 3;
    TABLE: .branchtargets ONE, TWO, ONE, END;
    brx.idx %r4, TABLE;
ONE:
    add.f32 %f1, %f1, 0f3F800000;
    bra END;
TWO:
    div.rn.f32 %f1, %f1, 0f40400000;
END:
    st.global.f32 [%rd3], %f1;
    ret;";

/// A form, for blocks of a shape and with options.
type Form =
    fn(&Program, [u32; 3], Option<Seen<'_>>, Options) -> Result<String, ptx_jit::Unsupported>;

/// Checks what stands above instructions; the PTX lines that do.
fn lines(text: &str, form: Form, block: u32, mark: &str) -> (String, BTreeSet<String>) {
    let (program, _) = program(text, "k").unwrap();
    let all = form(&program, [block, 1, 1], None, Options::default()).unwrap();
    let mut found = BTreeSet::new();
    let mut rest = all.lines().peekable();
    while let Some(line) = rest.next() {
        let Some((number, ptx)) = line.strip_prefix(mark).and_then(|l| l.split_once(": ")) else {
            continue;
        };
        let number: usize = number.trim().parse().unwrap();
        assert_eq!(text.lines().nth(number - 1).unwrap().trim(), ptx);
        let next = rest.peek().expect("what the line became");
        assert!(next.starts_with("  ") && !next.starts_with(mark), "{line}\n{next}");
        found.insert(ptx.to_owned());
    }
    (all, found)
}

/// Instructions that become something of their own in every form.
const KEPT: [&str; 4] = [
    "fma.rn.f32 %f1, %f1, 0f40490FDB, %f1;",
    "div.rn.f32 %f1, %f1, 0f40400000;",
    "ld.global.f32 %f1, [%rd3];",
    "st.global.f32 [%rd3], %f1;",
];

#[test]
fn lines_of_ptx_stand_above() {
    let text = module("sm_70", ".param .u64 a, .param .u32 n", BODY);
    for block in [1, 60, 128] {
        for (form, mark) in [(dump as Form, "  ; "), (dump_clif, "; "), (dump_asm, "# ")] {
            let (all, found) = lines(&text, form, block, mark);
            for kept in KEPT {
                assert!(found.contains(kept), "{kept} in\n{all}");
            }
        }
    }
}

#[test]
fn machine_code_has_labels_and_data() {
    let text = module("sm_70", ".param .u64 a, .param .u32 n", BODY);
    for block in [1, 60, 128] {
        assert_eq!(labels(&text, block), 0);
    }
    // Behind each barrier the code goes on by a table.
    let waits = BODY.replace("mov.u32 %r3, 0;", &"bar.sync 0;\n".repeat(6));
    let text = module("sm_70", ".param .u64 a, .param .u32 n", &waits);
    for block in [60, 128] {
        assert!(labels(&text, block) > 6);
    }
}

/// Checks offsets, labels and that data is not shown as code; how many entries tables of branches have.
fn labels(text: &str, block: u32) -> usize {
    let (all, _) = lines(text, dump_asm, block, "# ");
    let (mut defined, mut used) = (BTreeSet::new(), BTreeSet::new());
    let (mut last, mut entries) = (None, 0);
    for line in all.lines().filter(|l| !l.starts_with('#')) {
        if let Some(label) = line.strip_suffix(':') {
            assert!(defined.insert(label), "{label} twice");
            continue;
        }
        let (offset, code) = line.trim_start().split_once("  ").unwrap();
        let offset = u32::from_str_radix(offset, 16).unwrap();
        assert!(last.is_none_or(|l| l < offset), "{line}");
        last = Some(offset);
        // Data that was taken for code.
        assert!(!code.contains("bad"), "{line}");
        let (name, operand) = code.split_once(' ').unwrap_or((code, ""));
        let operand = operand.trim_start();
        if name == ".long" || name.starts_with('j') && operand.starts_with('L') {
            used.insert(operand);
        }
        entries += usize::from(name == ".long");
    }
    assert!(used.is_subset(&defined), "{:?}", used.difference(&defined));
    entries
}
