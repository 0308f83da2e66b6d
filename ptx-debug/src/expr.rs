//! Expressions over registers, variables and memory: `%tid.x == 3 && %r5 > 10`, `tile[4][2]`,
//! `*(.shared f32 *)%r7`. This file reads them; `eval` computes them.

use ptx_isa::{Space, Ty};

use crate::error::Error;

/// An expression as written.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A whole number.
    Int(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// A register, special register, variable or parameter.
    Name(String),
    /// An operator before its operand.
    Unary(Unary, Box<Expr>),
    /// An operator between its operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `a.b`, and `a->b`.
    Member(Box<Expr>, String),
    /// `(f32) a`: the value in another type.
    Cast(Ty, Box<Expr>),
    /// `(f32 *) a` and `(.shared f32 *) a`.
    Pointer(Space, Ty, Box<Expr>),
}

/// Operators before their operand.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `*`
    Load,
}

/// Operators between operands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Binary {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
}

/// Operators by their text, and how strongly they bind. Longer texts come first.
const OPERATORS: &[(&str, Binary, u8)] = &[
    ("||", Binary::Or, 1),
    ("&&", Binary::And, 2),
    ("==", Binary::Equal, 6),
    ("!=", Binary::Unequal, 6),
    ("<<", Binary::ShiftLeft, 8),
    (">>", Binary::ShiftRight, 8),
    ("<=", Binary::LessEqual, 7),
    (">=", Binary::GreaterEqual, 7),
    ("<", Binary::Less, 7),
    (">", Binary::Greater, 7),
    ("|", Binary::BitOr, 3),
    ("^", Binary::BitXor, 4),
    ("&", Binary::BitAnd, 5),
    ("+", Binary::Plus, 9),
    ("-", Binary::Minus, 9),
    ("*", Binary::Times, 10),
    ("/", Binary::Divide, 10),
    ("%", Binary::Modulo, 10),
];

/// Reads an expression.
///
/// # Errors
/// The column and what is wrong there.
pub fn parse(text: &str) -> Result<Expr, Error> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let expr = reader.binary(1)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("an operator or the end is expected here"));
    }
    Ok(expr)
}

/// The type that a name means, of those that values can have.
pub fn value_type(name: &str) -> Option<Ty> {
    let ty = match name {
        "char" => Ty::S8,
        "uchar" => Ty::U8,
        "short" => Ty::S16,
        "ushort" => Ty::U16,
        "int" => Ty::S32,
        "uint" | "unsigned" => Ty::U32,
        "long" => Ty::S64,
        "ulong" => Ty::U64,
        "half" => Ty::F16,
        "float" => Ty::F32,
        "double" => Ty::F64,
        other => Ty::parse(other.trim_start_matches('.'))?,
    };
    let known = [
        Ty::Pred,
        Ty::B8,
        Ty::B16,
        Ty::B32,
        Ty::B64,
        Ty::U8,
        Ty::U16,
        Ty::U32,
        Ty::U64,
        Ty::S8,
        Ty::S16,
        Ty::S32,
        Ty::S64,
        Ty::F16,
        Ty::Bf16,
        Ty::F32,
        Ty::F64,
    ];
    known.contains(&ty).then_some(ty)
}

/// The state space of a name such as `shared`.
pub fn space(name: &str) -> Option<Space> {
    Some(match name.trim_start_matches('.') {
        "generic" => Space::Generic,
        "global" => Space::Global,
        "shared" => Space::Shared,
        "cluster" => Space::SharedCluster,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" => Space::ParamEntry,
        _ => return None,
    })
}

/// Nesting that an expression may have.
const DEEPEST: u32 = 100;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn wrong(&self, message: impl Into<String>) -> Error {
        let column = self.text[..self.at].chars().count() + 1;
        Error::Expression { column, message: message.into() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, text: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), Error> {
        match self.take(text) {
            true => Ok(()),
            false => Err(self.wrong(format!("`{text}` is missing here"))),
        }
    }

    fn word(&mut self, also: &[char]) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || also.contains(&c)));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn binary(&mut self, least: u8) -> Result<Expr, Error> {
        let mut left = self.unary()?;
        loop {
            self.blanks();
            let rest = self.rest();
            let Some(&(text, op, binds)) = OPERATORS.iter().find(|(t, _, _)| rest.starts_with(t))
            else {
                return Ok(left);
            };
            if binds < least {
                return Ok(left);
            }
            self.at += text.len();
            let right = self.binary(binds + 1)?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Expr, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("the expression is nested too deeply"));
        }
        self.blanks();
        let ops =
            [("-", Unary::Minus), ("!", Unary::Not), ("~", Unary::Complement), ("*", Unary::Load)];
        let found = ops.iter().find(|(text, _)| self.rest().starts_with(text));
        let expr = match found {
            Some((text, op)) => {
                self.at += text.len();
                Expr::Unary(*op, Box::new(self.unary()?))
            }
            None => match self.cast()? {
                Some(cast) => cast,
                None => self.postfix()?,
            },
        };
        self.depth -= 1;
        Ok(expr)
    }

    /// `(type) a`, `(type *) a`, `(.space type *) a`.
    fn cast(&mut self) -> Result<Option<Expr>, Error> {
        let start = self.at;
        if !self.take("(") {
            return Ok(None);
        }
        self.blanks();
        let first = self.word(&['.']);
        let named = space(first).filter(|_| first.starts_with('.'));
        let name = match named {
            Some(_) => {
                self.blanks();
                self.word(&['.'])
            }
            None => first,
        };
        let Some(ty) = value_type(name) else {
            if named.is_some() {
                return Err(self.wrong("a type is expected here, such as f32"));
            }
            self.at = start;
            return Ok(None);
        };
        let pointer = self.take("*");
        self.expect(")")?;
        let of = Box::new(self.unary()?);
        Ok(Some(match (pointer, named) {
            (true, space) => Expr::Pointer(space.unwrap_or(Space::Generic), ty, of),
            (false, None) => Expr::Cast(ty, of),
            (false, Some(_)) => {
                return Err(self.wrong("a state space goes with a pointer: (.shared f32 *)"));
            }
        }))
    }

    fn postfix(&mut self) -> Result<Expr, Error> {
        let mut expr = self.primary()?;
        loop {
            if self.take("[") {
                let index = self.binary(1)?;
                self.expect("]")?;
                expr = Expr::Index(Box::new(expr), Box::new(index));
            } else if self.take("->") || self.take(".") {
                let name = self.word(&[]);
                if name.is_empty() {
                    return Err(self.wrong("a member's name is expected here"));
                }
                expr = Expr::Member(Box::new(expr), name.into());
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Error> {
        self.blanks();
        if self.take("(") {
            let inner = self.binary(1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let rest = self.rest();
        match rest.chars().next() {
            Some(c) if c.is_ascii_digit() => self.number(),
            Some('%') => {
                self.at += 1;
                Ok(Expr::Name(format!("%{}", self.word(&['$', '.']))))
            }
            Some(c) if c.is_alphabetic() || c == '_' || c == '$' => {
                Ok(Expr::Name(self.word(&['$']).into()))
            }
            _ => Err(self.wrong("a number, a name or `(` is expected here")),
        }
    }

    fn number(&mut self) -> Result<Expr, Error> {
        let start = self.at;
        let rest = self.rest();
        if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let digits = hex.len() - hex.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
            self.at += 2 + digits;
            return u64::from_str_radix(&hex[..digits], 16)
                .map(|v| Expr::Int(v as i64))
                .map_err(|_| self.wrong("this number does not fit 64 bits"));
        }
        let mut end = 0;
        let mut last = ' ';
        for (n, c) in rest.char_indices() {
            let sign = (c == '-' || c == '+') && matches!(last, 'e' | 'E');
            if !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || sign) {
                break;
            }
            (end, last) = (n + 1, c);
        }
        let text = &rest[..end];
        self.at += end;
        let wrong = |_| {
            let column = start + 1;
            Error::Expression { column, message: format!("`{text}` is no number") }
        };
        if text.contains(['.', 'e', 'E']) {
            return text.parse().map(Expr::Float).map_err(|_| wrong(()));
        }
        text.parse().map(|v: u64| Expr::Int(v as i64)).map_err(|_| wrong(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: &str) -> Box<Expr> {
        Box::new(Expr::Name(n.into()))
    }

    #[test]
    fn operators_bind_as_in_c() {
        let text = "%tid.x == 3 && %r5 > 10";
        let eq = Expr::Binary(Binary::Equal, name("%tid.x"), Box::new(Expr::Int(3)));
        let gt = Expr::Binary(Binary::Greater, name("%r5"), Box::new(Expr::Int(10)));
        assert_eq!(parse(text).unwrap(), Expr::Binary(Binary::And, Box::new(eq), Box::new(gt)));
        let text = "1 - 2 - 3";
        let first = Expr::Binary(Binary::Minus, Box::new(Expr::Int(1)), Box::new(Expr::Int(2)));
        let all = Expr::Binary(Binary::Minus, Box::new(first), Box::new(Expr::Int(3)));
        assert_eq!(parse(text).unwrap(), all);
    }

    #[test]
    fn pointers_and_casts() {
        let text = "*(.shared f32 *)%r7";
        let p = Expr::Pointer(Space::Shared, Ty::F32, name("%r7"));
        assert_eq!(parse(text).unwrap(), Expr::Unary(Unary::Load, Box::new(p)));
        assert_eq!(parse("(u32)%r1").unwrap(), Expr::Cast(Ty::U32, name("%r1")));
        assert_eq!(parse("(%r1)").unwrap(), *name("%r1"));
        assert_eq!(parse("0x10").unwrap(), Expr::Int(16));
        assert_eq!(parse("1.5e3").unwrap(), Expr::Float(1500.0));
    }

    #[test]
    fn mistakes_have_a_column() {
        for (text, at) in [("%r1 +", 6), ("(1", 3), ("1 2", 3), ("a[1", 4), ("(.shared q *)1", 11)]
        {
            match parse(text) {
                Err(Error::Expression { column, .. }) => assert_eq!(column, at, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(parse(&"(".repeat(1000)).is_err());
    }
}
