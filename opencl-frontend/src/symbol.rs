//! Interned strings. Punctuators and keywords have fixed symbols, so that later stages compare small numbers.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// An interned string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub u32);

macro_rules! fixed_symbols {
    ($($name:ident $text:literal)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Index { $($name),* }
        /// Symbols whose number is known at compile time.
        pub mod fixed {
            use crate::symbol::{Index, Symbol};
            $(#[doc = concat!("`", $text, "`")] pub const $name: Symbol = Symbol(Index::$name as u32);)*
        }
        const FIXED: &[&str] = &[$($text),*];
    };
}

fixed_symbols! {
    LPAREN "(" RPAREN ")" LBRACE "{" RBRACE "}" LBRACKET "[" RBRACKET "]" SEMI ";" COMMA ","
    DOT "." ARROW "->" ELLIPSIS "..." COLON ":" QUESTION "?"
    PLUS "+" MINUS "-" STAR "*" SLASH "/" PERCENT "%" AMP "&" PIPE "|" CARET "^" TILDE "~" BANG "!"
    SHL "<<" SHR ">>" LT "<" GT ">" LE "<=" GE ">=" EQEQ "==" NE "!=" ANDAND "&&" OROR "||"
    INC "++" DEC "--" ASSIGN "=" PLUS_EQ "+=" MINUS_EQ "-=" STAR_EQ "*=" SLASH_EQ "/=" PERCENT_EQ "%="
    AMP_EQ "&=" PIPE_EQ "|=" CARET_EQ "^=" SHL_EQ "<<=" SHR_EQ ">>=" HASH "#" HASHHASH "##"
    BREAK "break" CASE "case" CHAR "char" CONST "const" CONTINUE "continue" DEFAULT "default" DO "do"
    DOUBLE "double" ELSE "else" ENUM "enum" EXTERN "extern" FLOAT "float" FOR "for" GOTO "goto" IF "if"
    INLINE "inline" INT "int" LONG "long" RESTRICT "restrict" RETURN "return" SHORT "short" SIGNED "signed"
    SIZEOF "sizeof" STATIC "static" STRUCT "struct" SWITCH "switch" TYPEDEF "typedef" UNION "union"
    UNSIGNED "unsigned" VOID "void" VOLATILE "volatile" WHILE "while" BOOL "bool" HALF "half" AUTO "auto"
    REGISTER "register" KERNEL "__kernel" GLOBAL "__global" LOCAL "__local" CONSTANT "__constant"
    PRIVATE "__private" READ_ONLY "__read_only" WRITE_ONLY "__write_only" READ_WRITE "__read_write"
    ATTRIBUTE "__attribute__" ALIGNOF "__alignof__" VEC_STEP "vec_step" GENERIC "__generic"
    ASM "asm" AS_TYPE "__builtin_astype" CONVERT_VECTOR "__builtin_convertvector" OFFSETOF "__builtin_offsetof"
    LAST_KEYWORD ""
    // Spellings with the meaning of an earlier keyword.
    KERNEL_ALIAS "kernel" GLOBAL_ALIAS "global" LOCAL_ALIAS "local" CONSTANT_ALIAS "constant"
    PRIVATE_ALIAS "private" READ_ONLY_ALIAS "read_only" WRITE_ONLY_ALIAS "write_only"
    READ_WRITE_ALIAS "read_write" INLINE_ALIAS "__inline" INLINE_ALIAS2 "__inline__" RESTRICT_ALIAS "__restrict"
    RESTRICT_ALIAS2 "__restrict__" VOLATILE_ALIAS "__volatile__" VOLATILE_ALIAS2 "__volatile" CONST_ALIAS "__const"
    ATTRIBUTE_ALIAS "__attribute" SIGNED_ALIAS "__signed__" ALIGNOF_ALIAS "__alignof" BOOL_ALIAS "_Bool"
    ASM_ALIAS "__asm__" ASM_ALIAS2 "__asm"
    LAST_ALIAS " "
    DEFINE "define" UNDEF "undef" INCLUDE "include" IFDEF "ifdef" IFNDEF "ifndef" ELIF "elif" ENDIF "endif"
    LINE "line" ERROR "error" WARNING "warning" PRAGMA "pragma" DEFINED "defined" PRAGMA_OPERATOR "_Pragma"
    VA_ARGS "__VA_ARGS__" FILE_MACRO "__FILE__" LINE_MACRO "__LINE__" KERNEL_EXEC "__kernel_exec"
    FUNC_NAME "__func__" COUNTER "__COUNTER__"
    ONCE "once" UNROLL "unroll" NOUNROLL "nounroll" OPENCL "OPENCL" EXTENSION "EXTENSION" FP_CONTRACT "FP_CONTRACT"
    ON "ON" OFF "OFF" ENABLE "enable" DISABLE "disable" REQUIRE "require" ALL "all" STDC "STDC"
    SIZE_T "size_t" EMPTY_STRING "\"\"" ONE "1" ZERO "0"
    UCHAR "uchar" USHORT "ushort" UINT "uint" ULONG "ulong" PTRDIFF_T "ptrdiff_t" INTPTR_T "intptr_t"
    UINTPTR_T "uintptr_t" EVENT_T "event_t" SAMPLER_T "sampler_t"
}

impl Symbol {
    /// True for a keyword of the language, in its canonical or an alternative spelling.
    pub fn is_keyword(self) -> bool {
        (fixed::BREAK.0..fixed::LAST_ALIAS.0).contains(&self.0) && self != fixed::LAST_KEYWORD
    }

    /// The canonical keyword of an alternative spelling such as `kernel` or `__inline`.
    pub fn canonical_keyword(self) -> Symbol {
        use fixed::*;
        match self {
            KERNEL_ALIAS => KERNEL,
            GLOBAL_ALIAS => GLOBAL,
            LOCAL_ALIAS => LOCAL,
            CONSTANT_ALIAS => CONSTANT,
            PRIVATE_ALIAS => PRIVATE,
            READ_ONLY_ALIAS => READ_ONLY,
            WRITE_ONLY_ALIAS => WRITE_ONLY,
            READ_WRITE_ALIAS => READ_WRITE,
            INLINE_ALIAS | INLINE_ALIAS2 => INLINE,
            RESTRICT_ALIAS | RESTRICT_ALIAS2 => RESTRICT,
            VOLATILE_ALIAS | VOLATILE_ALIAS2 => VOLATILE,
            CONST_ALIAS => CONST,
            ATTRIBUTE_ALIAS => ATTRIBUTE,
            SIGNED_ALIAS => SIGNED,
            ALIGNOF_ALIAS => ALIGNOF,
            BOOL_ALIAS => BOOL,
            ASM_ALIAS | ASM_ALIAS2 => ASM,
            other => other,
        }
    }
}

/// The table of interned strings.
pub struct Interner {
    /// All texts, one behind the other.
    bytes: String,
    /// Where each ends.
    ends: Vec<u32>,
    /// Open addressing: a symbol's number plus one, at the first free place from its hash on.
    table: Vec<u32>,
}

impl Default for Interner {
    fn default() -> Self {
        let mut interner = Interner {
            bytes: String::with_capacity(8192),
            ends: Vec::with_capacity(1024),
            table: vec![0; 2048],
        };
        for text in FIXED {
            interner.intern(text);
        }
        interner
    }
}

impl Interner {
    /// The symbol of `text`.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let at = match self.locate(text) {
            Ok(symbol) => return symbol,
            Err(at) => at,
        };
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len() as u32);
        self.table[at] = self.ends.len() as u32;
        if self.ends.len() * 2 > self.table.len() {
            self.table = vec![0; self.table.len() * 2];
            for number in 0..self.ends.len() as u32 {
                if let Err(at) = self.locate(self.text(Symbol(number))) {
                    self.table[at] = number + 1;
                }
            }
        }
        Symbol(self.ends.len() as u32 - 1)
    }

    /// The symbol of `text`, or where in the table it belongs.
    fn locate(&self, text: &str) -> Result<Symbol, usize> {
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        let mask = self.table.len() - 1;
        let mut at = hasher.finish() as usize & mask;
        loop {
            match self.table[at] {
                0 => return Err(at),
                number if self.text(Symbol(number - 1)) == text => return Ok(Symbol(number - 1)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The symbol of `text` if it has been interned.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.locate(text).ok()
    }

    /// The text of `symbol`.
    pub fn text(&self, symbol: Symbol) -> &str {
        let number = symbol.0 as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[number] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_symbols_keep_their_numbers() {
        let mut interner = Interner::default();
        assert_eq!(interner.intern("("), fixed::LPAREN);
        assert_eq!(interner.intern("uintptr_t"), fixed::UINTPTR_T);
        assert!(
            fixed::BREAK.is_keyword()
                && fixed::GENERIC.is_keyword()
                && fixed::BOOL_ALIAS.is_keyword()
        );
        assert!(!fixed::DEFINE.is_keyword() && !fixed::HASHHASH.is_keyword());
        assert_eq!(interner.intern("kernel").canonical_keyword(), fixed::KERNEL);
    }
}
