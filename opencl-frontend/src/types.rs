//! Types of OpenCL C, their layout and their names.

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::symbol::{Interner, Symbol};

/// Arithmetic types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// All of them, in the order of their type numbers.
    pub const ALL: [Scalar; 12] = {
        use Scalar::*;
        [Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64]
    };

    /// Size in bytes.
    pub fn size(self) -> u64 {
        use Scalar::*;
        match self {
            Bool | I8 | U8 => 1,
            I16 | U16 | F16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    /// Width in bits (1 for bool).
    pub fn bits(self) -> u32 {
        if self == Scalar::Bool { 1 } else { self.size() as u32 * 8 }
    }

    /// Floating point.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::F32 | Scalar::F64)
    }

    /// Integer or bool.
    pub fn is_int(self) -> bool {
        !self.is_float()
    }

    /// Signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
    }

    /// The signed integer of the same size.
    pub fn signed(self) -> Scalar {
        match self.size() {
            1 => Scalar::I8,
            2 => Scalar::I16,
            4 => Scalar::I32,
            _ => Scalar::I64,
        }
    }

    /// The unsigned integer of the same size.
    pub fn unsigned(self) -> Scalar {
        match self.size() {
            1 => Scalar::U8,
            2 => Scalar::U16,
            4 => Scalar::U32,
            _ => Scalar::U64,
        }
    }

    /// Conversion rank: orders types for the usual arithmetic conversions.
    pub fn rank(self) -> u32 {
        match self {
            Scalar::Bool => 0,
            Scalar::F16 => 10,
            Scalar::F32 => 11,
            Scalar::F64 => 12,
            Scalar::I8
            | Scalar::U8
            | Scalar::I16
            | Scalar::U16
            | Scalar::I32
            | Scalar::U32
            | Scalar::I64
            | Scalar::U64 => self.size() as u32,
        }
    }

    /// Name in OpenCL C.
    pub fn name(self) -> &'static str {
        use Scalar::*;
        match self {
            Bool => "bool",
            I8 => "char",
            U8 => "uchar",
            I16 => "short",
            U16 => "ushort",
            I32 => "int",
            U32 => "uint",
            I64 => "long",
            U64 => "ulong",
            F16 => "half",
            F32 => "float",
            F64 => "double",
        }
    }
}

/// Address spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Space {
    Private,
    Global,
    Local,
    Constant,
    /// Any of the three that can be written; only pointers have it.
    Generic,
}

impl Space {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Space::Private => "__private",
            Space::Global => "__global",
            Space::Local => "__local",
            Space::Constant => "__constant",
            Space::Generic => "__generic",
        }
    }
}

/// Dimensions of images.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum ImageKind {
    D1,
    D1Buffer,
    D1Array,
    D2,
    D2Array,
    D3,
}

/// What a kernel may do with an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

impl Access {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Access::Read => "__read_only",
            Access::Write => "__write_only",
            Access::ReadWrite => "__read_write",
        }
    }
}

/// An interned type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(pub u32);

/// A struct or union.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StructId(pub u32);

/// A type with qualifiers and the address space that its object lives in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QualType {
    /// The type.
    pub id: TypeId,
    /// `const`
    pub constant: bool,
    /// `volatile`
    pub volatile: bool,
    /// Where the object lives.
    pub space: Space,
}

impl QualType {
    /// An unqualified private type.
    pub fn plain(id: TypeId) -> QualType {
        QualType { id, constant: false, volatile: false, space: Space::Private }
    }

    /// Without qualifiers: the type of a value.
    pub fn value(self) -> QualType {
        QualType::plain(self.id)
    }
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Type {
    /// Stands in after an error; compatible with everything.
    Error,
    Void,
    Scalar(Scalar),
    Vector(Scalar, u8),
    /// An object of atomic functions; its value is a scalar.
    Atomic(Scalar),
    Pointer(QualType),
    Array(QualType, Option<u64>),
    Struct(StructId),
    Image(ImageKind, Access),
    Sampler,
    Event,
    /// Result and parameters; only to give a good message.
    Function(QualType, Box<[QualType]>),
}

/// A member of a struct.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name; `None` for an anonymous struct or union.
    pub name: Option<Symbol>,
    /// Type.
    pub ty: QualType,
    /// Offset in bytes.
    pub offset: u64,
}

/// A struct or union.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Tag.
    pub tag: Option<Symbol>,
    /// A name for messages when there is no tag.
    pub alias: Option<Symbol>,
    /// `union`
    pub is_union: bool,
    /// Members; `None` while only declared.
    pub members: Option<Vec<Member>>,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Where it is defined.
    pub span: Span,
}

/// All types of a compilation.
pub struct Types {
    list: Vec<Type>,
    map: FxHashMap<Type, TypeId>,
    /// Structs and unions.
    pub structs: Vec<Struct>,
    /// Size of a pointer in bytes.
    pub pointer_size: u64,
}

impl TypeId {
    /// The error type.
    pub const ERROR: TypeId = TypeId(0);
    /// `void`
    pub const VOID: TypeId = TypeId(1);
    /// `bool`
    pub const BOOL: TypeId = TypeId(2);
    /// `int`
    pub const INT: TypeId = TypeId(2 + Scalar::I32 as u32);
    /// `uint`
    pub const UINT: TypeId = TypeId(2 + Scalar::U32 as u32);
    /// `char`
    pub const CHAR: TypeId = TypeId(2 + Scalar::I8 as u32);
    /// `float`
    pub const FLOAT: TypeId = TypeId(2 + Scalar::F32 as u32);
}

impl From<Scalar> for TypeId {
    fn from(scalar: Scalar) -> TypeId {
        TypeId(2 + scalar as u32)
    }
}

impl Types {
    /// The built-in types.
    pub fn new(pointer_size: u64) -> Types {
        let mut types = Types {
            list: Vec::new(),
            map: FxHashMap::default(),
            structs: Vec::new(),
            pointer_size,
        };
        types.intern(Type::Error);
        types.intern(Type::Void);
        for scalar in Scalar::ALL {
            types.intern(Type::Scalar(scalar));
        }
        types
    }

    /// The number of a type.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.map.get(&ty) {
            return id;
        }
        let id = TypeId(self.list.len() as u32);
        self.list.push(ty.clone());
        self.map.insert(ty, id);
        id
    }

    /// What a type is.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.list[id.0 as usize]
    }

    /// A vector of `n` components; the scalar itself for one.
    pub fn vector(&mut self, scalar: Scalar, n: u8) -> TypeId {
        if n == 1 { scalar.into() } else { self.intern(Type::Vector(scalar, n)) }
    }

    /// A pointer to `to`.
    pub fn pointer(&mut self, to: QualType) -> TypeId {
        self.intern(Type::Pointer(to))
    }

    /// The integer type of `size_t`.
    pub fn size_type(&self) -> Scalar {
        if self.pointer_size == 8 { Scalar::U64 } else { Scalar::U32 }
    }

    /// Component type and count of a scalar (1) or vector.
    pub fn lanes(&self, id: TypeId) -> Option<(Scalar, u8)> {
        match *self.get(id) {
            Type::Scalar(s) => Some((s, 1)),
            Type::Vector(s, n) => Some((s, n)),
            _ => None,
        }
    }

    /// The scalar type, if it is one.
    pub fn scalar(&self, id: TypeId) -> Option<Scalar> {
        match *self.get(id) {
            Type::Scalar(s) => Some(s),
            _ => None,
        }
    }

    /// What a pointer points to.
    pub fn pointee(&self, id: TypeId) -> Option<QualType> {
        match *self.get(id) {
            Type::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// True for the stand-in after an error.
    pub fn is_error(&self, id: TypeId) -> bool {
        id == TypeId::ERROR
    }

    /// True for a vector.
    pub fn is_vector(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Vector(..))
    }

    /// True for a struct, union or array.
    pub fn is_aggregate(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Struct(_) | Type::Array(..))
    }

    /// Size in bytes; `None` for incomplete types.
    pub fn size(&self, id: TypeId) -> Option<u64> {
        Some(match *self.get(id) {
            Type::Error => 4,
            Type::Void | Type::Function(..) => return None,
            Type::Scalar(s) | Type::Atomic(s) => s.size(),
            Type::Vector(s, n) => s.size() * if n == 3 { 4 } else { u64::from(n) },
            Type::Pointer(_) | Type::Event => self.pointer_size,
            Type::Image(..) => self.pointer_size,
            Type::Sampler => 4,
            Type::Array(element, n) => self.size(element.id)?.checked_mul(n?)?,
            Type::Struct(s) => {
                let s = &self.structs[s.0 as usize];
                s.members.as_ref()?;
                s.size
            }
        })
    }

    /// Alignment in bytes.
    pub fn align(&self, id: TypeId) -> u64 {
        match *self.get(id) {
            Type::Array(element, _) => self.align(element.id),
            Type::Struct(s) => self.structs[s.0 as usize].align,
            Type::Error
            | Type::Void
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Atomic(_)
            | Type::Pointer(_)
            | Type::Image(..)
            | Type::Sampler
            | Type::Event
            | Type::Function(..) => self.size(id).unwrap_or(1),
        }
    }

    /// The type as the user would write it.
    pub fn name(&self, ty: QualType, names: &Interner) -> String {
        let mut out = String::new();
        if ty.space != Space::Private {
            out.push_str(ty.space.name());
            out.push(' ');
        }
        if ty.constant && ty.space != Space::Constant {
            out.push_str("const ");
        }
        if ty.volatile {
            out.push_str("volatile ");
        }
        match self.get(ty.id) {
            Type::Error => out.push_str("<error>"),
            Type::Void => out.push_str("void"),
            Type::Scalar(s) => out.push_str(s.name()),
            Type::Atomic(s) => out.push_str(&format!("atomic_{}", s.name())),
            Type::Vector(s, n) => out.push_str(&format!("{}{n}", s.name())),
            Type::Pointer(to) => {
                let inner = self.name(*to, names);
                let star = if inner.ends_with('*') { "*" } else { " *" };
                if ty.constant {
                    return format!("{inner}{star}const");
                }
                return format!("{inner}{star}");
            }
            Type::Array(element, n) => {
                // Extents read from the outside in.
                let mut inner = *element;
                let mut extents = n.map_or("[]".into(), |n| format!("[{n}]"));
                while let Type::Array(e, n) = self.get(inner.id) {
                    extents.push_str(&n.map_or("[]".into(), |n| format!("[{n}]")));
                    inner = *e;
                }
                out.push_str(&self.name(inner.value(), names));
                out.push_str(&extents);
            }
            Type::Struct(s) => {
                let s = &self.structs[s.0 as usize];
                let word = if s.is_union { "union" } else { "struct" };
                match (s.tag, s.alias) {
                    (Some(tag), _) => out.push_str(&format!("{word} {}", names.text(tag))),
                    (None, Some(alias)) => out.push_str(names.text(alias)),
                    _ => out.push_str(&format!("anonymous {word}")),
                }
            }
            Type::Image(kind, access) => {
                if *access != Access::Read {
                    out.push_str(access.name());
                    out.push(' ');
                }
                out.push_str(match kind {
                    ImageKind::D1 => "image1d_t",
                    ImageKind::D1Buffer => "image1d_buffer_t",
                    ImageKind::D1Array => "image1d_array_t",
                    ImageKind::D2 => "image2d_t",
                    ImageKind::D2Array => "image2d_array_t",
                    ImageKind::D3 => "image3d_t",
                });
            }
            Type::Sampler => out.push_str("sampler_t"),
            Type::Event => out.push_str("event_t"),
            Type::Function(result, params) => {
                let params: Vec<String> = params.iter().map(|p| self.name(*p, names)).collect();
                out.push_str(&format!("{} ({})", self.name(*result, names), params.join(", ")));
            }
        }
        out
    }

    /// The members of a struct, looked up through anonymous ones: offset and type.
    pub fn find_member(&self, id: StructId, name: Symbol) -> Option<(u64, QualType)> {
        for member in self.structs[id.0 as usize].members.as_ref()? {
            if member.name == Some(name) {
                return Some((member.offset, member.ty));
            }
            if let (None, Type::Struct(inner)) = (member.name, self.get(member.ty.id))
                && let Some((offset, ty)) = self.find_member(*inner, name)
            {
                return Some((member.offset + offset, ty));
            }
        }
        None
    }
}

/// The built-in type that a name stands for.
pub fn builtin_type(name: &str, types: &mut Types) -> Option<TypeId> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 {
        let (base, count) = name.split_at(name.len() - digits);
        let n: u8 = count
            .parse()
            .ok()
            .filter(|n| matches!(n, 2 | 3 | 4 | 8 | 16))
            .filter(|_| !count.starts_with('0'))?;
        let scalar = Scalar::ALL.into_iter().find(|s| s.name() == base && *s != Scalar::Bool)?;
        return Some(types.vector(scalar, n));
    }
    Some(match name {
        "uchar" => Scalar::U8.into(),
        "ushort" => Scalar::U16.into(),
        "uint" => Scalar::U32.into(),
        "ulong" => Scalar::U64.into(),
        "size_t" | "uintptr_t" => types.size_type().into(),
        "ptrdiff_t" | "intptr_t" => types.size_type().signed().into(),
        "event_t" => types.intern(Type::Event),
        "sampler_t" => types.intern(Type::Sampler),
        "image1d_t" => types.intern(Type::Image(ImageKind::D1, Access::Read)),
        "image1d_buffer_t" => types.intern(Type::Image(ImageKind::D1Buffer, Access::Read)),
        "image1d_array_t" => types.intern(Type::Image(ImageKind::D1Array, Access::Read)),
        "image2d_t" => types.intern(Type::Image(ImageKind::D2, Access::Read)),
        "image2d_array_t" => types.intern(Type::Image(ImageKind::D2Array, Access::Read)),
        "image3d_t" => types.intern(Type::Image(ImageKind::D3, Access::Read)),
        "cl_mem_fence_flags" => TypeId::UINT,
        "memory_order" | "memory_scope" => TypeId::INT,
        "atomic_flag" => types.intern(Type::Atomic(Scalar::I32)),
        _ if name.starts_with("atomic_") => {
            let inner = &name["atomic_".len()..];
            let keyword = Scalar::ALL.into_iter().find(|s| s.name() == inner);
            let id = keyword.map_or_else(|| builtin_type(inner, types), |s| Some(s.into()))?;
            let scalar = types.scalar(id)?;
            types.intern(Type::Atomic(scalar))
        }
        _ => return None,
    })
}

/// Names of the types that OpenCL C 2.0 adds.
pub const TYPES_OF_2_0: &[&str] = &[
    "atomic_int",
    "atomic_uint",
    "atomic_long",
    "atomic_ulong",
    "atomic_float",
    "atomic_double",
    "atomic_size_t",
    "atomic_uintptr_t",
    "atomic_intptr_t",
    "atomic_ptrdiff_t",
    "atomic_flag",
    "memory_order",
    "memory_scope",
];

/// Names of the built-in types that are not keywords.
pub fn builtin_type_names() -> &'static [String] {
    static NAMES: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names: Vec<String> = [
            "uchar",
            "ushort",
            "uint",
            "ulong",
            "size_t",
            "uintptr_t",
            "ptrdiff_t",
            "intptr_t",
            "event_t",
            "sampler_t",
            "image1d_t",
            "image1d_buffer_t",
            "image1d_array_t",
            "image2d_t",
            "image2d_array_t",
            "image3d_t",
            "cl_mem_fence_flags",
        ]
        .map(str::to_string)
        .to_vec();
        for scalar in &Scalar::ALL[1..] {
            names.extend([2, 3, 4, 8, 16].map(|n| format!("{}{n}", scalar.name())));
        }
        names
    })
}
