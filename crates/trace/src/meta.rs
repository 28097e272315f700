//! Description of a trace: `trace.json` in its folder.

use crate::error::TraceError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Version of the format, `MAJOR.MINOR`. A newer major version is refused.
pub const FORMAT: &str = "1.3";
/// Name of the description in the folder.
pub const FILE: &str = "trace.json";

/// Description of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the format.
    pub format: String,
    /// Origin: `capture`, or the format that was imported.
    pub source: String,
    /// Kernel release, where known.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Start of the trace, nanoseconds since 1970; event times count from it.
    #[serde(default)]
    pub started_unix_ns: Option<u64>,
    /// Length of the trace, nanoseconds; `None` while it grows or after a crash.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// Directories that the trace is limited to; empty for all.
    #[serde(default)]
    pub paths: Vec<String>,
    /// True when block requests were recorded, even if there were none.
    #[serde(default)]
    pub requests: bool,
    /// True when page faults of mapped files were recorded, even if there were none.
    #[serde(default)]
    pub faults: bool,
    /// Directory trees whose state before the start is in the trace.
    #[serde(default)]
    pub initial: Vec<Tree>,
    /// Places outside of the directories that a traced container sees: calls name those inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// True when names were replaced by words without meaning.
    #[serde(default)]
    pub anonymous: bool,
    /// Events that were lost.
    #[serde(default)]
    pub lost: Vec<Lost>,
    /// Kinds of load that the source cannot show, in words.
    #[serde(default)]
    pub gaps: Vec<String>,
}

/// A mount of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Path in the container.
    pub inside: String,
    /// Path on the machine.
    pub outside: String,
}

/// A directory tree as it was before the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Its root.
    pub root: String,
    /// True when everything in it was seen; false when it was too large.
    pub complete: bool,
}

/// Kind of lost events that are requests of devices.
pub const BLOCK_REQUESTS: &str = "block requests";

/// Lost events of one kind on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// CPU; `None` when the source does not tell.
    pub cpu: Option<u32>,
    /// Kind of event.
    pub kind: String,
    /// Number.
    pub count: u64,
}

impl Meta {
    /// A description with nothing known but its origin.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self {
            format: FORMAT.to_owned(),
            source: source.to_owned(),
            kernel: None,
            started_unix_ns: None,
            duration_ns: None,
            paths: Vec::new(),
            requests: false,
            faults: false,
            initial: Vec::new(),
            mounts: Vec::new(),
            anonymous: false,
            lost: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Lost events of all CPUs but requests of devices.
    #[must_use]
    pub fn lost_calls(&self) -> u64 {
        let calls = self.lost.iter().filter(|lost| lost.kind != BLOCK_REQUESTS);
        calls.map(|lost| lost.count).sum()
    }

    /// Lost events of all CPUs and kinds.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.lost.iter().map(|lost| lost.count).sum()
    }

    /// Reads the description of the trace in `folder`.
    ///
    /// # Errors
    /// When there is none, or it is damaged or of a newer major version.
    pub fn read(folder: &Path) -> Result<Self, TraceError> {
        let path = folder.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(TraceError::NotATrace { path: folder.to_owned() });
            }
            Err(error) => return Err(TraceError::io("read", &path)(error)),
        };
        Self::of(&text, folder)
    }

    /// Reads the description in `text`, of the trace at `folder`.
    pub(crate) fn of(text: &[u8], folder: &Path) -> Result<Self, TraceError> {
        let path = folder.join(FILE);
        let meta: Self = serde_json::from_slice(text)
            .map_err(|source| TraceError::Description { path, source })?;
        let major = |format: &str| format.split('.').next().and_then(|major| major.parse().ok());
        let newer = major(&meta.format) > major(FORMAT).or(Some(0_u32));
        if newer || major(&meta.format).is_none() {
            let path = folder.to_owned();
            return Err(TraceError::Newer { path, found: meta.format, known: FORMAT });
        }
        Ok(meta)
    }

    /// Writes the description, whole or not at all.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TraceError> {
        let path = folder.join(FILE);
        let open = folder.join("trace.json.open");
        let write = || -> std::io::Result<()> {
            // Of a writer that was killed.
            match std::fs::remove_file(&open) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = private_file(&open)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            std::fs::rename(&open, &path)
        };
        write().map_err(TraceError::io("write", &path))
    }
}

/// A new file that its owner alone can read. A file or link that has the name is an error: a folder of
/// another user may be made to lead anywhere. It is opened for writing alone: commands that read traces have no
/// right to read the files of an output's folder.
pub(crate) fn private_file(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}
