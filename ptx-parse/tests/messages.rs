//! What `check` says of beginners' mistakes: the table of docs/messages.md, which has ptxas's words beside ours.

use std::path::Path;

/// The kernel around a line of the table.
fn around(line: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;\n{line}\nret;\n}}\n"
    )
}

/// The first finding in a line, its help behind an arrow, long lists cut.
fn words(line: &str) -> String {
    let (_, diags) = ptx_parse::parse_and_verify(&around(line), "text");
    let Some(first) = diags.iter().find(|d| d.is_error()) else { return "accepted".into() };
    let help =
        first.help.iter().map(|h| if h.len() > 120 { format!("{}…", &h[..60]) } else { h.clone() });
    let all: Vec<String> = std::iter::once(first.message.clone()).chain(help).collect();
    format!(
        "{}{}",
        all.join(" → "),
        if diags.len() > 1 { format!(" (and {} more)", diags.len() - 1) } else { String::new() }
    )
}

#[test]
fn the_table_of_messages_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/messages.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (mut rows, mut helped, mut wrong) = (0, 0, Vec::new());
    let mut now = String::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [code, theirs, ours] = cells[..] else {
            now += &format!("{line}\n");
            continue;
        };
        let Some(code) = code.strip_prefix("| `").and_then(|c| c.strip_suffix('`')) else {
            now += &format!("{line}\n");
            continue;
        };
        let found = words(&code.replace("\\|", "|"));
        rows += 1;
        helped += usize::from(found.contains(" → "));
        now += &format!("| `{code}` | {theirs} | {found} |\n");
        if ours != format!("{found} |") {
            wrong.push(format!("{code}\n  page: {ours}\n  now:  {found}"));
        }
    }
    if std::env::var_os("UPDATE_MESSAGES").is_some() {
        std::fs::write(&path, now).expect("the page can be written");
        return;
    }
    assert!(rows >= 60, "{rows} rows");
    assert!(wrong.is_empty(), "UPDATE_MESSAGES=1 writes them:\n{}", wrong.join("\n"));
    let claim = format!("In {helped} of {rows}");
    assert!(page.contains(&claim), "the page does not say: {claim}");
}
