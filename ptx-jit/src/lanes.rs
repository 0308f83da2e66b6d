//! The function of every pure micro-op over lanes in memory, for what has no code of its own.
//!
//! Values lie side by side: `W` and `P` in 4 bytes (a predicate is all ones or zero), `D` in 8.

use ptx_isa::uop::{Op, lane_fn};

use crate::processor;

/// `dst = op(a, b, c)` for `n` lanes, with the micro-op's constant `k`.
pub(crate) type LaneFn =
    unsafe extern "C" fn(*mut u8, *const u8, *const u8, *const u8, k: u64, n: usize);

/// Lanes of a turn.
const EIGHT: usize = 8;

trait Cell: Copy {
    /// # Safety
    /// Lane `i` is readable at `p`.
    unsafe fn get(p: *const u8, i: usize) -> Self;
    /// # Safety
    /// Lane `i` is writable at `p`.
    unsafe fn set(self, p: *mut u8, i: usize);
}

impl Cell for u32 {
    #[inline(always)]
    unsafe fn get(p: *const u8, i: usize) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<u32>().add(i).read() }
    }
    #[inline(always)]
    unsafe fn set(self, p: *mut u8, i: usize) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<u32>().add(i).write(self) }
    }
}

impl Cell for u64 {
    #[inline(always)]
    unsafe fn get(p: *const u8, i: usize) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<u64>().add(i).read() }
    }
    #[inline(always)]
    unsafe fn set(self, p: *mut u8, i: usize) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<u64>().add(i).write(self) }
    }
}

impl Cell for bool {
    #[inline(always)]
    unsafe fn get(p: *const u8, i: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<u32>().add(i).read() != 0 }
    }
    #[inline(always)]
    unsafe fn set(self, p: *mut u8, i: usize) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<u32>().add(i).write(0u32.wrapping_sub(self as u32)) }
    }
}

macro_rules! cell {
    (W) => {
        u32
    };
    (D) => {
        u64
    };
    (P) => {
        bool
    };
}

/// Eight lanes from `$i` on, in arrays of their own for the vectoriser; no closures, which would lose the features of
/// the processor that their caller is compiled for.
macro_rules! eight {
    ($name:ident($($arg:ident: $kind:ident),*) -> $ret:ident, $places:ident, $dst:ident, $i:ident, $k:expr) => {
        let mut at = 0;
        $(
            let mut $arg = [<cell!($kind)>::default(); EIGHT];
            for l in 0..EIGHT {
                // SAFETY: the caller staged `n` lanes of every operand.
                $arg[l] = unsafe { Cell::get($places[at], $i + l) };
            }
            at += 1;
        )*
        let _ = at;
        let mut out = [<cell!($ret)>::default(); EIGHT];
        for l in 0..EIGHT {
            out[l] = lane_fn::$name($($arg[l],)* $k);
        }
        for l in 0..EIGHT {
            // SAFETY: the caller has room for `n` lanes of the result.
            unsafe { out[l].set($dst, $i + l) };
        }
    };
}

macro_rules! table {
    ({ $($pname:ident($($parg:ident),*) = $pbody:expr;)* }
     $($name:ident($($arg:ident: $kind:ident),* $(; $k:ident)?) -> $ret:ident = $body:expr;)*) => {
        #[allow(non_snake_case)]
        mod plain {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $pname(
                    dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, _: u64, n: usize,
                ) {
                    for i in 0..n {
                        let mut from = [a, b, c].into_iter();
                        // SAFETY: the caller staged `n` lanes of every operand.
                        unsafe {
                            $(let $parg = u32::get(from.next().unwrap_or(a), i);)*
                            lane_fn::$pname($($parg),*).set(dst, i);
                        }
                    }
                }
            )*
            $(
                pub(super) unsafe extern "C" fn $name(
                    dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, k: u64, n: usize,
                ) {
                    // SAFETY: the caller's promise is the same.
                    unsafe { body::$name(dst, a, b, c, k, n) }
                }
            )*
        }
        #[allow(non_snake_case)]
        mod body {
            use super::*;
            $(
                #[inline(always)]
                pub(super) unsafe fn $name(
                    dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, k: u64, n: usize,
                ) {
                    let places = [a, b, c];
                    let whole = n - n % EIGHT;
                    // The usual constant by itself, for the vectoriser.
                    let mut i = 0;
                    if k == 0 {
                        while i < whole {
                            eight!($name($($arg: $kind),*) -> $ret, places, dst, i, 0);
                            i += EIGHT;
                        }
                    } else {
                        while i < whole {
                            eight!($name($($arg: $kind),*) -> $ret, places, dst, i, k as u32);
                            i += EIGHT;
                        }
                    }
                    for i in whole..n {
                        let mut from = places.into_iter();
                        // SAFETY: as above.
                        unsafe {
                            $(let $arg = <cell!($kind)>::get(from.next().unwrap_or(a), i);)*
                            lane_fn::$name($($arg,)* k as u32).set(dst, i);
                        }
                    }
                }
            )*
        }
        #[cfg(target_arch = "x86_64")]
        #[allow(non_snake_case)]
        mod avx2 {
            use super::*;
            $(
                #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
                pub(super) unsafe extern "C" fn $name(
                    dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, k: u64, n: usize,
                ) {
                    // SAFETY: the caller's promise is the same.
                    unsafe { body::$name(dst, a, b, c, k, n) }
                }
            )*
        }

        #[cfg(target_arch = "x86_64")]
        #[allow(non_snake_case)]
        mod avx512 {
            use super::*;
            $(
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
                pub(super) unsafe extern "C" fn $name(
                    dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, k: u64, n: usize,
                ) {
                    // SAFETY: the caller's promise is the same.
                    unsafe { body::$name(dst, a, b, c, k, n) }
                }
            )*
        }

        fn function(op: Op, fast: bool) -> LaneFn {
            #[cfg(target_arch = "x86_64")]
            if fast && processor::has_avx512() {
                if let Some(function) = groups::function(op) {
                    return function;
                }
                match op {
                    $(Op::$name => return avx512::$name,)*
                    _ => {}
                }
            }
            #[cfg(target_arch = "x86_64")]
            if fast {
                match op {
                    $(Op::$name => return avx2::$name,)*
                    _ => {}
                }
            }
            let _ = fast;
            match op {
                $(Op::$pname => plain::$pname,)*
                $(Op::$name => plain::$name,)*
            }
        }
    };
}

ptx_isa::pure_ops!(table);

/// Micro-ops that have AVX-512 code of their own, in groups of lanes.
#[cfg(target_arch = "x86_64")]
mod groups {
    use super::LaneFn;
    use ptx_isa::mufu::avx512::{self, GROUP, Group};
    use ptx_isa::uop::Op;

    /// `lanes` lanes at `p`, and ones, which no function treats specially.
    ///
    /// # Safety
    /// They are readable.
    #[inline(always)]
    unsafe fn get(p: *const u8, lanes: usize) -> Group {
        if lanes >= GROUP {
            // SAFETY: the caller's promise.
            return unsafe { p.cast::<Group>().read() };
        }
        let mut group = [1f32.to_bits(); GROUP];
        // SAFETY: the caller's promise; the group has room.
        unsafe { p.cast::<u32>().copy_to_nonoverlapping(group.as_mut_ptr(), lanes) };
        group
    }

    /// # Safety
    /// `lanes` lanes are writable at `p`.
    #[inline(always)]
    unsafe fn set(group: &Group, p: *mut u8, lanes: usize) {
        let lanes = lanes.min(GROUP);
        // SAFETY: the caller's promise; the group has as many.
        unsafe { p.cast::<u32>().copy_from_nonoverlapping(group.as_ptr(), lanes) };
    }

    macro_rules! functions {
        ($($op:ident: $function:ident($($arg:ident),+);)*) => {
            $(
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
                unsafe extern "C" fn $function(
                    dst: *mut u8, a: *const u8, b: *const u8, _: *const u8, k: u64, n: usize,
                ) {
                    for i in (0..n).step_by(GROUP) {
                        let mut from = [a, b].into_iter();
                        // SAFETY: the caller staged `n` lanes of every operand and has room for the result.
                        unsafe {
                            $(let $arg = get(from.next().unwrap_or(a).add(4 * i), n - i);)+
                            let out = avx512::$function($(&$arg,)+ k != 0);
                            set(&out, dst.add(4 * i), n - i);
                        }
                    }
                }
            )*
            pub(super) fn function(op: Op) -> Option<LaneFn> {
                match op {
                    $(Op::$op => Some($function),)*
                    _ => None,
                }
            }
        };
    }
    ptx_isa::avx512_ops!(functions);
}

/// Addresses of the lane functions by micro-op, the best for this processor.
pub(crate) fn addresses() -> &'static [usize] {
    static TABLE: std::sync::OnceLock<Vec<usize>> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        let fast = processor::has_fma();
        let mut table = vec![0; Op::ALL.iter().map(|op| *op as usize + 1).max().unwrap_or(0)];
        for op in Op::ALL {
            let op_here = if fast { *op } else { op.without_fma() };
            table[*op as usize] = function(op_here, fast) as usize;
        }
        table
    })
}
