//! Writing recordings: the files of a folder that [`Golden::load`](crate::Golden::load) reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::{FormInfo, output_width};

/// An operand table.
#[derive(Clone, Debug)]
pub struct Operands {
    /// 64-bit slots per row.
    pub slots: usize,
    /// The rows, one after the other.
    pub words: Vec<u64>,
}

/// Forms with their operands and results, ready to be written.
#[derive(Clone, Debug, Default)]
pub struct Set {
    /// Threads per block.
    pub block: u32,
    /// The forms; `table` names an entry of `tables`.
    pub forms: Vec<FormInfo>,
    /// Operand tables by name.
    pub tables: BTreeMap<String, Operands>,
    /// Per form and in output order: for every row a value of the output's width.
    pub results: BTreeMap<String, Vec<u8>>,
    /// What is known of the recording: device, driver, date, ….
    pub about: Map<String, Value>,
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

impl Set {
    /// The files by their names below the root. The two binary files are not compressed.
    ///
    /// # Panics
    /// When a form names a table that is not there.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let lines = |items: Vec<String>| items.join(",\n");
        let text = |v: &dyn Fn() -> serde_json::Result<String>| v().expect("plain data");
        let forms =
            self.forms.iter().map(|f| text(&|| serde_json::to_string(f))).collect::<Vec<_>>();
        let forms = format!("{{\"block\": {}, \"forms\": [\n{}\n]}}\n", self.block, lines(forms));

        let mut inputs = Vec::new();
        let mut tables = Vec::new();
        for (name, t) in &self.tables {
            let n = t.words.len() / t.slots.max(1);
            let place = json!({"n": n, "slots": t.slots, "offset": inputs.len()});
            tables.push(format!("{}: {place}", Value::from(name.as_str())));
            inputs.extend(t.words.iter().flat_map(|w| w.to_le_bytes()));
        }
        let tables = format!(
            "{{\"bytes\": {}, \"crc32\": {}, \"tables\": {{\n{}\n}}}}\n",
            inputs.len(),
            crc(&inputs),
            lines(tables)
        );

        let mut outputs = Vec::new();
        let mut places = Vec::new();
        for form in &self.forms {
            let Some(bytes) = self.results.get(&form.name) else { continue };
            let name = Value::from(form.name.as_str());
            places.push(format!("{name}: [{}, {}]", outputs.len(), bytes.len()));
            outputs.extend(bytes);
        }
        let mut results = String::from("{");
        for (key, value) in &self.about {
            let _ = write!(results, "{}: {value}, ", Value::from(key.as_str()));
        }
        let _ = writeln!(
            results,
            "\"bytes\": {}, \"crc32\": {}, \"forms\": {{\n{}\n}}}}",
            outputs.len(),
            crc(&outputs),
            lines(places)
        );
        BTreeMap::from([
            ("forms.json".into(), forms.into_bytes()),
            ("setA/tables.json".into(), tables.into_bytes()),
            ("setA/inputs.bin".into(), inputs),
            ("setA/results.json".into(), results.into_bytes()),
            ("setA/outputs.bin".into(), outputs),
        ])
    }
}

/// The values of an output buffer without what lies between them (`Set::results`), and how many
/// bytes outside of them were written to.
///
/// # Panics
/// When the form has an output of unknown kind; reading `forms.json` refuses those.
#[must_use]
pub fn pack_outputs(form: &FormInfo, image: &[u8]) -> (Vec<u8>, usize) {
    let slots = form.outs.len().max(1);
    let rows = image.len() / 8 / slots;
    let (mut packed, mut touched) = (Vec::new(), 0);
    for slot in 0..slots {
        let width = form.outs.get(slot).map_or(0, |k| output_width(k).expect("known kind"));
        for row in 0..rows {
            let (value, rest) = image[8 * (row * slots + slot)..][..8].split_at(width);
            packed.extend(value);
            touched += rest.iter().filter(|b| **b != crate::POISON).count();
        }
    }
    (packed, touched)
}
