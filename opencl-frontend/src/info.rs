//! What a host asks about kernels: `clGetKernelInfo`, `clGetKernelArgInfo`, `clGetKernelWorkGroupInfo`.

use crate::sema::hir::{Function, FunctionId, Program};
use crate::symbol::Interner;
use crate::types::{Access, QualType, Space, Type};

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelInfo {
    /// Name, which is also the name of the entry.
    pub name: String,
    /// Arguments in order; each is one parameter of the entry.
    pub args: Vec<ArgInfo>,
    /// `reqd_work_group_size`
    pub required_size: Option<[u32; 3]>,
    /// `work_group_size_hint`
    pub size_hint: Option<[u32; 3]>,
    /// The type of `vec_type_hint`.
    pub vec_type_hint: Option<String>,
    /// Bytes of the `__local` variables that the kernel declares; arguments come on top.
    pub local_bytes: u64,
    /// It does the same whatever the size of its work-groups, as far as the compiler sees.
    pub any_group: bool,
    /// The last work-group of a dimension may be smaller than the others.
    pub rest_groups: bool,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgInfo {
    /// Name.
    pub name: String,
    /// Type as `CL_KERNEL_ARG_TYPE_NAME` has it, without address space and qualifiers: `float4*`.
    pub type_name: String,
    /// What the host passes.
    pub kind: ArgKind,
    /// `const` of what it points to.
    pub is_const: bool,
    /// `volatile` of what it points to.
    pub is_volatile: bool,
    /// `restrict`
    pub is_restrict: bool,
}

/// What a host passes for an argument, and how the entry takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A value of this size and alignment.
    Value {
        /// Bytes.
        size: u64,
        /// Alignment in bytes.
        align: u64,
    },
    /// A buffer: its 64-bit address in global memory.
    Global,
    /// A buffer of constants: its 64-bit address in global memory.
    Constant,
    /// A size: the host places the block in the work-group's shared memory, behind `local_bytes` and aligned, and
    /// passes its 64-bit offset there.
    Local {
        /// Alignment in bytes.
        align: u64,
    },
    /// An image that is read: the address of its descriptor (docs/opencl.md).
    ReadImage,
    /// An image that is written: the address of its descriptor.
    WriteImage,
    /// An image that is read and written: the address of its descriptor.
    ReadWriteImage,
    /// A sampler: 32 bits (docs/opencl.md).
    Sampler,
}

impl KernelInfo {
    /// The attributes as `CL_KERNEL_ATTRIBUTES` has them: separated by blanks.
    pub fn attributes(&self) -> String {
        let mut out = Vec::new();
        let sizes = |name: &str, [x, y, z]: [u32; 3]| format!("{name}({x},{y},{z})");
        out.extend(self.required_size.map(|s| sizes("reqd_work_group_size", s)));
        out.extend(self.size_hint.map(|s| sizes("work_group_size_hint", s)));
        out.extend(self.vec_type_hint.as_ref().map(|t| format!("vec_type_hint({t})")));
        out.join(" ")
    }
}

/// Information on all kernels of a program.
pub(crate) fn kernels(program: &Program, names: &Interner) -> Vec<KernelInfo> {
    let kernels = program.functions.iter().enumerate();
    let kernels = kernels.filter(|(_, f)| f.is_kernel && f.body.is_some());
    kernels.map(|(i, f)| kernel(program, names, FunctionId(i as u32), f)).collect()
}

fn kernel(program: &Program, names: &Interner, id: FunctionId, f: &Function) -> KernelInfo {
    let args = f.params.iter().zip(&f.locals).map(|(ty, local)| {
        let to = program.types.pointee(ty.id);
        ArgInfo {
            name: names.text(local.name).to_string(),
            type_name: type_name(program, names, *ty),
            kind: kind(program, *ty),
            is_const: to.is_some_and(|t| t.constant || t.space == Space::Constant),
            is_volatile: to.is_some_and(|t| t.volatile),
            is_restrict: local.restrict,
        }
    });
    let mut local_bytes = 0u64;
    for global in program.globals.iter().filter(|g| g.owner == Some(id)) {
        local_bytes = local_bytes.next_multiple_of(global.align.max(1));
        local_bytes += program.types.size(global.ty.id).unwrap_or(0);
    }
    let hint = f.attributes.vec_type_hint;
    KernelInfo {
        name: names.text(f.name).to_string(),
        args: args.collect(),
        required_size: f.attributes.required_size,
        size_hint: f.attributes.size_hint,
        vec_type_hint: hint.map(|id| program.types.name(QualType::plain(id), names)),
        local_bytes,
        any_group: false,
        rest_groups: false,
    }
}

fn kind(program: &Program, ty: QualType) -> ArgKind {
    let types = &program.types;
    match *types.get(ty.id) {
        Type::Pointer(to) => match to.space {
            Space::Local => ArgKind::Local { align: types.align(to.id).max(1) },
            Space::Constant => ArgKind::Constant,
            Space::Global | Space::Private | Space::Generic => ArgKind::Global,
        },
        Type::Image(_, Access::Read) => ArgKind::ReadImage,
        Type::Image(_, Access::Write) => ArgKind::WriteImage,
        Type::Image(_, Access::ReadWrite) => ArgKind::ReadWriteImage,
        Type::Sampler => ArgKind::Sampler,
        Type::Error
        | Type::Void
        | Type::Scalar(_)
        | Type::Atomic(_)
        | Type::Vector(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Event
        | Type::Function(..) => {
            ArgKind::Value { size: types.size(ty.id).unwrap_or(0), align: types.align(ty.id) }
        }
    }
}

/// Without address spaces, qualifiers and blanks.
fn type_name(program: &Program, names: &Interner, ty: QualType) -> String {
    match *program.types.get(ty.id) {
        Type::Pointer(to) => format!("{}*", type_name(program, names, to)),
        Type::Image(kind, _) => {
            let mut types = crate::types::Types::new(program.types.pointer_size);
            let plain = types.intern(Type::Image(kind, Access::Read));
            types.name(QualType::plain(plain), names)
        }
        _ => program.types.name(ty.value(), names),
    }
}
