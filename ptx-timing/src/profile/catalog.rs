//! The set of known profiles: the embedded ones and the user's.

use std::path::Path;

use include_dir::{Dir, include_dir};

use super::check;
use super::error::ProfileError;
use super::host;
use super::names::{normalise, suggest, target_name, without_brand};
use super::resolve::{RawProfile, resolve};
use super::schema::Profile;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// Every known profile by name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    profiles: Vec<RawProfile>,
}

impl Catalog {
    /// The profiles that come with this crate.
    pub fn embedded() -> Result<Self, ProfileError> {
        let mut catalog = Self::default();
        for folder in ["classes", "devices"] {
            for file in EMBEDDED.get_dir(folder).into_iter().flat_map(Dir::files) {
                let name = file.path().to_string_lossy().into_owned();
                let text = file.contents_utf8().ok_or_else(|| ProfileError::Syntax {
                    file: name.clone(),
                    message: "not UTF-8".to_owned(),
                })?;
                catalog.add_text(&name, text)?;
            }
        }
        Ok(catalog)
    }

    /// Adds a profile from TOML text; one of the same name is replaced. Returns the name.
    pub fn add_text(&mut self, file: &str, text: &str) -> Result<String, ProfileError> {
        let raw = RawProfile::parse(file, text)?;
        let name = raw.name.clone();
        let key = normalise(&name);
        // A file may refine the profile that it replaces.
        let refines = raw.inherits.as_deref().is_some_and(|p| normalise(p) == key);
        match self.profiles.iter().position(|p| normalise(&p.name) == key) {
            Some(at) if refines => {
                // The refined profile stays reachable under a name nobody can type.
                let hidden = format!("{name} (before {file})");
                let mut raw = raw;
                raw.inherits = Some(hidden.clone());
                self.profiles[at].name = hidden;
                self.profiles[at].aliases.clear();
                self.profiles[at].is_device = false;
                self.profiles.push(raw);
            }
            Some(at) => self.profiles[at] = raw,
            None => self.profiles.push(raw),
        }
        Ok(name)
    }

    /// Adds a user's profile file, or overrides a known device with it, and checks it at once.
    /// Returns the name to ask [`Catalog::get`] for.
    pub fn add_file(&mut self, path: &Path) -> Result<String, ProfileError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| ProfileError::Io { file: file.clone(), message: e.to_string() })?;
        let name = self.add_text(&file, &text)?;
        self.get(&name)?;
        Ok(name)
    }

    /// Names of all devices, in alphabetical order.
    pub fn device_names(&self) -> Vec<&str> {
        self.names(true)
    }

    /// Names of all class defaults, in alphabetical order.
    pub fn class_names(&self) -> Vec<&str> {
        self.names(false)
    }

    fn names(&self, devices: bool) -> Vec<&str> {
        let mut names: Vec<_> = self
            .profiles
            .iter()
            .filter(|p| p.is_device == devices && !p.name.contains("(before "))
            .map(|p| p.name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    /// The complete, checked profile of a device or class. Case, spaces, hyphens and the brand
    /// ("GeForce", "Tesla") do not matter. A target (`sm_86`, `sm_90a`, `compute_86`) is the device whose file has it
    /// as an alias, `cc-8.6` or `8.6` the class, and `host` this machine.
    pub fn get(&self, name: &str) -> Result<Profile, ProfileError> {
        if self.find(name).is_none() && normalise(name) == host::NAME {
            let mut with_host = self.clone();
            with_host.add_text(host::NAME, &host::profile())?;
            return with_host.get(host::NAME);
        }
        let raw = self.find(name).ok_or_else(|| ProfileError::UnknownDevice {
            name: name.to_owned(),
            suggestions: self.suggestions(name),
        })?;
        let profile = resolve(&self.chain(raw)?)?;
        check::consistent(&raw.file, &profile)?;
        Ok(profile)
    }

    fn suggestions(&self, name: &str) -> Vec<String> {
        let aliases = self.profiles.iter().flat_map(|p| p.aliases.iter().map(String::as_str));
        suggest(name, self.device_names().into_iter().chain(self.class_names()).chain(aliases))
    }

    fn find(&self, name: &str) -> Option<&RawProfile> {
        let exact = normalise(name);
        let by = |matches: &dyn Fn(&str) -> bool| {
            let mut hits = self
                .profiles
                .iter()
                .filter(|p| matches(&p.name) || p.aliases.iter().any(|a| matches(a)));
            let first = hits.next();
            // An ambiguous short name is no name.
            first.filter(|_| hits.next().is_none())
        };
        let loose = without_brand(name);
        if let Some(target) = target_name(name) {
            return by(&|n| n == target);
        }
        by(&|n| n == name)
            .or_else(|| by(&|n| normalise(n) == exact))
            .or_else(|| by(&|n| without_brand(n) == loose))
    }

    /// The files a profile is made of, the most general first.
    fn chain<'a>(&'a self, raw: &'a RawProfile) -> Result<Vec<&'a RawProfile>, ProfileError> {
        let mut chain = vec![raw];
        let mut current = raw;
        while let Some(parent) = &current.inherits {
            let next = self.find(parent).ok_or_else(|| ProfileError::UnknownParent {
                file: current.file.clone(),
                parent: parent.clone(),
                suggestions: self.suggestions(parent),
            })?;
            let again = chain.iter().any(|c| std::ptr::eq(*c, next));
            chain.push(next);
            if again {
                return Err(ProfileError::InheritanceCycle {
                    file: raw.file.clone(),
                    chain: chain.iter().map(|c| c.name.clone()).collect(),
                });
            }
            current = next;
        }
        chain.reverse();
        Ok(chain)
    }
}
