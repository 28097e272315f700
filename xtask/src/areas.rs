//! Code that protects disks, settings and verdicts: guard, undo and judge.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// Part of the code.
pub(crate) struct Area {
    /// Its name in tables.
    pub name: &'static str,
    /// Its crate, without the prefix.
    pub room: &'static str,
    /// Its files below `src` of the crate.
    pub files: &'static [&'static str],
    /// Names of the tests that are to notice a change.
    pub tests: &'static [&'static str],
}

/// Every such part.
pub(crate) const AREAS: [Area; 3] = [
    Area {
        name: "guard",
        room: "host",
        files: &[
            "guard.rs", "guard/bond.rs", "guard/signature.rs", "guard/token.rs", "guard/usage.rs",
        ],
        tests: &["guard::", "claim::", "tree::"],
    },
    Area {
        name: "undo",
        room: "host",
        files: &[
            "undo.rs", "undo/allowed.rs", "undo/content.rs", "undo/lock.rs", "undo/owners.rs",
            "undo/put_back.rs", "undo/settable.rs",
        ],
        tests: &["undo::", "settings::", "queue::tests"],
    },
    Area {
        name: "judge",
        room: "runner",
        files: &[
            "judge.rs", "judge/agreement.rs", "judge/decision.rs", "judge/differences.rs",
            "judge/durability.rs", "judge/evidence.rs", "judge/laboratory.rs", "judge/needed.rs",
            "judge/prolong.rs", "judge/race.rs", "judge/short.rs",
        ],
        tests: &["judge::", "staged::", "verdict"],
    },
];

/// The program with the tests of a crate, from the messages of Cargo.
///
/// # Errors
/// When the messages are no JSON or name no such program.
pub(crate) fn program(messages: &[u8], room: &str) -> Result<PathBuf> {
    for line in std::str::from_utf8(messages)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let is_room = message["target"]["name"] == format!("seekwell_{room}");
        if let (true, Some(program)) = (is_room, message["executable"].as_str()) {
            return Ok(PathBuf::from(program));
        }
    }
    bail!("cargo names no program with the tests of {room}")
}
