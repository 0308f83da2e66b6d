//! From TOML text to a [`Profile`]: parsing, inheritance, attribution of every number.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::error::ProfileError;
use super::schema::{ComputeCapability, Profile, Source};

/// What the keys in front of a file's first table say: enough to find a profile by name and to follow inheritance.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// File name for messages.
    pub file: String,
    /// `name` key.
    pub name: String,
    /// `aliases` key.
    pub aliases: Vec<String>,
    /// Whether `kind = "device"`.
    pub is_device: bool,
    /// `inherits` key.
    pub inherits: Option<String>,
}

impl Head {
    /// Reads the head of a file and leaves its tables unread.
    pub fn read(file: &str, text: &str) -> Result<Self, ProfileError> {
        let end = if text.starts_with('[') { Some(0) } else { text.find("\n[") };
        Self::take(file, &mut table(file, &text[..end.unwrap_or(text.len())])?)
    }

    /// The head of a whole file; takes `inherits` out of `body`.
    fn take(file: &str, body: &mut Table) -> Result<Self, ProfileError> {
        let name = match body.get("name") {
            Some(Value::String(s)) if !s.is_empty() => s.clone(),
            Some(_) => return Err(bad(file, "name", "must be a non-empty string")),
            None => {
                return Err(ProfileError::MissingKey { file: file.into(), key: "name".into() });
            }
        };
        let is_device = match body.get("kind").and_then(Value::as_str) {
            Some("device") => true,
            Some("class") => false,
            _ => return Err(bad(file, "kind", "must be \"device\" or \"class\"")),
        };
        let inherits = match body.remove("inherits") {
            None => None,
            Some(Value::String(s)) => Some(s),
            Some(_) => return Err(bad(file, "inherits", "must be the name of a profile")),
        };
        let aliases = match body.get("aliases") {
            None => Vec::new(),
            Some(v) => v
                .as_array()
                .and_then(|a| a.iter().map(|v| v.as_str().map(str::to_owned)).collect())
                .ok_or_else(|| bad(file, "aliases", "must be a list of strings"))?,
        };
        Ok(Self { file: file.to_owned(), name, aliases, is_device, inherits })
    }
}

fn table(file: &str, text: &str) -> Result<Table, ProfileError> {
    toml::from_str(text).map_err(|e| ProfileError::Syntax {
        file: file.to_owned(),
        message: e.to_string().trim_end().to_owned(),
    })
}

fn bad(file: &str, key: &str, message: &str) -> ProfileError {
    ProfileError::BadKey { file: file.to_owned(), key: key.to_owned(), message: message.to_owned() }
}

/// One whole profile file as written, before inheritance.
#[derive(Debug, Clone)]
pub(super) struct RawProfile {
    /// What its first keys say.
    pub head: Head,
    /// `[source]` table.
    sources: BTreeMap<String, String>,
    /// Everything else.
    body: Table,
}

impl RawProfile {
    /// Parses one file. Only the keys that inheritance needs are checked here.
    pub fn parse(file: &str, text: &str) -> Result<Self, ProfileError> {
        let mut body = table(file, text)?;
        let head = Head::take(file, &mut body)?;
        let sources = match body.remove("source") {
            None => BTreeMap::new(),
            Some(Value::Table(t)) => t
                .into_iter()
                .map(|(k, v)| match v {
                    Value::String(s) => Ok((k, s)),
                    _ => Err(bad(file, &format!("source.\"{k}\""), "must be a string")),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(bad(file, "source", "must be a table")),
        };
        let raw = Self { head, sources, body };
        raw.check_sources()?;
        Ok(raw)
    }

    /// The source text for a dotted key: its own entry, else that of the closest section around it.
    fn source_text(&self, key: &str) -> Option<&str> {
        let mut prefix = key;
        loop {
            if let Some(text) = self.sources.get(prefix) {
                return Some(text);
            }
            prefix = prefix.rsplit_once('.')?.0;
        }
    }

    fn check_sources(&self) -> Result<(), ProfileError> {
        let mut leaves = Vec::new();
        collect_leaves("", &self.body, &mut leaves);
        for (key, value) in &leaves {
            if holds_number(value) && self.source_text(key).is_none() {
                return Err(ProfileError::NoSource {
                    file: self.head.file.clone(),
                    key: key.clone(),
                });
            }
        }
        for key in self.sources.keys() {
            let used = leaves.iter().any(|(leaf, _)| {
                leaf == key || leaf.strip_prefix(key.as_str()).is_some_and(|r| r.starts_with('.'))
            });
            if !used {
                return Err(ProfileError::BadKey {
                    file: self.head.file.clone(),
                    key: format!("source.\"{key}\""),
                    message: "names a key that this file does not give".to_owned(),
                });
            }
        }
        Ok(())
    }
}

fn holds_number(value: &Value) -> bool {
    match value {
        Value::Integer(_) | Value::Float(_) => true,
        Value::Array(a) => a.iter().any(holds_number),
        _ => false,
    }
}

fn collect_leaves<'a>(prefix: &str, table: &'a Table, out: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => collect_leaves(&path, inner, out),
            leaf => out.push((path, leaf)),
        }
    }
}

fn merge(parent: &mut Table, child: &Table) {
    for (key, value) in child {
        match (parent.get_mut(key), value) {
            (Some(Value::Table(p)), Value::Table(c)) => merge(p, c),
            _ => {
                parent.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Merges a chain of files, the most general first, into a complete profile (not yet checked).
pub(super) fn resolve(chain: &[RawProfile]) -> Result<Profile, ProfileError> {
    let mut merged = Table::new();
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    let mut owner: BTreeMap<String, &str> = BTreeMap::new();
    let mut given_for: BTreeMap<String, Option<ComputeCapability>> = BTreeMap::new();
    for raw in chain {
        let mut body = raw.body.clone();
        // A parent's aliases and note are about the parent.
        merged.remove("aliases");
        merged.remove("note");
        merge(&mut merged, &std::mem::take(&mut body));
        let mut leaves = Vec::new();
        collect_leaves("", &raw.body, &mut leaves);
        for (key, _) in leaves {
            if let Some(text) = raw.source_text(&key) {
                let source = Source {
                    file: raw.head.file.clone(),
                    text: text.to_owned(),
                    assumed_from: None,
                };
                sources.insert(key.clone(), source);
                given_for.insert(key.clone(), capability(&merged));
            }
            owner.insert(key, &raw.head.file);
        }
    }
    let last = chain.last().map_or("", |raw| raw.head.file.as_str());
    let mut profile: Profile =
        serde_path_to_error::deserialize(Value::Table(merged)).map_err(|e| {
            let path = e.path().to_string();
            let message = e.inner().to_string().trim_end().to_owned();
            key_error(last, &owner, &path, message)
        })?;
    let own = profile.device.compute_capability;
    for (key, source) in &mut sources {
        source.assumed_from = given_for.get(key).copied().flatten().filter(|cc| *cc != own);
    }
    profile.sources = sources;
    Ok(profile)
}

/// The compute capability of a profile that is merged so far.
fn capability(merged: &Table) -> Option<ComputeCapability> {
    let text = merged.get("device")?.get("compute_capability")?.as_str()?;
    ComputeCapability::try_from(text.to_owned()).ok()
}

/// Turns serde's message into the typed error and blames the file that gives the key.
fn key_error(
    last: &str,
    owner: &BTreeMap<String, &str>,
    path: &str,
    message: String,
) -> ProfileError {
    let section = if path == "." { "" } else { path };
    if let Some(field) = message.strip_prefix("missing field `").and_then(|m| m.split('`').next()) {
        let key = if section.is_empty() { field.to_owned() } else { format!("{section}.{field}") };
        return ProfileError::MissingKey { file: last.to_owned(), key };
    }
    let file = owner
        .iter()
        .find(|(k, _)| *k == section || k.strip_prefix(section).is_some_and(|r| r.starts_with('.')))
        .map_or(last, |(_, f)| f);
    ProfileError::BadKey { file: file.to_owned(), key: section.to_owned(), message }
}
