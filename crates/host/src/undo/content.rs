//! The lines of an undo list and what they say together.

use super::Target;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Raised when an older reader would misread the list.
pub(super) const FORMAT: u32 = 1;

/// A process that will put things back itself while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub pid: u32,
    /// Start time in clock ticks since boot, so that a later process of the same number is not
    /// taken for it.
    pub started_ticks: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub(super) enum Line {
    Header { format: u32, run: String, boot: String },
    Owner(Owner),
    Change(Change),
    Set { target: Target, value: String },
    Restored { target: Target },
}

/// A change that has not been put back; `old` is `None` for what did not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub target: Target,
    pub old: Option<String>,
    /// Sequence number of the disk whose setting it is; absent for loop devices, whose settings outlive
    /// what is attached to them, and in lists of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// True for a loop device that was free when this was noted: its settings go back when it is free
    /// again, because attaching and detaching change them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// The run's own value of a setting that outlives a loop device: whoever attaches the device next and has this one
    /// has inherited it and not chosen it.
    #[serde(skip)]
    pub set: Option<String>,
}

/// Content of a list, lines applied in order.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub boot: Option<String>,
    pub format: Option<u32>,
    pub owners: Vec<Owner>,
    pub changes: Vec<Change>,
    pub torn: bool,
}

impl Content {
    fn parse(text: &str) -> Self {
        let mut content =
            Self { torn: !text.is_empty() && !text.ends_with('\n'), ..Self::default() };
        for line in text.lines() {
            // A line that was cut off by a crash was not followed by the change it announces.
            let Ok(line) = serde_json::from_str(line) else { continue };
            match line {
                Line::Header { format, boot, .. } => {
                    content.format = Some(format);
                    content.boot = Some(boot);
                }
                Line::Owner(owner) => content.owners.push(owner),
                Line::Change(change) => content.add(change),
                Line::Set { target, value } => content.note_set(&target, value),
                Line::Restored { target } => content.forget(&target),
            }
        }
        content
    }

    /// The first old value is the one from before the run.
    pub(super) fn add(&mut self, change: Change) {
        if !self.has(&change.target) {
            self.changes.push(change);
        }
    }

    pub(super) fn note_set(&mut self, target: &Target, value: String) {
        if let Some(change) = self.changes.iter_mut().find(|change| change.target == *target) {
            change.set = Some(value);
        }
    }

    pub(super) fn has(&self, target: &Target) -> bool {
        self.changes.iter().any(|change| change.target == *target)
    }

    pub(super) fn forget(&mut self, target: &Target) {
        self.changes.retain(|change| change.target != *target);
    }
}

pub(super) fn load(file: &mut File, path: &Path) -> Result<Content> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Error::io("read the undo list", path))?;
    let text = String::from_utf8_lossy(&bytes);
    let content = Content::parse(&text);
    let Some(format) = content.format else {
        let expected = "the header of an undo list; nothing was restored from it and it is kept: \
                        look at the values in it, set them by hand, then remove it";
        return Err(Error::format(path, &text, expected));
    };
    if format > FORMAT {
        let expected = "format 1; a newer seekwell wrote this list and can restore it";
        return Err(Error::format(path, &format!("format {format}"), expected));
    }
    Ok(content)
}
