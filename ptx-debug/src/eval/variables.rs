//! Variables of the source in expressions.

use ptx_isa::{Space, Ty};

use super::{Binary, Class, Compiled, Node, compile, whole_index};
use crate::code::{At, CodeMap};
use crate::dwarf::{Array, Leaf};
use crate::error::Error;
use crate::expr::Expr;
use crate::source::{Path, Site, component, path};

/// The variable, member or element that an expression names; none if it names none that debug information tells of.
pub(super) fn named_by(expr: &Expr, code: &CodeMap, at: At) -> Option<Result<Compiled, Error>> {
    let named = path(expr)?;
    if let Some(leaf) = code.leaf(at, &named.text) {
        return behind(leaf, &named, code, at);
    }
    // An element that holds one value, or a component of a vector.
    let (of, last) = match expr {
        Expr::Index(of, _) => (path(of)?, None),
        Expr::Member(of, name) => (path(of)?, Some(name)),
        _ => return None,
    };
    let leaf = code.leaf(at, &of.text)?;
    let array = leaf.array.as_ref()?;
    let ty = array.element?;
    let offset = match last {
        None => None,
        Some(name) if array.vector => match component(name).filter(|n| *n < array.count) {
            Some(n) => Some(n * array.stride),
            None => {
                let text = format!("`{}` has no component `{name}`", leaf.path);
                return Some(Err(Error::Evaluate(text)));
            }
        },
        Some(_) => return None,
    };
    let (space, start) = match address(leaf, code, at.0) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    let used = if last.is_some() { &of } else { &named };
    let node = match with_indices(start, used, code, at)? {
        Ok(node) => plus(node, Node::Const(offset.unwrap_or(0))),
        Err(error) => return Some(Err(error)),
    };
    Some(Ok(Compiled { node: Node::Load(space, ty, Box::new(node)), ty, array: None }))
}

/// A variable, so far behind its place as the indices say; none where one of them is not an array's.
fn behind(
    leaf: &Leaf,
    named: &Path<'_>,
    code: &CodeMap,
    at: At,
) -> Option<Result<Compiled, Error>> {
    if named.indices.is_empty() {
        return Some(of_source(leaf, code, at.0));
    }
    let (space, start) = match address(leaf, code, at.0) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    Some(with_indices(start, named, code, at)?.map(|node| at_address(leaf, space, node)))
}

/// The address so far behind another one as the indices say; none where one of them is not an array's.
fn with_indices(
    mut node: Node,
    named: &Path<'_>,
    code: &CodeMap,
    at: At,
) -> Option<Result<Node, Error>> {
    for (before, index) in &named.indices {
        let array = code.leaf(at, before)?.array.as_ref()?;
        match offset(array, before, index, code, at) {
            Ok(offset) => node = plus(node, offset),
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(node))
}

/// Bytes from the start of an array to the element of an index.
fn offset(array: &Array, name: &str, index: &Expr, code: &CodeMap, at: At) -> Result<Node, Error> {
    let index = compile(index, code, at)?;
    let known = index.constant();
    let index = whole_index(index)?;
    if let Some(n) = known.filter(|n| *n >= array.count) {
        let text = format!("`{name}` has {} elements: there is no {}", array.count, n as i64);
        return Err(Error::Evaluate(text));
    }
    let stride = Node::Const(array.stride);
    Ok(Node::Binary(Binary::Times, Class::Signed, Box::new(index), Box::new(stride)))
}

fn plus(node: Node, more: Node) -> Node {
    match more {
        Node::Const(0) => node,
        more => Node::Binary(Binary::Plus, Class::Signed, Box::new(node), Box::new(more)),
    }
}

fn nowhere(leaf: &Leaf) -> Error {
    Error::Evaluate(format!("the code does not say where `{}` is", leaf.path))
}

/// A variable of the source. That of an array or vector is its address.
pub(crate) fn of_source(leaf: &Leaf, code: &CodeMap, function: u32) -> Result<Compiled, Error> {
    if leaf.array.is_some() {
        let (space, node) = address(leaf, code, function)?;
        return Ok(at_address(leaf, space, node));
    }
    let node = at_site(code.site(function, &leaf.home).ok_or_else(|| nowhere(leaf))?, leaf.ty);
    let array = leaf.points_to.map(|(space, ty)| (space, ty, 0));
    Ok(Compiled { node, ty: leaf.ty, array })
}

/// A variable at an address.
fn at_address(leaf: &Leaf, space: Space, node: Node) -> Compiled {
    match &leaf.array {
        Some(array) => {
            let element = array.element.unwrap_or(Ty::B8);
            let bytes = array.count * array.stride / u64::from(element.bits().div_ceil(8));
            Compiled { node, ty: Ty::U64, array: Some((space, element, bytes)) }
        }
        None => {
            let array = leaf.points_to.map(|(space, ty)| (space, ty, 0));
            Compiled { node: Node::Load(space, leaf.ty, Box::new(node)), ty: leaf.ty, array }
        }
    }
}

/// The space and address of a variable.
fn address(leaf: &Leaf, code: &CodeMap, function: u32) -> Result<(Space, Node), Error> {
    match code.site(function, &leaf.home).ok_or_else(|| nowhere(leaf))? {
        Site::Register(name, _) => {
            Err(Error::Evaluate(format!("`{}` is in register {name}", leaf.path)))
        }
        Site::Memory(space, at) => Ok((space, Node::Const(at))),
        Site::Frame(at) => Ok((Space::Local, Node::Frame(at))),
        Site::Pointed(at, space, offset) => {
            Ok((space, plus(at_site(*at, Ty::U64), Node::Const(offset))))
        }
    }
}

/// The value that is kept there.
fn at_site(site: Site, ty: Ty) -> Node {
    match site {
        Site::Register(name, r) => Node::Register(r.kind, r.number, ty, name),
        Site::Memory(space, at) => Node::Load(space, ty, Box::new(Node::Const(at))),
        Site::Frame(at) => Node::Load(Space::Local, ty, Box::new(Node::Frame(at))),
        Site::Pointed(at, space, offset) => {
            let start = Box::new(at_site(*at, Ty::U64));
            let offset = Box::new(Node::Const(offset));
            let at = Node::Binary(Binary::Plus, Class::Unsigned, start, offset);
            Node::Load(space, ty, Box::new(at))
        }
    }
}
