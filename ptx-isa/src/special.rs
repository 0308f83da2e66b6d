//! Special registers (PTX ISA chapter 10): one line each.

use crate::types::{PtxVersion, Ty, ptx};

macro_rules! special_registers {
    ($($(#[$doc:meta])* $id:ident $name:literal $ty:ident ($major:literal, $minor:literal) $sm:literal;)*) => {
        /// A special register, component by component.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Sreg { $($(#[$doc])* $id,)* }

        impl Sreg {
            /// Every special register.
            pub const ALL: &'static [Sreg] = &[$(Sreg::$id,)*];
            /// Name with the percent sign and component, as in `%tid.x`.
            pub const fn name(self) -> &'static str { match self { $(Sreg::$id => $name,)* } }
            /// Type of the register in current PTX (`.u16` halves were legal in PTX 1.x).
            pub const fn ty(self) -> Ty { match self { $(Sreg::$id => Ty::$ty,)* } }
            /// First PTX version.
            pub const fn since(self) -> PtxVersion { match self { $(Sreg::$id => ptx($major, $minor),)* } }
            /// First target.
            pub const fn sm(self) -> u16 { match self { $(Sreg::$id => $sm,)* } }
            /// The register named `name`.
            pub fn parse(name: &str) -> Option<Sreg> { match name { $($name => Some(Sreg::$id),)* _ => None } }
        }
    };
}

special_registers! {
    TidX "%tid.x" U32 (1, 0) 0; TidY "%tid.y" U32 (1, 0) 0; TidZ "%tid.z" U32 (1, 0) 0; TidW "%tid.w" U32 (1, 0) 0;
    NtidX "%ntid.x" U32 (1, 0) 0; NtidY "%ntid.y" U32 (1, 0) 0; NtidZ "%ntid.z" U32 (1, 0) 0; NtidW "%ntid.w" U32 (1, 0) 0;
    CtaidX "%ctaid.x" U32 (1, 0) 0; CtaidY "%ctaid.y" U32 (1, 0) 0; CtaidZ "%ctaid.z" U32 (1, 0) 0; CtaidW "%ctaid.w" U32 (1, 0) 0;
    NctaidX "%nctaid.x" U32 (1, 0) 0; NctaidY "%nctaid.y" U32 (1, 0) 0; NctaidZ "%nctaid.z" U32 (1, 0) 0; NctaidW "%nctaid.w" U32 (1, 0) 0;
    LaneId "%laneid" U32 (1, 3) 0; WarpId "%warpid" U32 (1, 3) 0; NwarpId "%nwarpid" U32 (2, 0) 20;
    SmId "%smid" U32 (1, 3) 0; NsmId "%nsmid" U32 (2, 0) 20; GridId "%gridid" U64 (1, 0) 0;
    IsExplicitCluster "%is_explicit_cluster" Pred (7, 8) 90;
    ClusterIdX "%clusterid.x" U32 (7, 8) 90; ClusterIdY "%clusterid.y" U32 (7, 8) 90; ClusterIdZ "%clusterid.z" U32 (7, 8) 90; ClusterIdW "%clusterid.w" U32 (7, 8) 90;
    NclusterIdX "%nclusterid.x" U32 (7, 8) 90; NclusterIdY "%nclusterid.y" U32 (7, 8) 90; NclusterIdZ "%nclusterid.z" U32 (7, 8) 90; NclusterIdW "%nclusterid.w" U32 (7, 8) 90;
    ClusterCtaidX "%cluster_ctaid.x" U32 (7, 8) 90; ClusterCtaidY "%cluster_ctaid.y" U32 (7, 8) 90; ClusterCtaidZ "%cluster_ctaid.z" U32 (7, 8) 90; ClusterCtaidW "%cluster_ctaid.w" U32 (7, 8) 90;
    ClusterNctaidX "%cluster_nctaid.x" U32 (7, 8) 90; ClusterNctaidY "%cluster_nctaid.y" U32 (7, 8) 90; ClusterNctaidZ "%cluster_nctaid.z" U32 (7, 8) 90; ClusterNctaidW "%cluster_nctaid.w" U32 (7, 8) 90;
    ClusterCtarank "%cluster_ctarank" U32 (7, 8) 90; ClusterNctarank "%cluster_nctarank" U32 (7, 8) 90;
    LanemaskEq "%lanemask_eq" U32 (2, 0) 20; LanemaskLe "%lanemask_le" U32 (2, 0) 20; LanemaskLt "%lanemask_lt" U32 (2, 0) 20;
    LanemaskGe "%lanemask_ge" U32 (2, 0) 20; LanemaskGt "%lanemask_gt" U32 (2, 0) 20;
    Clock "%clock" U32 (1, 0) 0; ClockHi "%clock_hi" U32 (5, 0) 20; Clock64 "%clock64" U64 (2, 0) 20;
    Pm0 "%pm0" U32 (1, 3) 0; Pm1 "%pm1" U32 (1, 3) 0; Pm2 "%pm2" U32 (1, 3) 0; Pm3 "%pm3" U32 (1, 3) 0;
    Pm4 "%pm4" U32 (3, 0) 20; Pm5 "%pm5" U32 (3, 0) 20; Pm6 "%pm6" U32 (3, 0) 20; Pm7 "%pm7" U32 (3, 0) 20;
    Pm0_64 "%pm0_64" U64 (4, 0) 50; Pm1_64 "%pm1_64" U64 (4, 0) 50; Pm2_64 "%pm2_64" U64 (4, 0) 50; Pm3_64 "%pm3_64" U64 (4, 0) 50;
    Pm4_64 "%pm4_64" U64 (4, 0) 50; Pm5_64 "%pm5_64" U64 (4, 0) 50; Pm6_64 "%pm6_64" U64 (4, 0) 50; Pm7_64 "%pm7_64" U64 (4, 0) 50;
    GlobalTimer "%globaltimer" U64 (3, 1) 30; GlobalTimerLo "%globaltimer_lo" U32 (3, 1) 30; GlobalTimerHi "%globaltimer_hi" U32 (3, 1) 30;
    ReservedSmemBegin "%reserved_smem_offset_begin" B32 (7, 6) 80; ReservedSmemEnd "%reserved_smem_offset_end" B32 (7, 6) 80;
    ReservedSmemCap "%reserved_smem_offset_cap" B32 (7, 6) 80; ReservedSmem0 "%reserved_smem_offset_0" B32 (7, 6) 80; ReservedSmem1 "%reserved_smem_offset_1" B32 (7, 6) 80;
    TotalSmemSize "%total_smem_size" U32 (4, 1) 20; AggrSmemSize "%aggr_smem_size" U32 (8, 1) 90; DynamicSmemSize "%dynamic_smem_size" U32 (4, 1) 20;
    CurrentGraphExec "%current_graph_exec" U64 (8, 0) 50;
    Envreg3 "%envreg3" B32 (1, 0) 0; Envreg4 "%envreg4" B32 (1, 0) 0; Envreg5 "%envreg5" B32 (1, 0) 0;
    Envreg6 "%envreg6" B32 (1, 0) 0; Envreg7 "%envreg7" B32 (1, 0) 0; Envreg8 "%envreg8" B32 (1, 0) 0;
    Envreg9 "%envreg9" B32 (1, 0) 0; Envreg10 "%envreg10" B32 (1, 0) 0; Envreg11 "%envreg11" B32 (1, 0) 0;
    Envreg12 "%envreg12" B32 (1, 0) 0; Envreg13 "%envreg13" B32 (1, 0) 0; Envreg14 "%envreg14" B32 (1, 0) 0;
    Envreg15 "%envreg15" B32 (1, 0) 0; Envreg16 "%envreg16" B32 (1, 0) 0; Envreg17 "%envreg17" B32 (1, 0) 0;
    Envreg18 "%envreg18" B32 (1, 0) 0;
}

impl Sreg {
    /// The least width in bits that it may be read with. Indices of threads and blocks had 16 bits in PTX 1.0, and the
    /// grid's identifier grew from there to 64; ptxas still takes the old widths. What does not fit is cut off.
    pub const fn least_bits(self) -> u32 {
        use Sreg::*;
        match self {
            TidX | TidY | TidZ | TidW | NtidX | NtidY | NtidZ | NtidW | CtaidX | CtaidY
            | CtaidZ | CtaidW | NctaidX | NctaidY | NctaidZ | NctaidW | GridId => 16,
            _ => self.ty().bits(),
        }
    }

    /// Which value of a launch's [`Environment`] it holds.
    pub const fn of_environment(self) -> Option<usize> {
        let first = Sreg::Envreg3 as usize;
        let own = self as usize;
        if own >= first && own < first + ENVIRONMENT { Some(own - first) } else { None }
    }

    /// What it holds, in one sentence for people.
    pub const fn does(self) -> &'static str {
        use Sreg::*;
        match self {
            TidX | TidY | TidZ | TidW => "Position of the thread in its block.",
            NtidX | NtidY | NtidZ | NtidW => "Number of threads of the block.",
            CtaidX | CtaidY | CtaidZ | CtaidW => "Position of the block in the grid.",
            NctaidX | NctaidY | NctaidZ | NctaidW => "Number of blocks of the grid.",
            LaneId => "Number of the thread in its warp.",
            WarpId => "Number of the warp on its multiprocessor; it may change.",
            NwarpId => "Most warps of a multiprocessor.",
            SmId => "Number of the multiprocessor; it may change.",
            NsmId => "Bound of the numbers of multiprocessors.",
            GridId => "Number of the launch.",
            IsExplicitCluster => "Whether the launch has explicit clusters.",
            ClusterIdX | ClusterIdY | ClusterIdZ | ClusterIdW => {
                "Position of the cluster in the grid."
            }
            NclusterIdX | NclusterIdY | NclusterIdZ | NclusterIdW => {
                "Number of clusters of the grid."
            }
            ClusterCtaidX | ClusterCtaidY | ClusterCtaidZ | ClusterCtaidW => {
                "Position of the block in its cluster."
            }
            ClusterNctaidX | ClusterNctaidY | ClusterNctaidZ | ClusterNctaidW => {
                "Number of blocks of the cluster."
            }
            ClusterCtarank => "Rank of the block in its cluster.",
            ClusterNctarank => "Number of blocks of the cluster, over all dimensions.",
            LanemaskEq => "Mask of the own lane.",
            LanemaskLe => "Mask of the own lane and those below.",
            LanemaskLt => "Mask of the lanes below the own.",
            LanemaskGe => "Mask of the own lane and those above.",
            LanemaskGt => "Mask of the lanes above the own.",
            Clock => "Lower half of the cycle counter of the multiprocessor.",
            ClockHi => "Upper half of the cycle counter of the multiprocessor.",
            Clock64 => "Cycle counter of the multiprocessor.",
            Pm0 | Pm1 | Pm2 | Pm3 | Pm4 | Pm5 | Pm6 | Pm7 => "A performance counter.",
            Pm0_64 | Pm1_64 | Pm2_64 | Pm3_64 | Pm4_64 | Pm5_64 | Pm6_64 | Pm7_64 => {
                "A performance counter of 64 bits."
            }
            GlobalTimer => "Time in nanoseconds.",
            GlobalTimerLo => "Lower half of the time in nanoseconds.",
            GlobalTimerHi => "Upper half of the time in nanoseconds.",
            ReservedSmemBegin | ReservedSmemEnd | ReservedSmemCap | ReservedSmem0
            | ReservedSmem1 => "A bound of the shared memory that the system reserves.",
            TotalSmemSize => "Bytes of shared memory of the block.",
            AggrSmemSize => "Bytes of shared memory of the block, with what the system reserves.",
            DynamicSmemSize => "Bytes of shared memory that the launch added.",
            CurrentGraphExec => "Handle of the graph that the launch belongs to.",
            Envreg3 | Envreg4 | Envreg5 | Envreg6 | Envreg7 | Envreg8 | Envreg9 | Envreg10
            | Envreg11 | Envreg12 | Envreg13 | Envreg14 | Envreg15 | Envreg16 | Envreg17
            | Envreg18 => "A value that the driver sets.",
        }
    }
}

/// Registers of the environment that a driver can set.
const ENVIRONMENT: usize = 16;

/// What a driver sets for a launch, `%envreg3` to `%envreg18`. Zeros say that the launch is a whole range of work-items
/// that starts at 0. In this order, three numbers being one for each dimension:
///
/// - three: the first global id;
/// - the number of dimensions;
/// - three each, where the launch is a part of a range whose work-groups differ in size: work-groups before it,
///   work-items before it, work-items behind it, and by how much its work-groups are smaller than those at the start.
pub type Environment = [u32; ENVIRONMENT];

/// Environment registers `%envreg0` to `%envreg31` are read as [`envreg`] names; 0 but for those of [`Environment`].
pub fn envreg(name: &str) -> Option<u8> {
    let digits = name.strip_prefix("%envreg")?;
    let n: u8 = digits.parse().ok()?;
    (n < 32 && (digits.len() == 1 || !digits.starts_with('0'))).then_some(n)
}
