//! The set of known profiles: the embedded ones and the user's.

use std::borrow::Cow;
use std::path::Path;

use include_dir::{Dir, include_dir};

use super::check;
use super::error::ProfileError;
use super::host;
use super::names::{normalise, suggest, target_name, without_brand};
use super::resolve::{Head, RawProfile, resolve};
use super::schema::Profile;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// Bytes of stack for reading a profile: each table within a table takes a few thousand where nothing is optimised.
const STACK: usize = 2 << 20;

/// Reads on a stack of its own: whoever asks a driver for its devices may have nearly none left. Where no thread can be
/// had, the caller's must do.
fn on_own_stack<T: Send>(read: impl Fn() -> T + Sync) -> T {
    std::thread::scope(|scope| {
        match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, &read) {
            Ok(reader) => reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => read(),
        }
    })
}

/// Every known profile by name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    profiles: Vec<Entry>,
}

/// A profile that is known by its head. The rest of its text is read when the profile is asked for: every process that
/// needs a device makes a catalog, and needs three or four of well over a hundred files.
#[derive(Debug, Clone)]
struct Entry {
    head: Head,
    text: Cow<'static, str>,
    /// The head's name as [`normalise`] has it: every profile that is added is compared with all.
    key: String,
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
                catalog.add(Head::read(&name, text)?, Cow::Borrowed(text));
            }
        }
        Ok(catalog)
    }

    /// Adds a profile from TOML text; one of the same name is replaced. Returns the name.
    pub fn add_text(&mut self, file: &str, text: &str) -> Result<String, ProfileError> {
        let head = on_own_stack(|| RawProfile::parse(file, text))?.head;
        let name = head.name.clone();
        self.add(head, Cow::Owned(text.to_owned()));
        Ok(name)
    }

    fn add(&mut self, mut head: Head, text: Cow<'static, str>) {
        let key = normalise(&head.name);
        // A file may refine the profile that it replaces.
        let refines = head.inherits.as_deref().is_some_and(|p| normalise(p) == key);
        match self.profiles.iter().position(|p| p.key == key) {
            Some(at) if refines => {
                // The refined profile stays reachable under a name nobody can type.
                let hidden = format!("{} (before {})", head.name, head.file);
                head.inherits = Some(hidden.clone());
                let refined = &mut self.profiles[at];
                refined.key = normalise(&hidden);
                refined.head.name = hidden;
                refined.head.aliases.clear();
                refined.head.is_device = false;
                self.profiles.push(Entry { head, text, key });
            }
            Some(at) => self.profiles[at] = Entry { head, text, key },
            None => self.profiles.push(Entry { head, text, key }),
        }
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
            .map(|p| &p.head)
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
        let entry = self.find(name).ok_or_else(|| ProfileError::UnknownDevice {
            name: name.to_owned(),
            suggestions: self.suggestions(name),
        })?;
        let whole = |entry: &&Entry| RawProfile::parse(&entry.head.file, &entry.text);
        let chain = self.chain(entry)?;
        on_own_stack(|| {
            let chain: Vec<_> = chain.iter().map(whole).collect::<Result<_, _>>()?;
            let profile = resolve(&chain)?;
            check::consistent(&entry.head.file, &profile)?;
            Ok(profile)
        })
    }

    fn suggestions(&self, name: &str) -> Vec<String> {
        let aliases = self.profiles.iter().flat_map(|p| p.head.aliases.iter().map(String::as_str));
        suggest(name, self.device_names().into_iter().chain(self.class_names()).chain(aliases))
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        let exact = normalise(name);
        let by = |matches: &dyn Fn(&str) -> bool| {
            let mut hits = self
                .profiles
                .iter()
                .filter(|p| matches(&p.head.name) || p.head.aliases.iter().any(|a| matches(a)));
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
    fn chain<'a>(&'a self, entry: &'a Entry) -> Result<Vec<&'a Entry>, ProfileError> {
        let mut chain = vec![entry];
        let mut current = entry;
        while let Some(parent) = &current.head.inherits {
            let next = self.find(parent).ok_or_else(|| ProfileError::UnknownParent {
                file: current.head.file.clone(),
                parent: parent.clone(),
                suggestions: self.suggestions(parent),
            })?;
            let again = chain.iter().any(|c| std::ptr::eq(*c, next));
            chain.push(next);
            if again {
                return Err(ProfileError::InheritanceCycle {
                    file: entry.head.file.clone(),
                    chain: chain.iter().map(|c| c.head.name.clone()).collect(),
                });
            }
            current = next;
        }
        chain.reverse();
        Ok(chain)
    }
}
