//! Functions over the lanes of rows, compiled for each instruction set and chosen by what the processor has.

use std::sync::OnceLock;

use ptx_interp::Isa;

/// What the processor has.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Processor(Isa);

impl Processor {
    /// This one, or less of it if the environment asks for less.
    #[inline]
    pub(crate) fn detect() -> Processor {
        static FOUND: OnceLock<Isa> = OnceLock::new();
        Processor(*FOUND.get_or_init(Isa::detect))
    }

    #[inline(always)]
    pub(crate) fn isa(self) -> Isa {
        self.0
    }
}

/// Makes a function over rows from one that is inlined: the compiler vectorises its loops for each instruction set.
macro_rules! by_processor {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:path;) => {
        $(#[$meta])*
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "a row, where it goes, and what of it")]
        $vis fn $name(processor: $crate::vector::Processor, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                $body($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                $body($($arg),*)
            }
            match processor.isa() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Processor::detect` found that the processor has these features.
                ptx_interp::Isa::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                ptx_interp::Isa::Avx2 => unsafe { avx2($($arg),*) },
                _ => $body($($arg),*),
            }
        }
    };
}
pub(crate) use by_processor;
