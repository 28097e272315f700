//! Effects of a plan on the machine: what it writes whole, and the commands that it runs as root.

use crate::error::SessionError;
use crate::machine::Machine;
use crate::replay_check::replayed;
use seekwell_host::filesystem::{Layout, mkfs_commands};
use seekwell_host::planned;
use seekwell_model::filesystems::filesystem;
use seekwell_model::plan::Plan;
use seekwell_model::stack::{Backing, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Sector of a device that the plan does not know yet.
const SECTOR: Bytes = Bytes(512);

/// Effects of a plan, each line once, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Disks and partitions of the machine that are written whole.
    pub disks: Vec<PathBuf>,
    /// Directories of servers in which a trial makes one of its own.
    pub exports: Vec<String>,
    /// New images: they have no name and end with the run.
    pub images: Vec<String>,
    /// Folders whose recorded load is replayed next to them.
    pub replayed: Vec<String>,
    /// Commands as a shell takes them, each with its origin before it.
    pub commands: Vec<String>,
}

impl Effects {
    /// Effects of a plan.
    ///
    /// # Errors
    /// When a stack has a journal that its filesystem cannot have.
    pub fn of(plan: &Plan) -> Result<Self, SessionError> {
        let mut effects = Self::default();
        for stack in &plan.stacks {
            effects.add_stack(stack)?;
        }
        for (_, params) in replayed(&plan.workloads) {
            let folder = params.only.as_deref().unwrap_or("the folder with most of its files");
            push_new(&mut effects.replayed, folder.to_owned());
        }
        for workload in &plan.workloads {
            for part in workload.parts.iter().chain(&workload.beside) {
                effects.add_workload(&workload.name, part);
            }
        }
        Ok(effects)
    }

    /// The lines for a person, the gravest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let disks = self
            .disks
            .iter()
            .map(|path| format!("writes {} whole: everything on it is lost", path.display()));
        let images = self.images.iter().map(|image| format!("writes {image}"));
        let commands = self.commands.iter().map(|command| format!("runs {command}"));
        let exports = self
            .exports
            .iter()
            .map(|from| format!("makes a directory in {from}, and removes that at the end"));
        let replayed = self.replayed.iter().map(|folder| {
            format!(
                "replays the recording in a new folder next to {folder}, where its filesystem is mounted here, and \
                 removes that before the trials"
            )
        });
        disks.chain(exports).chain(replayed).chain(images).chain(commands).collect()
    }

    fn add_stack(&mut self, stack: &Stack) -> Result<(), SessionError> {
        for backing in stack.written() {
            self.add_backing(backing);
        }
        if let Some(export) = &stack.filesystem.export {
            push_new(&mut self.exports, export.from.clone());
        }
        let Some(definition) = filesystem(&stack.filesystem.kind) else { return Ok(()) };
        let data = match stack.layers.is_empty() {
            true => node(&stack.device.backing, "DEVICE"),
            false => PathBuf::from("LAYER"),
        };
        let journal = stack.journal.external.as_ref().map(|backing| node(backing, "JOURNAL"));
        let layout = Layout {
            definition,
            filesystem: &stack.filesystem,
            journal: &stack.journal,
            data: &data,
            journal_device: journal.as_deref(),
            sector: SECTOR,
        };
        for words in mkfs_commands(&layout)? {
            push_new(&mut self.commands, format!("mkfs: {}", words.join(" ")));
        }
        Ok(())
    }

    /// Notes what is written to a device.
    fn add_backing(&mut self, backing: &Backing) {
        let image = match backing {
            Backing::Disk { path } | Backing::Partition { path } => {
                return push_new(&mut self.disks, path.clone());
            }
            Backing::Loop { size, directory, .. } => {
                let place = directory.as_deref().unwrap_or(Path::new("the scratch directory"));
                format!("an image of {size} without a name in {}", place.display())
            }
            Backing::Ram { size, .. } => format!("an image of {size} in memory"),
            Backing::Model { model, size: Some(size), .. } => {
                format!("{size} of the modelled device {model}")
            }
            Backing::Model { model, size: None, .. } => format!("the modelled device {model}"),
        };
        push_new(&mut self.images, image);
    }

    fn add_workload(&mut self, name: &str, part: &WorkloadParams) {
        if let WorkloadParams::Command(command) = part {
            let rights = if command.privileged {
                " (privileged: all rights of root and all of /dev)"
            } else {
                ""
            };
            for text in command.prepare.iter().chain([&command.run]) {
                push_new(&mut self.commands, format!("{name}{rights}: {text}"));
            }
            return;
        }
        let programs = workload_kind(part.kind_name()).map_or(&[][..], |kind| kind.programs);
        if !programs.is_empty() {
            let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
            push_new(&mut self.commands, format!("{name}: {}", names.join(", ")));
        }
    }
}

/// The path of a device, or a word for one that has none yet.
fn node(backing: &Backing, word: &str) -> PathBuf {
    match backing {
        Backing::Disk { path } | Backing::Partition { path } => path.clone(),
        Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => PathBuf::from(word),
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Notes that a person has seen the effects of a plan, if they reach a disk.
///
/// # Errors
/// When the note cannot be written, as by an ordinary user.
pub(crate) fn note_seen(
    machine: &Machine,
    effects: &Effects,
    disks: Disks,
) -> Result<(), SessionError> {
    if effects.disks.is_empty() {
        return Ok(());
    }
    Ok(planned::note(&machine.planned(), &noted(machine, effects, disks)?)?)
}

/// Checks that a person has seen these effects on these disks, or that they reach none.
///
/// # Errors
/// [`SessionError::NotSeen`], or another user could have written the note.
pub(crate) fn check_seen(
    machine: &Machine,
    effects: Effects,
    disks: Disks,
) -> Result<(), SessionError> {
    if effects.disks.is_empty()
        || planned::is_noted(&machine.planned(), &noted(machine, &effects, disks)?)?
    {
        return Ok(());
    }
    Err(SessionError::NotSeen { disks: effects.disks })
}

/// Machine of a plan's disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disks {
    /// This one.
    Here,
    /// Nodes of a cluster, each with claims of its own.
    OnNodes,
}

/// The lines of a note: the effects, and the disk that each path leads to.
fn noted(machine: &Machine, effects: &Effects, disks: Disks) -> Result<Vec<String>, SessionError> {
    let mut lines = effects.lines();
    if disks == Disks::Here {
        for path in &effects.disks {
            lines.push(planned::disk(&machine.system, path)?);
        }
    }
    Ok(lines)
}
