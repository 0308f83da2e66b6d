//! The kinds of entries, with the attributes of each in the order in which they are written.

/// Number, tag, whether it has entries inside, and attributes with their forms.
pub type Abbreviation = (u8, u8, bool, &'static [(u16, u8)]);

// Forms.
const ADDR: u8 = 0x01;
const DATA2: u8 = 0x05;
const DATA4: u8 = 0x06;
const STRING: u8 = 0x08;
const BLOCK1: u8 = 0x0a;
const DATA1: u8 = 0x0b;
const FLAG: u8 = 0x0c;
const REF4: u8 = 0x13;

// Attributes.
const LOCATION: (u16, u8) = (0x02, BLOCK1);
const NAME: (u16, u8) = (0x03, STRING);
const SIZE: (u16, u8) = (0x0b, DATA4);
const LOW_PC: (u16, u8) = (0x11, ADDR);
const HIGH_PC: (u16, u8) = (0x12, ADDR);
const CLASS: (u16, u8) = (0x33, DATA1);
const CLASS4: (u16, u8) = (0x33, DATA4);
const TYPE: (u16, u8) = (0x49, REF4);
const RANGES: (u16, u8) = (0x55, DATA4);
const ORIGIN: (u16, u8) = (0x31, REF4);
const CALL_FILE: (u16, u8) = (0x58, DATA1);
const CALL_LINE: (u16, u8) = (0x59, DATA4);
const UPPER_BOUND: (u16, u8) = (0x2f, DATA4);

pub const UNIT: u8 = 1;
pub const FUNCTION: u8 = 2;
pub const PARAMETER: u8 = 3;
pub const VARIABLE: u8 = 4;
pub const BLOCK: u8 = 5;
pub const BLOCK_OF_PIECES: u8 = 6;
pub const INLINED: u8 = 7;
pub const INLINED_OF_PIECES: u8 = 8;
pub const INLINED_FUNCTION: u8 = 9;
pub const BASE: u8 = 10;
pub const POINTER: u8 = 11;
pub const POINTER_TO_VOID: u8 = 12;
pub const ARRAY: u8 = 13;
pub const VECTOR: u8 = 14;
pub const EXTENT: u8 = 15;
pub const STRUCTURE: u8 = 16;
pub const UNION: u8 = 17;
pub const MEMBER: u8 = 18;
pub const CONST: u8 = 19;
pub const DECLARED: u8 = 20;

/// All of them.
pub const TABLE: &[Abbreviation] = &[
    // Producer, language, name, lines, folder.
    (
        UNIT,
        0x11,
        true,
        &[(0x25, STRING), (0x13, DATA2), NAME, (0x10, DATA4), (0x1b, STRING), LOW_PC],
    ),
    // Linkage name, name, frame base, external.
    (
        FUNCTION,
        0x2e,
        true,
        &[LOW_PC, HIGH_PC, (0x2007, STRING), NAME, (0x40, BLOCK1), (0x3f, FLAG)],
    ),
    (PARAMETER, 0x05, false, &[LOCATION, CLASS, NAME, TYPE]),
    (VARIABLE, 0x34, false, &[LOCATION, CLASS, NAME, TYPE]),
    (BLOCK, 0x0b, true, &[LOW_PC, HIGH_PC]),
    (BLOCK_OF_PIECES, 0x0b, true, &[RANGES]),
    (INLINED, 0x1d, true, &[ORIGIN, CALL_FILE, CALL_LINE, LOW_PC, HIGH_PC]),
    (INLINED_OF_PIECES, 0x1d, true, &[ORIGIN, CALL_FILE, CALL_LINE, RANGES]),
    (INLINED_FUNCTION, 0x2e, false, &[NAME, (0x20, DATA1)]),
    (BASE, 0x24, false, &[NAME, (0x3e, DATA1), (0x0b, DATA1)]),
    (POINTER, 0x0f, false, &[TYPE, CLASS4]),
    (POINTER_TO_VOID, 0x0f, false, &[CLASS4]),
    (ARRAY, 0x01, true, &[TYPE, SIZE]),
    // DW_AT_GNU_vector
    (VECTOR, 0x01, true, &[TYPE, SIZE, (0x2107, FLAG)]),
    (EXTENT, 0x21, false, &[UPPER_BOUND]),
    (STRUCTURE, 0x13, true, &[NAME, SIZE]),
    (UNION, 0x17, true, &[NAME, SIZE]),
    (MEMBER, 0x0d, false, &[NAME, TYPE, (0x38, BLOCK1)]),
    (CONST, 0x26, false, &[TYPE]),
    // DW_AT_declaration
    (DECLARED, 0x13, false, &[NAME, (0x3c, FLAG)]),
];

/// The bytes of an entry of the table.
pub fn bytes((number, tag, inside, attributes): &Abbreviation) -> Vec<u8> {
    let mut out = vec![*number, *tag, u8::from(*inside)];
    for (attribute, form) in *attributes {
        if *attribute >= 0x80 {
            out.push(*attribute as u8 & 0x7f | 0x80);
            out.push((*attribute >> 7) as u8);
        } else {
            out.push(*attribute as u8);
        }
        out.push(*form);
    }
    out.extend([0, 0]);
    out
}
