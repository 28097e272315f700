//! The machine as the caller describes it.

use seekwell_cluster::Programs;
use seekwell_host::sysfs::System;
use seekwell_host::undo;
use std::path::PathBuf;

/// Facts about the machine and the own process that a session needs. Rooms below the command line do
/// not read the environment, so the caller fills this in.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The kernel's view: sysfs, procfs, device nodes.
    pub system: System,
    /// The program that is started as agent and guardian, and as the first process of guests. It
    /// calls [`serve`](crate::serve) first thing in `main`.
    pub program: PathBuf,
    /// Directory for undo lists and claims.
    pub state: PathBuf,
    /// Directory of the lab kernels; `None` when the user has no home directory.
    pub kernels: Option<PathBuf>,
    /// Folders in which programs are searched, in order.
    pub folders: Vec<PathBuf>,
    /// Directory for temporary files.
    pub temporary: PathBuf,
}

impl Machine {
    /// Directory of the claims.
    #[must_use]
    pub fn claims(&self) -> PathBuf {
        self.state.join("claims")
    }

    /// Directory with notes of the plans that a person has seen.
    #[must_use]
    pub fn planned(&self) -> PathBuf {
        self.state.join("planned")
    }

    /// Directory of the undo lists.
    #[must_use]
    pub fn undo(&self) -> PathBuf {
        self.state.join("undo")
    }

    /// The commands of Slurm: those of the system first.
    #[must_use]
    pub fn slurm(&self) -> Programs {
        Programs::new(self.system.programs.iter().chain(&self.folders).cloned().collect())
    }

    /// The process of another run that has this machine, in words; `None` if no run has it.
    #[must_use]
    pub fn in_use(&self) -> Option<String> {
        match undo::lock(&self.system, &self.undo()) {
            Ok(None) => Some(undo::holder(&self.system, &self.undo())),
            _ => None,
        }
    }

    /// Path of a program, by name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        find(&self.folders, name)
    }
}

pub(crate) fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}
