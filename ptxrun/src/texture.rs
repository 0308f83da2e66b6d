//! Makes the textures of a plan on a device.

use std::sync::Arc;

use ptx_runtime::isa::texture::{Address, Channel, Texels, Texture};
use ptx_runtime::{Context, MemoryError, Module};

use crate::plan::{self, Coordinates, Filter, Layout, Read};
use crate::values::ElementType;

/// Why a texture cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TextureError {
    /// No room for its texels.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The module has no variable to bind it to.
    #[error("the module has no variable `{0}` to bind it to")]
    NoVariable(String),
    /// A type that texels do not have.
    #[error("texels cannot be {0}")]
    Format(ElementType),
}

fn channel(ty: ElementType) -> Result<Channel, TextureError> {
    Ok(match ty {
        ElementType::U8 => Channel::U8,
        ElementType::U16 => Channel::U16,
        ElementType::U32 => Channel::U32,
        ElementType::S8 => Channel::S8,
        ElementType::S16 => Channel::S16,
        ElementType::S32 => Channel::S32,
        ElementType::F16 => Channel::F16,
        ElementType::F32 => Channel::F32,
        other => return Err(TextureError::Format(other)),
    })
}

/// Makes a texture and binds it where the plan says so; its handle.
pub fn create(
    context: &Context,
    module: &Module,
    plan: &plan::Texture,
) -> Result<u64, TextureError> {
    let size = &plan.size[..usize::from(plan.dimensions)];
    let address = match plan.address {
        plan::Address::Clamp => Address::Clamp,
        plan::Address::Border => Address::Border,
        plan::Address::Wrap => Address::Wrap,
        plan::Address::Mirror => Address::Mirror,
    };
    let texels = if plan.layout == Layout::Linear { &[][..] } else { &plan.bytes };
    let mut texture = Texture::array(size, channel(plan.format)?, plan.channels, texels);
    if plan.layout == Layout::Linear {
        let pointer = context.alloc_named(plan.bytes.len() as u64, &plan.name)?;
        context.copy_to_device(pointer, &plan.bytes)?;
        let pitch = plan.size[0] as u64 * texture.texel_bytes() as u64;
        texture.texels = Texels::Memory { address: pointer.0, pitch };
    }
    texture.address = [address; 3];
    texture.linear = plan.filter == Filter::Linear;
    texture.normalized = plan.coordinates == Coordinates::Normalized;
    texture.read_normalized = plan.read == Read::Normalized;
    let texture = Arc::new(texture);
    if let Some(variable) = &plan.bind {
        let (address, _) =
            module.global(variable).ok_or_else(|| TextureError::NoVariable(variable.clone()))?;
        context.bind_object(address, Arc::clone(&texture));
    }
    Ok(context.add_object(texture))
}
