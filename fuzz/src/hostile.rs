//! Inputs made to take long, as long as one likes: what is repeated, by a name.

use std::fmt::Write as _;

/// A kind of hostile input.
pub struct Hostile {
    /// What is repeated.
    pub name: &'static str,
    /// The target that takes it.
    pub target: &'static str,
    /// Repetitions from which growth shows and which take little time.
    pub n: usize,
    /// The input of so many repetitions.
    pub make: fn(usize) -> Vec<u8>,
}

/// Every kind.
pub const HOSTILE: &[Hostile] = &[
    Hostile {
        name: "braces",
        target: "verify",
        n: 4000,
        make: |n| ptx(&[&many(n, |_| "{".into()), &many(n, |_| "}".into())]),
    },
    Hostile {
        name: "blocks with labels",
        target: "verify",
        n: 2000,
        make: |n| ptx(&[&many(n, |i| format!("{{ L{i}: }}\n"))]),
    },
    Hostile {
        name: "unknown names",
        target: "verify",
        n: 1000,
        make: |n| ptx(&[&many(n, |i| format!("add.u32 %r1, x{i}, 1;\n"))]),
    },
    Hostile {
        name: "unknown labels",
        target: "verify",
        n: 1000,
        make: |n| ptx(&[&many(n, |i| format!("bra L{i};\n"))]),
    },
    Hostile {
        name: "nested loops",
        target: "verify",
        n: 1000,
        make: |n| {
            ptx(&[
                &many(n, |i| format!("L{i}:\n")),
                &many(n, |i| format!("@%p bra L{};\n", n - 1 - i)),
            ])
        },
    },
    Hostile {
        name: "crossing loops",
        target: "verify",
        n: 1000,
        make: |n| {
            ptx(&[&many(n, |i| format!("L{i}:\n")), &many(n, |i| format!("@%p bra L{i};\n"))])
        },
    },
    Hostile {
        name: "forward branches",
        target: "verify",
        n: 1000,
        make: |n| {
            ptx(&[
                &many(n, |i| format!("@%p bra L{i};\nadd.u32 %r1, %r1, %r2;\n")),
                &many(n, |i| format!("L{i}:\n")),
            ])
        },
    },
    Hostile {
        name: "directives",
        target: "verify",
        n: 2000,
        make: |n| {
            head(&format!(".visible .entry k() {} {{ ret; }}", many(n, |_| ".maxnreg 32 ".into())))
        },
    },
    Hostile {
        name: "declarations again",
        target: "verify",
        n: 1000,
        make: |n| ptx(&[&many(n, |_| ".reg .u32 x;\n".into())]),
    },
    Hostile {
        name: "registers",
        target: "verify",
        n: 2000,
        make: |n| ptx(&[&many(n, |i| format!(".reg .u32 y{i};\nmov.u32 y{i}, 1;\n"))]),
    },
    Hostile {
        name: "functions",
        target: "verify",
        n: 1000,
        make: |n| {
            head(&format!(
                "{}.visible .entry k() {{ {} ret; }}",
                many(n, |i| format!(".func f{i}() {{ ret; }}\n")),
                many(n, |i| format!("call f{i}, ();\n"))
            ))
        },
    },
    Hostile {
        name: "functions in a chain",
        target: "verify",
        n: 300,
        make: |n| {
            head(&format!(
                ".func f0() {{ ret; }}\n{}.visible .entry k() {{ call f{}; ret; }}",
                many(n, |i| format!(".func f{}() {{ call f{i}; ret; }}\n", i + 1)),
                n
            ))
        },
    },
    Hostile {
        name: "variables",
        target: "verify",
        n: 2000,
        make: |n| head(&many(n, |i| format!(".shared .b32 s{i};\n"))),
    },
    Hostile {
        name: "entries",
        target: "verify",
        n: 500,
        make: |n| head(&many(n, |i| format!(".visible .entry k{i}() {{ ret; }}\n"))),
    },
    Hostile {
        name: "initial values",
        target: "verify",
        n: 4000,
        make: |n| head(&format!(".global .u32 a[] = {{ {} 1 }};", many(n, |_| "1, ".into()))),
    },
    Hostile {
        name: "parentheses of a constant",
        target: "verify",
        n: 500,
        make: |n| {
            head(&format!(
                ".global .u32 a = {}1{};",
                many(n, |_| "(".into()),
                many(n, |_| ")".into())
            ))
        },
    },
    Hostile {
        name: "comments",
        target: "verify",
        n: 20_000,
        make: |n| ptx(&[&many(n, |_| "/**/".into())]),
    },
    Hostile {
        name: "one long name",
        target: "verify",
        n: 40_000,
        make: |n| ptx(&[&format!("bra {};", many(n, |_| "a".into()))]),
    },
    Hostile {
        name: "debug lines",
        target: "verify",
        n: 2000,
        make: |n| ptx(&[&many(n, |i| format!(".loc 1 {} 1\n", i + 1))]),
    },
    Hostile {
        name: "texts to link",
        target: "link",
        n: 300,
        make: |n| {
            [
                head(&many(n, |i| format!(".visible .func f{i}() {{ ret; }}\n"))),
                head(&many(n, |i| format!(".extern .func f{i}();\n"))),
            ]
            .join(&0)
        },
    },
    Hostile {
        name: "undeclared names",
        target: "opencl",
        n: 300,
        make: |n| cl(&many(n, |i| format!("o[{i}] = undeclared_{i};\n"))),
    },
    Hostile {
        name: "conditionals",
        target: "opencl",
        n: 100,
        make: |n| cl(&format!("o[0] = {}0;", many(n, |i| format!("a > {i} ? o[{i}] : ")))),
    },
    Hostile {
        name: "cases on a line, -g",
        target: "opencl",
        n: 500,
        make: |n| {
            let all = many(n, |i| format!("case {i}: o[1] = {i}; break; "));
            let text =
                format!("__kernel void k(__global int *o, int a) {{ switch (a) {{ {all} }} }}");
            // The byte of options asks for lines of the source in the PTX.
            format!("\x46{text}").into_bytes()
        },
    },
    Hostile {
        name: "cases",
        target: "opencl",
        n: 500,
        make: |n| {
            cl(&format!(
                "switch (a) {{ {} }}",
                many(n, |i| format!("case {}: o[1] = {i}; break;\n", i * 7))
            ))
        },
    },
    Hostile {
        name: "calls in a chain",
        target: "opencl",
        n: 200,
        make: |n| {
            let functions =
                many(n, |i| format!("int f{}(int a) {{ return f{i}(a) + 1; }}\n", i + 1));
            source(&format!(
                "int f0(int a) {{ return a; }}\n{functions}__kernel void k(__global int *o, int a) {{ o[0] = f{n}(a); }}"
            ))
        },
    },
    // A parameter that many blocks hand on before they find that it never changes.
    Hostile {
        name: "joins",
        target: "opencl",
        n: 100,
        make: |n| {
            cl(&format!(
                "int x = a; while (o[2]) {{ {} }} o[0] = x;",
                many(n, |i| format!("if (o[{i}]) {{ o[1] = {i}; x += 0; }}\n"))
            ))
        },
    },
    Hostile {
        name: "sums",
        target: "opencl",
        n: 400,
        make: |n| cl(&format!("o[0] = a{};", many(n, |i| format!(" + o[{i}]")))),
    },
    Hostile {
        name: "parentheses",
        target: "opencl",
        n: 50,
        make: |n| cl(&format!("o[0] = {}a{};", many(n, |_| "(".into()), many(n, |_| ")".into()))),
    },
    Hostile {
        name: "blocks",
        target: "opencl",
        n: 50,
        make: |n| cl(&format!("{}o[0] = a;{}", many(n, |_| "{".into()), many(n, |_| "}".into()))),
    },
    Hostile {
        name: "macros in a chain",
        target: "opencl",
        n: 300,
        make: |n| {
            source(&format!(
                "#define M0 1\n{}__kernel void k(__global int *o) {{ o[0] = M{n}; }}",
                many(n, |i| format!("#define M{} M{i}\n", i + 1))
            ))
        },
    },
    Hostile {
        name: "nested #if",
        target: "opencl",
        n: 500,
        make: |n| {
            source(&format!("{}{}", many(n, |_| "#if 1\n".into()), many(n, |_| "#endif\n".into())))
        },
    },
    Hostile {
        name: "kernels",
        target: "opencl",
        n: 50,
        make: |n| {
            source(&many(n, |i| format!("__kernel void k{i}(__global int *o) {{ o[0] = {i}; }}\n")))
        },
    },
    Hostile {
        name: "structures",
        target: "opencl",
        n: 200,
        make: |n| source(&many(n, |i| format!("struct s{i} {{ int a; float b; }};\n"))),
    },
    Hostile { name: "errors", target: "opencl", n: 300, make: |n| cl(&many(n, |_| "+;\n".into())) },
    Hostile {
        name: "buffers of a launch file",
        target: "launch",
        n: 200,
        make: |n| many(n, |i| format!("[buffer.b{i}]\ntype = \"u32\"\nlen = 4\n")).into_bytes(),
    },
    Hostile {
        name: "brackets of a launch file",
        target: "launch",
        n: 40,
        make: |n| {
            format!("a = {}{}", many(n, |_| "[".into()), many(n, |_| "]".into())).into_bytes()
        },
    },
    Hostile {
        name: "dimensions of an array",
        target: "npy",
        n: 2000,
        make: |n| {
            let header = format!(
                "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}\n",
                many(n, |_| "1, ".into())
            );
            let length = (header.len() as u16).to_le_bytes();
            [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), &[0; 4]].concat()
        },
    },
    Hostile {
        name: "entries of a fat binary",
        target: "fatbin",
        n: 500,
        make: |n| {
            let mut entry = [0u8; 64];
            (entry[0], entry[2], entry[4], entry[28]) = (1, 1, 64, 90);
            let body = entry.repeat(n);
            let mut all = 0xba55_ed50u32.to_le_bytes().to_vec();
            all.extend([1, 0, 16, 0]);
            all.extend((body.len() as u64).to_le_bytes());
            all.extend(body);
            all
        },
    },
];

/// So many pieces of text.
fn many(n: usize, piece: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    for i in 0..n {
        let _ = write!(all, "{}", piece(i));
    }
    all
}

/// A module.
fn head(body: &str) -> Vec<u8> {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}\n").into_bytes()
}

/// A module with one kernel.
fn ptx(parts: &[&str]) -> Vec<u8> {
    head(&format!(
        ".visible .entry k() {{\n.reg .pred %p; .reg .u32 %r<4>;\n{}\nret; }}",
        parts.concat()
    ))
}

/// A source, with the byte of options before it.
fn source(text: &str) -> Vec<u8> {
    format!("\x06{text}").into_bytes()
}

/// A source with one kernel.
fn cl(body: &str) -> Vec<u8> {
    source(&format!("__kernel void k(__global int *o, int a) {{\n{body}\n}}"))
}
