//! `calls`: short sequences of file system calls, as `seekwell kernel cuts` makes them.

use super::{FieldConflict, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Values, field};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// Parameters of `calls`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsParams {
    /// Sequences, each for a directory of its own.
    pub run: Vec<Vec<Call>>,
}

/// Kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// Makes a directory.
    Mkdir,
    /// Removes an empty directory.
    Rmdir,
    /// Makes an empty file.
    Creat,
    /// Writes bytes at an offset.
    Write,
    /// Sets the size.
    Truncate,
    /// Allocates a range and extends the file to its end.
    Allocate,
    /// Allocates a range and keeps the size.
    Reserve,
    /// Frees a range within the file.
    Punch,
    /// Makes a range zero.
    Zero,
    /// Adds a name.
    Link,
    /// Renames a file or directory.
    Rename,
    /// Removes a name.
    Unlink,
    /// Syncs a file or directory.
    Fsync,
    /// Syncs the data of a file.
    Fdatasync,
    /// Syncs everything.
    Sync,
}

/// Word, number of paths and number of numbers of each kind.
const FORMS: [(CallKind, &str, usize, usize); 15] = [
    (CallKind::Mkdir, "mkdir", 1, 0),
    (CallKind::Rmdir, "rmdir", 1, 0),
    (CallKind::Creat, "creat", 1, 0),
    (CallKind::Write, "write", 1, 2),
    (CallKind::Truncate, "truncate", 1, 1),
    (CallKind::Allocate, "allocate", 1, 2),
    (CallKind::Reserve, "reserve", 1, 2),
    (CallKind::Punch, "punch", 1, 2),
    (CallKind::Zero, "zero", 1, 2),
    (CallKind::Link, "link", 2, 0),
    (CallKind::Rename, "rename", 2, 0),
    (CallKind::Unlink, "unlink", 1, 0),
    (CallKind::Fsync, "fsync", 1, 0),
    (CallKind::Fdatasync, "fdatasync", 1, 0),
    (CallKind::Sync, "sync", 0, 0),
];

/// Largest end of a range: files stay small, because the sums of all sectors are compared.
const MAX_END_BYTES: u64 = 16 << 20;

impl CallKind {
    fn form(self) -> (&'static str, usize, usize) {
        let form = FORMS.iter().find(|form| form.0 == self);
        form.map_or(("", 0, 0), |(_, word, paths, numbers)| (word, *paths, *numbers))
    }

    /// True for calls that make something durable.
    #[must_use]
    pub fn is_sync(self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync | Self::Sync)
    }
}

/// A call; text such as `write A/foo 0 4096`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Call {
    /// Kind.
    pub kind: CallKind,
    /// Path below the sequence's directory; empty for `sync`.
    pub path: String,
    /// New path of `link` and `rename`.
    pub to: Option<String>,
    /// Offset in bytes; new size of `truncate`.
    pub at: u64,
    /// Length of a range in bytes.
    pub bytes: u64,
}

impl Call {
    /// A call with one path or none.
    #[must_use]
    pub fn new(kind: CallKind, path: &str) -> Self {
        Self { kind, path: path.to_owned(), to: None, at: 0, bytes: 0 }
    }

    /// The same with a second path.
    #[must_use]
    pub fn to(self, path: &str) -> Self {
        Self { to: Some(path.to_owned()), ..self }
    }

    /// The same for a range.
    #[must_use]
    pub fn at(self, at: u64, bytes: u64) -> Self {
        Self { at, bytes, ..self }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, paths, numbers) = self.kind.form();
        f.write_str(word)?;
        let texts = [Some(&self.path), self.to.as_ref()].into_iter().flatten();
        texts.take(paths).try_for_each(|path| write!(f, " {path}"))?;
        [self.at, self.bytes].iter().take(numbers).try_for_each(|number| write!(f, " {number}"))
    }
}

impl From<Call> for String {
    fn from(call: Call) -> Self {
        call.to_string()
    }
}

impl TryFrom<String> for Call {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Call {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let form = FORMS.iter().find(|(_, word, ..)| words.first() == Some(word));
        let (kind, word, paths, numbers) = form.ok_or_else(|| {
            let known = FORMS.map(|(_, word, ..)| word).join(", ");
            format!("'{text}' begins with none of {known}")
        })?;
        if words.len() != 1 + paths + numbers {
            return Err(format!("'{text}': {word} takes {paths} paths and {numbers} numbers"));
        }
        let path = |at: usize| words.get(at).filter(|_| at <= *paths);
        let is_inside = |path: &&str| path.split('/').all(|part| !["", ".", ".."].contains(&part));
        if let Some(path) = words[1..=*paths].iter().find(|path| !is_inside(path)) {
            return Err(format!("'{path}' is no path below the sequence's directory"));
        }
        let number = |nth: usize| match words.get(1 + paths + nth) {
            None => Ok(0),
            Some(word) => word.parse().map_err(|_| format!("'{word}' is no number of bytes")),
        };
        let (at, bytes): (u64, u64) = (number(0)?, number(1)?);
        if at.saturating_add(bytes) > MAX_END_BYTES {
            return Err(format!("'{text}' ends beyond {MAX_END_BYTES} bytes"));
        }
        let first = path(1).copied().unwrap_or_default().to_owned();
        let to = path(2).map(|path| (*path).to_owned());
        Ok(Self { kind: *kind, path: first, to, at, bytes })
    }
}

/// Calls as one text, with `; ` between them.
#[must_use]
pub fn sequence_text(calls: &[Call]) -> String {
    let mut text = String::new();
    for (nth, call) in calls.iter().enumerate() {
        let _ = write!(text, "{}{call}", if nth == 0 { "" } else { "; " });
    }
    text
}

/// Sequences of calls.
pub const CALLS: WorkloadKind = WorkloadKind {
    name: "calls",
    doc: "Sequences of file system calls, each in a directory of its own, to see what `[trial] power_cut` leaves of them. With them `fsync` of a file promises its names too, as ext4, xfs, btrfs and f2fs do. `seekwell kernel cuts` writes such labs.",
    fields: &[field!("run": TextList, required,
        "Sequences of calls with `;` between them: `mkdir PATH`, `rmdir PATH`, `creat PATH`, `write PATH OFFSET BYTES`, `truncate PATH BYTES`, `allocate`, `reserve` (keeps the size), `punch` and `zero PATH OFFSET BYTES`, `link PATH NEW`, `rename PATH NEW`, `unlink PATH`, `fsync PATH`, `fdatasync PATH`, `sync`.")],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let conflict = |problem| FieldConflict {
        field: "run",
        problem,
        remedy: "write for example \"creat a; write a 0 4096; fsync a\"".to_owned(),
    };
    let sequence = |text: &String| {
        let calls = text.split(';').map(|call| call.trim().parse().map_err(conflict));
        calls.collect::<Result<Vec<Call>, FieldConflict>>()
    };
    let run = values.list("run").iter().map(sequence).collect::<Result<_, _>>()?;
    Ok(WorkloadParams::Calls(CallsParams { run }))
}

impl CallsParams {
    /// The step.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        vec![StepOutline {
            operations: Some(self.run.iter().flatten().count() as u64),
            ..StepOutline::new("calls", &["ops"])
        }]
    }
}
