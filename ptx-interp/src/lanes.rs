//! Pure micro-ops over the 32 lanes of a row: a handler per micro-op and instruction set.
//!
//! Each handler is the scalar function of the micro-op in a straight loop over the lanes, which
//! the compiler vectorises for the target features of the function it is inlined into. One body
//! therefore makes three functions; decoding picks by what the processor has.

use ptx_isa::uop::{Op, lane_fn};

use crate::code::{Inst, Run};
use crate::ctx::Ctx;

/// Instruction set that handlers are compiled for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Isa {
    /// What the binary was compiled for.
    Baseline,
    /// AVX2, FMA, BMI, F16C.
    Avx2,
    /// AVX-512 F, BW, CD, DQ, VL.
    Avx512,
}

impl Isa {
    /// The best that this processor has. `PTXRUN_ISA` (`baseline`, `avx2`) asks for less.
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            // What is none of them is refused where a program starts.
            let most = match environment::isa() {
                Ok(Some(environment::Isa::Baseline)) => Isa::Baseline,
                Ok(Some(environment::Isa::Avx2)) => Isa::Avx2,
                Ok(Some(environment::Isa::Avx512) | None) | Err(_) => Isa::Avx512,
            };
            let avx2 = std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("fma")
                && std::arch::is_x86_feature_detected!("bmi1")
                && std::arch::is_x86_feature_detected!("bmi2")
                && std::arch::is_x86_feature_detected!("lzcnt")
                && std::arch::is_x86_feature_detected!("popcnt")
                && std::arch::is_x86_feature_detected!("f16c");
            let avx512 = avx2
                && std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512cd")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512vl");
            if avx512 && most == Isa::Avx512 {
                return Isa::Avx512;
            }
            if avx2 && most != Isa::Baseline {
                return Isa::Avx2;
            }
        }
        Isa::Baseline
    }
}

/// A source as the lane loop reads it.
trait Source {
    type Lane;
    fn at(&self, lane: usize) -> Self::Lane;
}
impl<T: Copy> Source for [T; 32] {
    type Lane = T;
    #[inline(always)]
    fn at(&self, lane: usize) -> T {
        self[lane]
    }
}
struct Mask(u32);
impl Source for Mask {
    type Lane = bool;
    #[inline(always)]
    fn at(&self, lane: usize) -> bool {
        self.0 >> lane & 1 != 0
    }
}

/// Makes a mask of lanes that are all ones or zero.
trait Pack: Fn(&[u32; 32]) -> u32 {}
impl<F: Fn(&[u32; 32]) -> u32> Pack for F {}

/// [`Pack`] per instruction set.
mod pack {
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn baseline(m: &[u32; 32]) -> u32 {
        let mut out = 0;
        for (n, quad) in m.as_chunks::<4>().0.iter().enumerate() {
            // SAFETY: SSE2 is part of x86-64; the load is of 16 bytes at any alignment.
            let bits = unsafe { _mm_movemask_ps(_mm_loadu_ps(quad.as_ptr().cast())) };
            out |= (bits as u32) << (4 * n);
        }
        out
    }
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(super) fn baseline(m: &[u32; 32]) -> u32 {
        m.iter().enumerate().fold(0, |out, (l, m)| out | (m & 1) << l)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(m: &[u32; 32]) -> u32 {
        let mut out = 0;
        for (n, oct) in m.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: the load is of 32 bytes at any alignment.
            let bits = _mm256_movemask_ps(unsafe { _mm256_loadu_ps(oct.as_ptr().cast()) });
            out |= (bits as u32) << (8 * n);
        }
        out
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn avx512(m: &[u32; 32]) -> u32 {
        let (halves, _) = m.as_chunks::<16>();
        // SAFETY: the loads are of 64 bytes at any alignment.
        let half = |n: usize| unsafe { _mm512_loadu_si512(halves[n].as_ptr().cast()) };
        _mm512_movepi32_mask(half(0)) as u32 | (_mm512_movepi32_mask(half(1)) as u32) << 16
    }
}

macro_rules! source {
    (W, $cx:expr, $o:expr) => {
        // SAFETY: decoding gave a `W` operand where the micro-op takes a `W`.
        unsafe { *$cx.bases.w($o) }
    };
    (D, $cx:expr, $o:expr) => {
        // SAFETY: decoding gave a `D` operand where the micro-op takes a `D`.
        unsafe { *$cx.bases.d($o) }
    };
    (P, $cx:expr, $o:expr) => {
        // SAFETY: decoding gave a `P` operand where the micro-op takes a `P`.
        Mask(unsafe { $cx.bases.p($o) })
    };
}
// No closure for the lane: a large one would stay a call, and the loop scalar.
macro_rules! result {
    (W, $cx:expr, $i:expr, $mask:expr, $pack:expr, $l:ident => $f:expr) => {{
        let mut out = [0u32; 32];
        for $l in 0..32 {
            out[$l] = $f;
        }
        // SAFETY: decoding gave a `W` destination in the frame; sources are no longer used.
        unsafe { $cx.bases.set_w($i.dst, &out, $mask) }
    }};
    (D, $cx:expr, $i:expr, $mask:expr, $pack:expr, $l:ident => $f:expr) => {{
        let mut out = [0u64; 32];
        for $l in 0..32 {
            out[$l] = $f;
        }
        // SAFETY: decoding gave a `D` destination in the frame; sources are no longer used.
        unsafe { $cx.bases.set_d($i.dst, &out, $mask) }
    }};
    (P, $cx:expr, $i:expr, $mask:expr, $pack:expr, $l:ident => $f:expr) => {{
        let mut out = [0u32; 32];
        for $l in 0..32 {
            out[$l] = 0u32.wrapping_sub($f as u32);
        }
        // SAFETY: decoding gave a `P` destination in the frame.
        unsafe { $cx.bases.set_p($i.dst, $pack(&out), $mask) }
    }};
}

macro_rules! define_handlers {
    ({ $($pname:ident($($parg:ident),*) = $pbody:expr;)* }
     $($name:ident($($arg:ident: $kind:ident),* $(; $k:ident)?) -> $ret:ident = $body:expr;)*) => {
        #[allow(non_snake_case, unused_assignments, unused_mut, unused_variables)]
        mod body {
            use super::*;
            $(#[inline(always)]
            pub(super) fn $pname(cx: &Ctx, i: &Inst, mask: u32, _: impl Pack) {
                let mut n = 0;
                $(let $parg = source!(P, cx, i.args[n]).0; n += 1;)*
                let out = lane_fn::$pname($($parg),*);
                // SAFETY: decoding gave a `P` destination in the frame.
                unsafe { cx.bases.set_p(i.dst, out, mask) }
            })*
            $(#[inline(always)]
            pub(super) fn $name(cx: &Ctx, i: &Inst, mask: u32, pack: impl Pack) {
                let mut n = 0;
                $(let $arg = source!($kind, cx, i.args[n]); n += 1;)*
                result!($ret, cx, i, mask, pack, l => lane_fn::$name($($arg.at(l),)* i.k));
            })*
        }
        handler_set!(baseline [$($pname)* $($name)*]);
        #[cfg(target_arch = "x86_64")]
        handler_set!(avx2 [$($pname)* $($name)*]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]);
        #[cfg(target_arch = "x86_64")]
        handler_set!(avx512 [$($pname)* $($name)*]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]);
    };
}

macro_rules! handler_set {
    ($isa:ident [$($name:ident)*] $(#[$feature:meta])?) => {
        handler_set!(@fns $isa [$($name)*] [$(#[$feature])?]);
    };
    (@fns $isa:ident [$($name:ident)*] $feature:tt) => {
        #[allow(non_snake_case)]
        mod $isa {
            use super::{Ctx, Inst, body, pack};
            $(handler_set!(@one $isa $name $feature);)*
        }
        impl Table {
            const fn $isa(op: Op) -> Run {
                match op { $(Op::$name => $isa::$name,)* }
            }
        }
    };
    (@one $isa:ident $name:ident [$(#[$feature:meta])?]) => {
        /// # Safety
        /// The processor must have the features; `i` must be decoded for what `cx` points to.
        $(#[$feature])?
        pub(super) unsafe fn $name(cx: &Ctx, i: &Inst, _: u32, write: u32) -> bool {
            body::$name(cx, i, write, |m: &[u32; 32]| pack::$isa(m));
            true
        }
    };
}

struct Table;

ptx_isa::pure_ops!(define_handlers);

/// Micro-ops that have AVX-512 code of their own, in groups of lanes.
#[cfg(target_arch = "x86_64")]
mod groups {
    use super::*;
    use ptx_isa::mufu::avx512;

    macro_rules! handlers {
        ($($op:ident: $function:ident($($arg:ident),+);)*) => {
            $(
                /// # Safety
                /// As for every handler.
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
                unsafe fn $function(cx: &Ctx, i: &Inst, _: u32, write: u32) -> bool {
                    let mut args = i.args.iter();
                    $(let $arg: [u32; 32] = args.next().map_or([0; 32], |o| source!(W, cx, *o));)+
                    let mut out = [0u32; 32];
                    for (g, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
                        *out = avx512::$function($(&$arg.as_chunks().0[g],)+ i.k != 0);
                    }
                    // SAFETY: decoding gave a `W` destination in the frame; sources are copies.
                    unsafe { cx.bases.set_w(i.dst, &out, write) }
                    true
                }
            )*
            pub(super) fn handler(op: Op) -> Option<Run> {
                match op {
                    $(Op::$op => Some($function),)*
                    _ => None,
                }
            }
        };
    }
    ptx_isa::avx512_ops!(handlers);
}

/// The handler of `op` for `isa`, which the processor must have.
pub(crate) fn handler(isa: Isa, op: Op) -> Run {
    match isa {
        Isa::Baseline => Table::baseline(op.without_fma()),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => Table::avx2(op),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => groups::handler(op).unwrap_or(Table::avx512(op)),
        #[cfg(not(target_arch = "x86_64"))]
        _ => Table::baseline(op.without_fma()),
    }
}
