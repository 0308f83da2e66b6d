//! What debuggers are told of a function: its variables, and the parts of the source in which their names mean them.

use super::op::PrivateVar;

/// A variable of the source.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The function of the program that it belongs to.
    pub function: u32,
    /// Its number there.
    pub local: u32,
    /// Its memory.
    pub private: PrivateVar,
    /// It is a parameter.
    pub is_parameter: bool,
}

/// A part of the source with variables of its own: a function, a block, or a function in the place of its call.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The scope around it; the function itself is number 0, around which there is none.
    pub parent: Option<u32>,
    /// The function of the program whose body this is, in the place of a call at this location.
    pub inlined: Option<(u32, u32)>,
    /// Variables, in the order of their declarations.
    pub variables: Vec<Variable>,
}

/// Variables and scopes of a function.
#[derive(Clone, Debug)]
pub struct DebugInfo {
    /// Scopes; the first is the function.
    pub scopes: Vec<Scope>,
    /// The scope of each location of the function.
    pub scope_of: Vec<u32>,
    /// Locations of operations that turned out to repeat others: the one that was kept, the one that went.
    pub merged: Vec<(u32, u32)>,
}

impl Default for DebugInfo {
    fn default() -> Self {
        let function = Scope { parent: None, inlined: None, variables: Vec::new() };
        DebugInfo { scopes: vec![function], scope_of: vec![0], merged: Vec::new() }
    }
}
