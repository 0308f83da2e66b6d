//! What can be wrong with a device profile, each case naming the file and the key.

use thiserror::Error;

/// Why a profile could not be loaded or found. Every variant names the profile file and, where
/// one is at fault, the dotted key (`dram.bandwidth_gbps`).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No device or class has this name.
    #[error("unknown device '{name}'{}", suggestion_text(.suggestions))]
    UnknownDevice {
        /// The name asked for.
        name: String,
        /// Names that are close to it, best first.
        suggestions: Vec<String>,
    },
    /// The file is not TOML.
    #[error("{file}: not valid TOML: {message}")]
    Syntax {
        /// Profile file.
        file: String,
        /// The TOML parser's message, with line and column.
        message: String,
    },
    /// A key is unknown, or its value has the wrong type.
    #[error("{file}: key '{key}': {message}")]
    BadKey {
        /// Profile file.
        file: String,
        /// Dotted key.
        key: String,
        /// What is wrong with it.
        message: String,
    },
    /// A key that every complete profile needs is given neither here nor in a parent.
    #[error("{file}: key '{key}' is missing, here and in every profile it inherits from")]
    MissingKey {
        /// Profile file.
        file: String,
        /// Dotted key.
        key: String,
    },
    /// A number without a source.
    #[error("{file}: key '{key}' has no entry in [source] (its own or its section's)")]
    NoSource {
        /// Profile file.
        file: String,
        /// Dotted key.
        key: String,
    },
    /// `inherits` names a profile that does not exist.
    #[error("{file}: inherits from unknown profile '{parent}'{}", suggestion_text(.suggestions))]
    UnknownParent {
        /// Profile file.
        file: String,
        /// The missing parent.
        parent: String,
        /// Names that are close to it, best first.
        suggestions: Vec<String>,
    },
    /// `inherits` goes round in a circle.
    #[error("{file}: inheritance goes round in a circle: {}", .chain.join(" -> "))]
    InheritanceCycle {
        /// Profile file.
        file: String,
        /// The names on the circle.
        chain: Vec<String>,
    },
    /// Two numbers contradict each other, or one is out of range.
    #[error("{file}: key '{key}': {message}")]
    Inconsistent {
        /// Profile file.
        file: String,
        /// Dotted key.
        key: String,
        /// The contradiction.
        message: String,
    },
    /// The user's file could not be read.
    #[error("{file}: {message}")]
    Io {
        /// Profile file.
        file: String,
        /// The operating system's message.
        message: String,
    },
}

fn suggestion_text(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [one] => format!("; did you mean '{one}'?"),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(|s| format!("'{s}'")).collect();
            format!("; did you mean {} or '{last}'?", first.join(", "))
        }
    }
}
