//! Macros that exist without a `#define` (OpenCL C 1.2, 6.10 and the constants of 6.12 and 6.13).

use super::state::{Body, Macro, Preprocessor};
use crate::options::{extensions, features};
use crate::symbol::{Interner, Symbol, fixed};

/// Constants of the language that are macros, spelled as their replacement.
pub(super) const CONSTANTS: &[(&str, &str)] = &[
    ("CL_VERSION_1_0", "100"),
    ("CL_VERSION_1_1", "110"),
    ("CL_VERSION_1_2", "120"),
    ("CL_VERSION_2_0", "200"),
    ("CL_VERSION_3_0", "300"),
    ("CL_VERSION_2_1", "210"),
    ("CL_VERSION_2_2", "220"),
    ("__OPENCL_VERSION__", "300"),
    ("__ENDIAN_LITTLE__", "1"),
    ("__IMAGE_SUPPORT__", "1"),
    ("__PTXRUN__", "1"),
    ("NULL", "((void*)0)"),
    ("true", "1"),
    ("false", "0"),
    ("kernel_exec", "__kernel_exec"),
    ("CHAR_BIT", "8"),
    ("CHAR_MAX", "127"),
    ("CHAR_MIN", "(-127-1)"),
    ("SCHAR_MAX", "127"),
    ("SCHAR_MIN", "(-127-1)"),
    ("UCHAR_MAX", "255"),
    ("SHRT_MAX", "32767"),
    ("SHRT_MIN", "(-32767-1)"),
    ("USHRT_MAX", "65535"),
    ("INT_MAX", "2147483647"),
    ("INT_MIN", "(-2147483647-1)"),
    ("UINT_MAX", "0xffffffffU"),
    ("LONG_MAX", "0x7fffffffffffffffL"),
    ("LONG_MIN", "(-0x7fffffffffffffffL-1L)"),
    ("ULONG_MAX", "0xffffffffffffffffUL"),
    ("FLT_DIG", "6"),
    ("FLT_MANT_DIG", "24"),
    ("FLT_MAX_10_EXP", "+38"),
    ("FLT_MAX_EXP", "+128"),
    ("FLT_MIN_10_EXP", "-37"),
    ("FLT_MIN_EXP", "-125"),
    ("FLT_RADIX", "2"),
    ("FLT_MAX", "0x1.fffffep127f"),
    ("FLT_MIN", "0x1.0p-126f"),
    ("FLT_EPSILON", "0x1.0p-23f"),
    ("DBL_DIG", "15"),
    ("DBL_MANT_DIG", "53"),
    ("DBL_MAX_10_EXP", "+308"),
    ("DBL_MAX_EXP", "+1024"),
    ("DBL_MIN_10_EXP", "-307"),
    ("DBL_MIN_EXP", "-1021"),
    ("DBL_RADIX", "2"),
    ("DBL_MAX", "0x1.fffffffffffffp1023"),
    ("DBL_MIN", "0x1.0p-1022"),
    ("DBL_EPSILON", "0x1.0p-52"),
    ("HALF_DIG", "3"),
    ("HALF_MANT_DIG", "11"),
    ("HALF_MAX_10_EXP", "+4"),
    ("HALF_MAX_EXP", "+16"),
    ("HALF_MIN_10_EXP", "-4"),
    ("HALF_MIN_EXP", "-13"),
    ("HALF_RADIX", "2"),
    ("MAXFLOAT", "0x1.fffffep127f"),
    ("HUGE_VALF", "__builtin_inff()"),
    ("HUGE_VAL", "__builtin_inf()"),
    ("INFINITY", "__builtin_inff()"),
    ("NAN", "__builtin_nanf()"),
    ("M_E", "2.7182818284590452354"),
    ("M_LOG2E", "1.4426950408889634074"),
    ("M_LOG10E", "0.43429448190325182765"),
    ("M_LN2", "0.69314718055994530942"),
    ("M_LN10", "2.30258509299404568402"),
    ("M_PI", "3.14159265358979323846"),
    ("M_PI_2", "1.57079632679489661923"),
    ("M_PI_4", "0.78539816339744830962"),
    ("M_1_PI", "0.31830988618379067154"),
    ("M_2_PI", "0.63661977236758134308"),
    ("M_2_SQRTPI", "1.12837916709551257390"),
    ("M_SQRT2", "1.41421356237309504880"),
    ("M_SQRT1_2", "0.70710678118654752440"),
    ("M_E_F", "2.7182818284590452354f"),
    ("M_LOG2E_F", "1.4426950408889634074f"),
    ("M_LOG10E_F", "0.43429448190325182765f"),
    ("M_LN2_F", "0.69314718055994530942f"),
    ("M_LN10_F", "2.30258509299404568402f"),
    ("M_PI_F", "3.14159265358979323846f"),
    ("M_PI_2_F", "1.57079632679489661923f"),
    ("M_PI_4_F", "0.78539816339744830962f"),
    ("M_1_PI_F", "0.31830988618379067154f"),
    ("M_2_PI_F", "0.63661977236758134308f"),
    ("M_2_SQRTPI_F", "1.12837916709551257390f"),
    ("M_SQRT2_F", "1.41421356237309504880f"),
    ("M_SQRT1_2_F", "0.70710678118654752440f"),
    ("M_E_H", "2.7182818284590452354h"),
    ("M_LOG2E_H", "1.4426950408889634074h"),
    ("M_LOG10E_H", "0.43429448190325182765h"),
    ("M_LN2_H", "0.69314718055994530942h"),
    ("M_LN10_H", "2.30258509299404568402h"),
    ("M_PI_H", "3.14159265358979323846h"),
    ("M_PI_2_H", "1.57079632679489661923h"),
    ("M_PI_4_H", "0.78539816339744830962h"),
    ("M_1_PI_H", "0.31830988618379067154h"),
    ("M_2_PI_H", "0.63661977236758134308h"),
    ("M_2_SQRTPI_H", "1.12837916709551257390h"),
    ("M_SQRT2_H", "1.41421356237309504880h"),
    ("M_SQRT1_2_H", "0.70710678118654752440h"),
    ("FP_ILOGB0", "(-2147483647-1)"),
    ("FP_ILOGBNAN", "2147483647"),
    ("FP_FAST_FMAF", "1"),
    ("FP_FAST_FMA", "1"),
    ("CLK_LOCAL_MEM_FENCE", "1"),
    ("CLK_GLOBAL_MEM_FENCE", "2"),
    ("CLK_ADDRESS_NONE", "0"),
    ("CLK_ADDRESS_CLAMP_TO_EDGE", "2"),
    ("CLK_ADDRESS_CLAMP", "4"),
    ("CLK_ADDRESS_REPEAT", "6"),
    ("CLK_ADDRESS_MIRRORED_REPEAT", "8"),
    ("CLK_NORMALIZED_COORDS_FALSE", "0"),
    ("CLK_NORMALIZED_COORDS_TRUE", "1"),
    ("CLK_FILTER_NEAREST", "16"),
    ("CLK_FILTER_LINEAR", "32"),
    ("CLK_R", "0x10B0"),
    ("CLK_A", "0x10B1"),
    ("CLK_RG", "0x10B2"),
    ("CLK_RA", "0x10B3"),
    ("CLK_RGB", "0x10B4"),
    ("CLK_RGBA", "0x10B5"),
    ("CLK_BGRA", "0x10B6"),
    ("CLK_ARGB", "0x10B7"),
    ("CLK_INTENSITY", "0x10B8"),
    ("CLK_LUMINANCE", "0x10B9"),
    ("CLK_Rx", "0x10BA"),
    ("CLK_RGx", "0x10BB"),
    ("CLK_RGBx", "0x10BC"),
    ("CLK_DEPTH", "0x10BD"),
    ("CLK_sRGB", "0x10BF"),
    ("CLK_sRGBx", "0x10C0"),
    ("CLK_sRGBA", "0x10C1"),
    ("CLK_sBGRA", "0x10C2"),
    ("CLK_ABGR", "0x10C3"),
    ("CLK_SNORM_INT8", "0x10D0"),
    ("CLK_SNORM_INT16", "0x10D1"),
    ("CLK_UNORM_INT8", "0x10D2"),
    ("CLK_UNORM_INT16", "0x10D3"),
    ("CLK_UNORM_SHORT_565", "0x10D4"),
    ("CLK_UNORM_SHORT_555", "0x10D5"),
    ("CLK_UNORM_INT_101010", "0x10D6"),
    ("CLK_SIGNED_INT8", "0x10D7"),
    ("CLK_SIGNED_INT16", "0x10D8"),
    ("CLK_SIGNED_INT32", "0x10D9"),
    ("CLK_UNSIGNED_INT8", "0x10DA"),
    ("CLK_UNSIGNED_INT16", "0x10DB"),
    ("CLK_UNSIGNED_INT32", "0x10DC"),
    ("CLK_HALF_FLOAT", "0x10DD"),
    ("CLK_FLOAT", "0x10DE"),
    ("HALF_MAX", "0x1.ffcp15h"),
    ("HALF_MIN", "0x1.0p-14h"),
    ("HALF_EPSILON", "0x1.0p-10h"),
];

/// Constants of OpenCL C 2.0: orders and scopes of atomic functions, as clang numbers them.
const ORDERS: &[(&str, &str)] = &[
    ("memory_order_relaxed", "0"),
    ("memory_order_acquire", "2"),
    ("memory_order_release", "3"),
    ("memory_order_acq_rel", "4"),
    ("memory_order_seq_cst", "5"),
    ("memory_scope_work_item", "0"),
    ("memory_scope_work_group", "1"),
    ("memory_scope_device", "2"),
    ("memory_scope_all_svm_devices", "3"),
    ("memory_scope_all_devices", "3"),
    ("memory_scope_sub_group", "4"),
    ("ATOMIC_FLAG_INIT", "0"),
    ("CLK_IMAGE_MEM_FENCE", "4"),
];

/// Gives the constants successive symbols, of which it returns the first.
pub(super) fn intern_constants(names: &mut Interner) -> Symbol {
    let symbols: Vec<Symbol> = CONSTANTS.iter().map(|(name, _)| names.intern(name)).collect();
    symbols[0]
}

impl Preprocessor<'_> {
    /// The macro of a name. A constant becomes one when it is first looked for: most programs use few.
    pub(super) fn find_macro(&mut self, name: Symbol) -> Option<&Macro> {
        let number = name.0.wrapping_sub(self.first_constant.0) as usize;
        if let Some(loaded) = self.loaded.get_mut(number)
            && !std::mem::replace(loaded, true)
        {
            self.insert_predefined(name, None, Body::Text(CONSTANTS[number].1.into()));
        }
        self.macros.get(&name)
    }

    pub(super) fn define_predefined(&mut self) {
        let (fast, finite) =
            (self.session.options.fast_relaxed_math, self.session.options.finite_math_only);
        let (version, sm) = (self.session.options.cl_std, self.session.options.sm);
        let mut list: Vec<(&str, String)> = Vec::new();
        list.push(("__OPENCL_C_VERSION__", version.to_string()));
        list.push(("__PTX_SM__", sm.to_string()));
        let flag = |on: bool| u32::from(on).to_string();
        list.push(("__PTX_GLOBAL_OFFSET__", flag(self.session.options.global_offset)));
        list.push(("__PTX_REST_GROUPS__", flag(self.session.options.has_rest_groups())));
        list.push(("__PTX_CORRECT_DIVIDE__", flag(self.session.options.divides_exactly())));
        list.push(("__PTX_HOST__", flag(self.session.options.on_host)));
        // Of the optional features of OpenCL C 3.0, those that exist here (3.0, 6.2.1).
        if version >= 300 {
            list.extend(features(sm).map(|name| (name, "1".into())));
        }
        if version >= 200 {
            list.extend(ORDERS.iter().map(|(name, text)| (*name, text.to_string())));
        }
        list.extend(extensions(sm).map(|name| (name, "1".into())));
        if fast {
            list.push(("__FAST_RELAXED_MATH__", "1".into()));
        }
        if finite {
            list.push(("__FINITE_MATH_ONLY__", "1".into()));
        }
        for (name, text) in list {
            let sym = self.session.names.intern(name);
            self.insert_predefined(sym, None, Body::Text(text.into()));
        }
        self.insert_predefined(fixed::FILE_MACRO, None, Body::File);
        self.insert_predefined(fixed::LINE_MACRO, None, Body::Line);
        self.insert_predefined(fixed::COUNTER, None, Body::Counter);
        let parameters = ["X", "T"].map(|p| self.session.names.intern(p));
        let text = "__kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(T)))";
        self.insert_predefined(
            fixed::KERNEL_EXEC,
            Some(parameters.as_slice().into()),
            Body::Text(text.into()),
        );
        if version >= 200 {
            let value = self.session.names.intern("V");
            let name = self.session.names.intern("ATOMIC_VAR_INIT");
            let params = Some([value].as_slice().into());
            self.insert_predefined(name, params, Body::Text("(V)".into()));
        }
    }

    fn insert_predefined(
        &mut self,
        name: Symbol,
        params: Option<std::rc::Rc<[Symbol]>>,
        body: Body,
    ) {
        let predefined =
            Macro { params, variadic: false, body, active: 0, predefined: true, defined_at: None };
        self.macros.insert(name, predefined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_successive_symbols() {
        let mut names = Interner::default();
        let first = intern_constants(&mut names);
        for (i, (name, _)) in CONSTANTS.iter().enumerate() {
            assert_eq!(names.find(name), Some(Symbol(first.0 + i as u32)), "{name}");
        }
    }
}
