//! Scalar types, register kinds, state spaces and versions of PTX.

use std::fmt;

macro_rules! scalar_types {
    ($($(#[$doc:meta])* $name:ident $text:literal $bits:literal $class:ident;)*) => {
        /// A fundamental or packed type as written after the dot (PTX ISA 5.2).
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Ty { $($(#[$doc])* #[allow(missing_docs)] $name,)* }

        impl Ty {
            /// Every type, in declaration order.
            pub const ALL: &'static [Ty] = &[$(Ty::$name,)*];

            /// The type's name without the dot, as in `u32`.
            pub const fn name(self) -> &'static str {
                match self { $(Ty::$name => $text,)* }
            }
            /// Width in bits; predicates count as one bit.
            pub const fn bits(self) -> u32 {
                match self { $(Ty::$name => $bits,)* }
            }
            /// How operands of this type may be declared.
            pub const fn class(self) -> TyClass {
                match self { $(Ty::$name => TyClass::$class,)* }
            }
            /// The type named `text` (no dot), if there is one.
            pub fn parse(text: &str) -> Option<Ty> {
                match text { $($text => Some(Ty::$name),)* _ => None }
            }
        }
    };
}

scalar_types! {
    Pred "pred" 1 Pred;
    B1 "b1" 1 Bits; B4 "b4" 4 Bits;
    B8 "b8" 8 Bits; B16 "b16" 16 Bits; B32 "b32" 32 Bits; B64 "b64" 64 Bits; B128 "b128" 128 Bits;
    U4 "u4" 4 Uint; U8 "u8" 8 Uint; U16 "u16" 16 Uint; U32 "u32" 32 Uint; U64 "u64" 64 Uint;
    S4 "s4" 4 Sint; S8 "s8" 8 Sint; S16 "s16" 16 Sint; S32 "s32" 32 Sint; S64 "s64" 64 Sint;
    U16x2 "u16x2" 32 Bits; S16x2 "s16x2" 32 Bits; U8x4 "u8x4" 32 Bits; S8x4 "s8x4" 32 Bits;
    F16 "f16" 16 Half; F16x2 "f16x2" 32 Half; Bf16 "bf16" 16 Bits; Bf16x2 "bf16x2" 32 Bits;
    F32 "f32" 32 Float; F32x2 "f32x2" 64 Bits; F64 "f64" 64 Float; Tf32 "tf32" 32 Bits;
    E4m3 "e4m3" 8 Bits; E5m2 "e5m2" 8 Bits; E3m2 "e3m2" 8 Bits; E2m3 "e2m3" 8 Bits; E2m1 "e2m1" 8 Bits;
    Ue8m0 "ue8m0" 8 Bits; Ue4m3 "ue4m3" 8 Bits;
    E4m3x2 "e4m3x2" 16 Bits; E5m2x2 "e5m2x2" 16 Bits; E3m2x2 "e3m2x2" 16 Bits; E2m3x2 "e2m3x2" 16 Bits;
    E2m1x2 "e2m1x2" 8 Bits; Ue8m0x2 "ue8m0x2" 16 Bits;
    E4m3x4 "e4m3x4" 32 Bits; E5m2x4 "e5m2x4" 32 Bits; E3m2x4 "e3m2x4" 32 Bits; E2m3x4 "e2m3x4" 32 Bits;
    E2m1x4 "e2m1x4" 16 Bits; S2f6x2 "s2f6x2" 16 Bits; Ue5m3x2 "ue5m3x2" 16 Bits;
    TexRef "texref" 64 Opaque; SamplerRef "samplerref" 64 Opaque; SurfRef "surfref" 64 Opaque;
}

/// The families that the compatibility rules of PTX ISA 9.4 distinguish.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyClass {
    /// Predicate.
    Pred,
    /// Untyped bits; agrees with every type of its width.
    Bits,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// Binary32 and binary64.
    Float,
    /// `.f16` and `.f16x2`.
    Half,
    /// Opaque texture, sampler and surface references.
    Opaque,
}

impl Ty {
    /// The type of a modifier token such as `.u32`.
    pub fn from_token(token: &str) -> Option<Ty> {
        Ty::parse(token.strip_prefix('.')?)
    }
    /// Whether values extend by their sign.
    pub const fn signed(self) -> bool {
        matches!(self.class(), TyClass::Sint)
    }
    /// Whether the type is an integer with a sign rule (`.uN`, `.sN`).
    pub const fn is_int(self) -> bool {
        matches!(self.class(), TyClass::Sint | TyClass::Uint)
    }
    /// Whether bits of this type mean more than one number, or a number that no constant can stand for.
    pub const fn is_packed(self) -> bool {
        use Ty::*;
        matches!(self.class(), TyClass::Bits)
            && !matches!(self, B1 | B4 | B8 | B16 | B32 | B64 | B128)
    }
    /// Whether the type is a scalar floating-point type (`.f16 .bf16 .f32 .f64`).
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
    }
    /// The kind of virtual register that holds a value of this type.
    pub const fn kind(self) -> Kind {
        match self.bits() {
            _ if matches!(self, Ty::Pred) => Kind::P,
            0..=32 => Kind::W,
            _ => Kind::D,
        }
    }
    /// The same family at twice the width (results of `.wide`).
    pub const fn wide(self) -> Option<Ty> {
        Some(match self {
            Ty::U16 => Ty::U32,
            Ty::U32 => Ty::U64,
            Ty::S16 => Ty::S32,
            Ty::S32 => Ty::S64,
            Ty::B16 => Ty::B32,
            Ty::B32 => Ty::B64,
            _ => return None,
        })
    }
    /// Size in bytes in memory (predicates have none).
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// The kinds of value that micro-ops work on.
///
/// Values of 8 and 16 bits live zero-extended in a [`Kind::W`]; 128-bit
/// values are two [`Kind::D`] values, low half first.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// One bit per lane.
    P,
    /// 32 bits per lane.
    W,
    /// 64 bits per lane.
    D,
}

/// State spaces (PTX ISA 5.1).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Space {
    /// No space named: generic addressing.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the executing CTA.
    Shared,
    /// Shared memory of any CTA of the cluster.
    SharedCluster,
    /// Per-thread memory.
    Local,
    /// Constant banks.
    Const,
    /// Kernel parameters.
    ParamEntry,
    /// Parameters and results of device functions and call sites.
    ParamFunc,
    /// Registers.
    Reg,
    /// Read-only special registers.
    Sreg,
    /// Opaque texture space of PTX 1.x modules.
    Tex,
}

impl Space {
    /// The word that reports have for it.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::SharedCluster => "shared::cluster",
            Space::Local | Space::ParamFunc => "local",
            Space::Const => "const",
            Space::ParamEntry => "param",
            Space::Reg | Space::Sreg | Space::Tex => "register",
        }
    }
}

/// A PTX ISA version, `major.minor`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PtxVersion {
    /// Major number.
    pub major: u8,
    /// Minor number.
    pub minor: u8,
}

/// Shorthand for [`PtxVersion`] in rows.
pub const fn ptx(major: u8, minor: u8) -> PtxVersion {
    PtxVersion { major, minor }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A `.target` architecture: number and suffix (`sm_90a`, `sm_100f`).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// Ten times the compute capability: 13, 75, 90, 100, 120.
    pub sm: u16,
    /// Architecture suffix.
    pub suffix: Suffix,
    /// `.target …, map_f64_to_f32`, or implied below sm_13.
    pub map_f64_to_f32: bool,
    /// `.target …, texmode_independent`.
    pub texmode_independent: bool,
    /// `.target …, debug`: code for a debugger, not optimised.
    pub debug: bool,
}

/// The suffix of an architecture name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Suffix {
    /// `sm_90`: baseline feature set.
    None,
    /// `sm_100f`: family-specific features.
    Family,
    /// `sm_90a`: architecture-specific features.
    Arch,
}

impl Target {
    /// A plain target without suffix.
    pub const fn plain(sm: u16) -> Target {
        Target {
            sm,
            suffix: Suffix::None,
            map_f64_to_f32: false,
            texmode_independent: false,
            debug: false,
        }
    }

    /// Whether code of this target runs on `device`: that of a plain target on all later devices, that of a family on
    /// its later members, that of an `a` target on this architecture alone (PTX ISA 11.1.2; as ptxas 13.5 judges).
    pub const fn runs_on(self, device: Target) -> bool {
        match self.suffix {
            Suffix::None => self.sm <= device.sm,
            Suffix::Family => self.sm / 10 == device.sm / 10 && self.sm <= device.sm,
            Suffix::Arch => self.sm == device.sm && matches!(device.suffix, Suffix::Arch),
        }
    }

    /// A device as a target: it has all features of its architecture.
    pub const fn device(sm: u16) -> Target {
        Target { suffix: Suffix::Arch, ..Target::plain(sm) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}
