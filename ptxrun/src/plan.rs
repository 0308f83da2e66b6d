//! What one run does: buffers, textures, launches and checks, whether they came from the command line or a launch file.

use crate::values::ElementType;

/// Buffers and textures to make, launches to run in order, results to check.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Device buffers.
    pub buffers: Vec<Buffer>,
    /// Textures and surfaces.
    pub textures: Vec<Texture>,
    /// Launches, run one after the other.
    pub launches: Vec<PlannedLaunch>,
    /// What must hold after the last launch.
    pub checks: Vec<Check>,
}

/// A device buffer with its contents before the first launch.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name in the launch file, or `argument N` of the command line.
    pub name: String,
    /// The type of its elements, where one was given.
    pub ty: Option<ElementType>,
    /// Dimensions in elements, where they are known from a `.npy` file.
    pub shape: Option<Vec<usize>>,
    /// Initial contents.
    pub bytes: Vec<u8>,
}

/// How a coordinate outside the texture is brought inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Address {
    /// The nearest texel.
    #[default]
    Clamp,
    /// Zeros.
    Border,
    /// Repeated; normalised coordinates only.
    Wrap,
    /// Repeated mirrored; normalised coordinates only.
    Mirror,
}

/// How texels are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// The texel that holds the coordinate.
    #[default]
    Point,
    /// Weighted by distance.
    Linear,
}

/// What a fetch returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Read {
    /// The texel as it is stored.
    #[default]
    Element,
    /// An integer texel as a float in `[0, 1]` or `[-1, 1]`.
    Normalized,
}

/// The unit of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coordinates {
    /// Texels.
    #[default]
    Texel,
    /// `[0, 1)` over the whole texture.
    Normalized,
}

/// How the texels lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// An array of one to three dimensions.
    #[default]
    Array,
    /// A plain buffer, fetched by integer index.
    Linear,
}

/// A texture or surface with its texels.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Its name in the launch file.
    pub name: String,
    /// Width, height and depth; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// How many dimensions were given.
    pub dimensions: u8,
    /// Type of a channel.
    pub format: ElementType,
    /// Channels per texel: 1, 2 or 4.
    pub channels: u8,
    /// Memory layout.
    pub layout: Layout,
    /// Address mode of every dimension.
    pub address: Address,
    /// Filter.
    pub filter: Filter,
    /// What a fetch returns.
    pub read: Read,
    /// Unit of coordinates.
    pub coordinates: Coordinates,
    /// The module's `.texref`, `.surfref` or `.tex` variable to which it is bound, if any.
    pub bind: Option<String>,
    /// Texels, x fastest.
    pub bytes: Vec<u8>,
}

/// One kernel launch.
#[derive(Clone, Debug)]
pub struct PlannedLaunch {
    /// Entry name.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Arguments in the order of the parameters.
    pub args: Vec<Arg>,
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A number of that type.
    Scalar {
        /// Its type.
        ty: ElementType,
        /// Its bytes, little-endian.
        bytes: Vec<u8>,
    },
    /// The bytes of a structure passed by value.
    Bytes(Vec<u8>),
    /// The address of a buffer, plus an offset in bytes.
    Buffer {
        /// Index into [`Plan::buffers`].
        index: usize,
        /// Byte offset.
        offset: u64,
    },
    /// The handle of a texture or surface: index into [`Plan::textures`].
    Texture(usize),
}

/// What must hold after the last launch.
#[derive(Clone, Debug)]
pub enum Check {
    /// A buffer equals these bytes, or is near them.
    Buffer {
        /// Index into [`Plan::buffers`].
        index: usize,
        /// How the elements are read.
        ty: ElementType,
        /// Expected contents.
        expected: Vec<u8>,
        /// Greatest accepted error.
        tolerance: Tolerance,
    },
    /// What the kernels printed.
    Stdout {
        /// Expected text.
        expected: Vec<u8>,
    },
}

/// An element passes when `|found - expected| <= abs + rel * |expected|`; both zero means equal bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Relative part.
    pub rel: f64,
    /// Absolute part.
    pub abs: f64,
}
