//! Compiler options: the strings of `clBuildProgram` and of the command line.

use crate::diag::{Code, Diag};

/// What to compile for and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Target architecture: 10 for `sm_10` … 90 for `sm_90`.
    pub sm: u32,
    /// Macros from `-D` (with a value) and `-U` (without), in order.
    pub defines: Vec<(String, Option<String>)>,
    /// Folders from `-I`.
    pub include_dirs: Vec<String>,
    /// Headers held in memory, by name.
    pub headers: Vec<(String, String)>,
    /// Never read include files from disk.
    pub headers_only: bool,
    /// Language version that the program asks for: 100, 110, 120, 200 or 300.
    pub cl_std: u32,
    /// Unsuffixed floating literals are single precision.
    pub single_precision_constant: bool,
    /// Denormals may be flushed.
    pub denorms_are_zero: bool,
    /// Division and square root in single precision are correctly rounded.
    pub correctly_rounded_divide_sqrt: bool,
    /// The code is for the host's processor, which divides and takes roots faster, and exactly, than it follows the
    /// approximate functions of a GPU.
    pub on_host: bool,
    /// No optimisation.
    pub opt_disable: bool,
    /// `a*b+c` may lose precision.
    pub mad_enable: bool,
    /// The sign of zero does not matter.
    pub no_signed_zeros: bool,
    /// Algebraic rewriting of floating point is allowed.
    pub unsafe_math: bool,
    /// No NaN or infinity occurs.
    pub finite_math_only: bool,
    /// All of the above, and faster, less exact functions.
    pub fast_relaxed_math: bool,
    /// `-w`.
    pub no_warnings: bool,
    /// `-Werror`.
    pub warnings_as_errors: bool,
    /// `-Wall`: also those about what is untidy but harmless.
    pub all_warnings: bool,
    /// Warnings switched off by name (`-Wno-…`).
    pub disabled_warnings: Vec<String>,
    /// `-gline-tables-only`: `.loc` lines and source comments. The code is the same without them.
    pub lines: bool,
    /// `-g`: those lines, and variables of the source for debuggers. They stay in memory, so the code is another one.
    pub debug: bool,
    /// `get_global_id` adds the offset of the launch, which the driver puts into `%envreg3` to `%envreg5`.
    pub global_offset: bool,
    /// All work-groups of a launch have the same size (`-cl-uniform-work-group-size`); before OpenCL C 2.0 they always
    /// have.
    pub uniform_groups: bool,
    /// Keep argument information (`-cl-kernel-arg-info`); accepted for hosts.
    pub kernel_arg_info: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            sm: 75,
            defines: Vec::new(),
            include_dirs: Vec::new(),
            headers: Vec::new(),
            headers_only: false,
            cl_std: 120,
            single_precision_constant: false,
            denorms_are_zero: false,
            correctly_rounded_divide_sqrt: false,
            on_host: false,
            opt_disable: false,
            mad_enable: false,
            no_signed_zeros: false,
            unsafe_math: false,
            finite_math_only: false,
            fast_relaxed_math: false,
            no_warnings: false,
            warnings_as_errors: false,
            all_warnings: false,
            disabled_warnings: Vec::new(),
            lines: false,
            debug: false,
            global_offset: false,
            uniform_groups: false,
            kernel_arg_info: false,
        }
    }
}

impl Options {
    /// Lines of the source stand in the text.
    pub fn has_lines(&self) -> bool {
        self.lines || self.debug
    }

    /// Whether division and square root in single precision are correctly rounded.
    pub fn divides_exactly(&self) -> bool {
        self.correctly_rounded_divide_sqrt || self.on_host
    }

    /// Variables are told of. Before `sm_20` the text has no place for that.
    pub fn has_variables(&self) -> bool {
        self.debug && self.sm >= 20
    }

    /// Reads an option string as `clBuildProgram` takes it. Quotes group words.
    pub fn parse(text: &str) -> Result<Options, Diag> {
        Options::default().with_text(text)
    }

    /// Adds those of an option string.
    ///
    /// # Errors
    /// When one is unknown or lacks its value.
    pub fn with_text(self, text: &str) -> Result<Options, Diag> {
        self.with_args(&split_words(text))
    }

    /// Adds options given as separate words.
    pub fn with_args<S: AsRef<str>>(mut self, args: &[S]) -> Result<Options, Diag> {
        let mut words = args.iter().map(AsRef::as_ref);
        while let Some(word) = words.next() {
            let mut value_of = |prefix: &str| -> Result<String, Diag> {
                match &word[prefix.len()..] {
                    "" => words.next().map(str::to_string).ok_or_else(|| {
                        Diag::error(Code::Option, format!("option `{prefix}` needs a value"))
                    }),
                    joined => Ok(joined.to_string()),
                }
            };
            match word {
                _ if word.starts_with("-D") => {
                    let definition = value_of("-D")?;
                    let (name, value) = definition.split_once('=').unwrap_or((&definition, "1"));
                    self.defines.push((name.to_string(), Some(value.to_string())));
                }
                _ if word.starts_with("-U") => {
                    let name = value_of("-U")?;
                    self.defines.push((name, None));
                }
                _ if word.starts_with("-I") => {
                    let directory = value_of("-I")?;
                    self.include_dirs.push(directory);
                }
                "-cl-single-precision-constant" => self.single_precision_constant = true,
                "-cl-denorms-are-zero" => self.denorms_are_zero = true,
                "-cl-fp32-correctly-rounded-divide-sqrt" => {
                    self.correctly_rounded_divide_sqrt = true
                }
                "-cl-opt-disable" => self.opt_disable = true,
                "-cl-uniform-work-group-size" => self.uniform_groups = true,
                // Sub-groups that need not wait for one another are all that there is.
                "-cl-strict-aliasing" | "-cl-no-subgroup-ifp" => {}
                "-cl-mad-enable" => self.mad_enable = true,
                "-cl-no-signed-zeros" => self.no_signed_zeros = true,
                "-cl-unsafe-math-optimizations" => {
                    self.unsafe_math = true;
                    self.mad_enable = true;
                    self.no_signed_zeros = true;
                }
                "-cl-finite-math-only" => self.finite_math_only = true,
                "-cl-fast-relaxed-math" => {
                    self.fast_relaxed_math = true;
                    self.finite_math_only = true;
                    self.unsafe_math = true;
                    self.mad_enable = true;
                    self.no_signed_zeros = true;
                }
                "-cl-std=CL1.0" => self.cl_std = 100,
                "-cl-std=CL1.1" => self.cl_std = 110,
                "-cl-std=CL1.2" => self.cl_std = 120,
                // What these add is optional or absent here; macros tell which (see `preprocess::predefined`).
                "-cl-std=CL2.0" => self.cl_std = 200,
                "-cl-std=CL3.0" => self.cl_std = 300,
                "-cl-kernel-arg-info" => self.kernel_arg_info = true,
                "-cl-nv-verbose" => {}
                _ if word.starts_with("-cl-nv-opt-level")
                    || word.starts_with("-cl-nv-maxrregcount") => {}
                "-w" => self.no_warnings = true,
                "-Werror" => self.warnings_as_errors = true,
                _ if word.starts_with("-Wno-") => {
                    self.disabled_warnings.push(word["-Wno-".len()..].to_string())
                }
                "-Wall" | "-Wextra" => self.all_warnings = true,
                "-g" => self.debug = true,
                "-gline-tables-only" => self.lines = true,
                _ if word.starts_with("-cl-nv-arch")
                    || word.starts_with("--target")
                    || word.starts_with("-arch=")
                    || word.starts_with("-march=") =>
                {
                    let value = match word.split_once('=') {
                        Some((_, value)) => value.to_string(),
                        None if word.starts_with("--target") => value_of("--target")?,
                        None => value_of("-cl-nv-arch")?,
                    };
                    let number = value.strip_prefix("sm_").and_then(|n| n.parse::<u32>().ok());
                    self.sm = number.filter(|n| SUPPORTED_SM.contains(n)).ok_or_else(|| {
                        Diag::error(Code::Option, format!("unknown target `{value}`")).help(
                            format!(
                                "known targets: {}",
                                SUPPORTED_SM.map(|n| format!("sm_{n}")).join(" ")
                            ),
                        )
                    })?;
                }
                _ => return Err(Diag::error(Code::Option, format!("unknown option `{word}`"))),
            }
        }
        Ok(self)
    }

    /// Whether the target has what most optional features of OpenCL C 3.0 need: generic addresses, and operations of
    /// warps that name the threads that take part.
    pub fn has_warp_operations(&self) -> bool {
        self.sm >= WARPS
    }

    /// Whether a pointer without an address space points to any of them, and program-scope variables can be written.
    pub fn has_generic_space(&self) -> bool {
        self.cl_std >= 200 && self.has_warp_operations()
    }

    /// Whether the last work-group of a dimension may be smaller than the others: the driver launches it apart, and says
    /// so in `%envreg7` to `%envreg18` (`ptx_isa::special::Environment`).
    pub fn has_rest_groups(&self) -> bool {
        let asked = self.cl_std >= 200 && !self.uniform_groups;
        asked && self.global_offset && self.has_warp_operations()
    }

    /// True if PTX of the target has `fma` and IEEE single precision.
    pub fn has_ieee_single(&self) -> bool {
        self.sm >= 20
    }
}

/// Targets that PTX output can name.
pub const SUPPORTED_SM: [u32; 24] = [
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90,
];

/// What a device offers, with the lowest target that has it.
type Offer = (&'static str, u32);

/// Extensions of the language: each is a macro.
const EXTENSIONS: &[Offer] = &[
    ("cl_khr_3d_image_writes", 0),
    ("cl_khr_global_int32_base_atomics", 0),
    ("cl_khr_global_int32_extended_atomics", 0),
    ("cl_khr_local_int32_base_atomics", 0),
    ("cl_khr_local_int32_extended_atomics", 0),
    ("cl_khr_int64_base_atomics", 0),
    ("cl_khr_int64_extended_atomics", 0),
    ("cl_khr_byte_addressable_store", 0),
    ("cl_khr_fp16", 0),
    ("cl_nv_pragma_unroll", 0),
    ("cl_khr_fp64", 13),
    ("cl_khr_integer_dot_product", 13),
    ("cl_khr_subgroups", WARPS),
    ("cl_khr_subgroup_extended_types", WARPS),
    ("cl_khr_subgroup_non_uniform_vote", WARPS),
    ("cl_khr_subgroup_ballot", WARPS),
    ("cl_khr_subgroup_non_uniform_arithmetic", WARPS),
    ("cl_khr_subgroup_shuffle", WARPS),
    ("cl_khr_subgroup_shuffle_relative", WARPS),
    ("cl_khr_subgroup_clustered_reduce", WARPS),
    ("cl_khr_subgroup_rotate", WARPS),
];

/// The optional features of OpenCL C 3.0 that exist (3.0, 6.2.1): each is a macro.
const FEATURES: &[Offer] = &[
    ("__opencl_c_int64", 0),
    ("__opencl_c_images", 0),
    ("__opencl_c_3d_image_writes", 0),
    ("__opencl_c_read_write_images", 0),
    ("__opencl_c_fp64", 13),
    ("__opencl_c_integer_dot_product_input_4x8bit", 13),
    ("__opencl_c_integer_dot_product_input_4x8bit_packed", 13),
    ("__opencl_c_atomic_order_acq_rel", WARPS),
    ("__opencl_c_atomic_order_seq_cst", WARPS),
    ("__opencl_c_atomic_scope_device", WARPS),
    ("__opencl_c_atomic_scope_all_devices", WARPS),
    ("__opencl_c_generic_address_space", WARPS),
    ("__opencl_c_program_scope_global_variables", WARPS),
    ("__opencl_c_subgroups", WARPS),
    ("__opencl_c_work_group_collective_functions", WARPS),
];

/// The first target whose operations of warps name the threads that take part.
const WARPS: u32 = 70;

fn offered(list: &'static [Offer], sm: u32) -> impl Iterator<Item = &'static str> {
    list.iter().filter(move |(_, least)| sm >= *least).map(|(name, _)| *name)
}

/// Extensions of the language on a target.
pub fn extensions(sm: u32) -> impl Iterator<Item = &'static str> {
    offered(EXTENSIONS, sm)
}

/// Optional features of OpenCL C 3.0 on a target.
pub fn features(sm: u32) -> impl Iterator<Item = &'static str> {
    offered(FEATURES, sm)
}

fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut any) = (false, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                any = true;
            }
            c if c.is_whitespace() && !quoted => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_values() {
        let o =
            Options::parse("-D N=4 -DM -I \"a b\" -Ifoo -cl-fast-relaxed-math -cl-std=CL1.1 -U X")
                .unwrap();
        assert_eq!(o.defines[0], ("N".into(), Some("4".into())));
        assert_eq!(o.defines[1], ("M".into(), Some("1".into())));
        assert_eq!(o.defines[2], ("X".into(), None));
        assert_eq!(o.include_dirs, ["a b", "foo"]);
        assert!(o.fast_relaxed_math && o.mad_enable && o.cl_std == 110);
        assert_eq!(Options::parse("--target sm_13").unwrap().sm, 13);
        assert_eq!(Options::parse("--target=sm_90").unwrap().sm, 90);
        assert_eq!(Options::parse("-frob").unwrap_err().message, "unknown option `-frob`");
        assert_eq!(Options::parse("-arch=sm_14").unwrap_err().message, "unknown target `sm_14`");
    }
}
