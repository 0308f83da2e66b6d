//! Requests and replies. A request is a JSON object whose `do` says what is wanted; the reply has `ok`, and either the
//! result or `error` with its `kind` and `message`. The Python package is the only caller that we know of; the
//! interface has a number, [`INTERFACE`], so that a library and a package of different releases notice each other.
//!
//! | `do` | takes | gives |
//! | --- | --- | --- |
//! | `version` | | `interface`, `version` |
//! | `load` | `kind` (`ptx`, `opencl`), `text`, `name`, `options`, `lenient` | `module`, `ptx`, `kernels`, `findings` |
//! | `unload` | `module` | |
//! | `launch` | what [`crate::launch`] says | `stdout`, `engine`, `seconds`, `profile` |
//! | `launches` | | `launches`: how often each kernel was launched since the last such request, through any interface |
//! | `findings` | `report`: a line of `PTXRUN_CHECK_REPORT` | `text`: its findings for people |

use ptx_runtime::check::render;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{launch, session};

/// The version of the interface.
pub(crate) const INTERFACE: u32 = 1;

/// What can be asked for.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// What this library is.
    Version {},
    /// Verifies a text and keeps it.
    Load(session::Load),
    /// Forgets a module.
    Unload {
        /// Its number.
        module: u64,
    },
    /// Runs a kernel.
    Launch(launch::Launch),
    /// Counts launches.
    Launches {},
    /// Shows what checks have found.
    Findings {
        /// A line of the file that `PTXRUN_CHECK_REPORT` names.
        report: Value,
    },
}

/// The reply to a request.
pub(crate) fn serve(request: &[u8]) -> Value {
    match serde_json::from_slice(request) {
        Ok(Request::Version {}) => {
            json!({"ok": true, "interface": INTERFACE, "version": env!("CARGO_PKG_VERSION")})
        }
        Ok(Request::Load(load)) => session::load(&load),
        Ok(Request::Unload { module }) => {
            session::unload(module);
            json!({"ok": true})
        }
        Ok(Request::Launch(launch)) => launch::launch(launch),
        Ok(Request::Launches {}) => json!({"ok": true, "launches": ptx_runtime::launches()}),
        Ok(Request::Findings { report }) => match render::from_json(&report) {
            Ok((findings, notes)) => json!({"ok": true, "text": render::text(&findings, &notes)}),
            Err(message) => self::error("report", &message),
        },
        Err(error) => self::error("request", &error.to_string()),
    }
}

/// A reply that says what went wrong.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"ok": false, "error": {"kind": kind, "message": message}})
}
