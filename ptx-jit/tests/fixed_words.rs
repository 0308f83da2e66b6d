//! Words that launches agree in: constants of the code made for them, and only for launches that have them.

mod common;

use common::Case;
use ptx_isa::fixed::FixedWord;

/// Elements of a table by what the words behind the first parameter, and the third parameter, say: halves or words,
/// from the front or in a loop, doubled or not.
const FORMATS: &str = ".version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 format, .param .u64 data, .param .u32 twice) {
    .reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .pred %p<6>;
    ld.param.u64 %rd1, [format];
    ld.param.u64 %rd2, [data];
    ld.param.u32 %r1, [twice];
    mov.u32 %r2, %tid.x;
    ld.global.u32 %r3, [%rd1+8];
    setp.eq.u32 %p1, %r3, 16;
    @%p1 bra halves;
    setp.eq.u32 %p2, %r3, 32;
    @%p2 bra words;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
again:
    add.u32 %r4, %r4, %r2;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, %r3;
    @%p3 bra again;
    bra done;
halves:
    mad.wide.u32 %rd3, %r2, 2, %rd2;
    ld.global.u16 %r4, [%rd3];
    bra done;
words:
    mad.wide.u32 %rd3, %r2, 4, %rd2;
    ld.global.u32 %r4, [%rd3];
done:
    setp.ne.u32 %p4, %r1, 0;
    @!%p4 bra store;
    add.u32 %r4, %r4, %r4;
store:
    mad.wide.u32 %rd4, %r2, 4, %rd2;
    st.global.u32 [%rd4+1024], %r4;
    ret;
}";

/// The kernel with a format in memory.
fn case(format: u32, twice: u32) -> Case {
    let mut case = Case::new(FORMATS, "k", [1; 3], [64, 1, 1]).unwrap();
    case.words([7, 9, format, 11]);
    case.words((0..512).map(|n| n * 0x0040_0801 + 3));
    case.arg(&twice.to_le_bytes());
    case
}

/// What that launch says of itself.
fn fixed(format: u32, twice: u32) -> Vec<FixedWord> {
    vec![
        FixedWord { param: 0, behind: Some(8), value: format },
        FixedWord { param: 16, behind: None, value: twice },
    ]
}

#[test]
fn what_words_decide_is_left_out() {
    for (format, twice) in [(16, 0), (16, 1), (32, 0), (32, 1), (5, 0), (5, 1)] {
        let mut case = case(format, twice);
        let general = case.compile().unwrap();
        case.params.fixed = fixed(format, twice);
        let own = case.compile().unwrap();
        let (few, all) = (own.stats.code_bytes, general.stats.code_bytes);
        assert!(few * 10 < all * 9, "{format} {twice}: {few} bytes, {all} in general");
        case.compare_with(&own).unwrap_or_else(|e| panic!("{format} {twice}: {e}"));
    }
}

#[test]
fn code_in_general_runs_every_launch() {
    for (format, twice) in [(16, 0), (32, 1), (5, 1)] {
        let mut case = case(format, twice);
        let general = case.compile().unwrap();
        case.params.fixed = fixed(format, twice);
        assert!(general.fits(case.seen()), "{format} {twice}");
        case.compare_with(&general).unwrap_or_else(|e| panic!("{format} {twice}: {e}"));
    }
}

#[test]
fn other_words_take_other_code() {
    let mut case = case(16, 1);
    case.params.fixed = fixed(16, 1);
    let own = case.compile().unwrap();
    assert!(own.fits(case.seen()));
    for other in [fixed(32, 1), fixed(16, 0), Vec::new(), fixed(16, 1)[..1].to_vec()] {
        case.params.fixed = other;
        assert!(!own.fits(case.seen()), "{:?}", case.params.fixed);
    }
}

#[test]
fn other_widths() {
    common::again_with_short_vectors("other_widths", &[]);
}
