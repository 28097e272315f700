//! The trial under way: everything that its parts share and fill.

use crate::error::{Fault, TrialError};
use seekwell_host::namespace;
use seekwell_host::sysfs::System;
use seekwell_host::undo::Undo;
use seekwell_model::agent::{FoundDatabase, FoundFile, TrialRequest};
use seekwell_model::filesystems::{FilesystemDefinition, filesystem};
use seekwell_model::record::Record;

/// Stage of parts that go down.
pub(crate) const TEARDOWN: &str = "teardown";

/// Hears what a trial says while it runs.
pub type Say<'a> = dyn FnMut(Saying<'_>) + 'a;

/// A message of a trial under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying<'a> {
    /// A step of this name begins.
    Step(&'a str),
    /// A file or directory of a survey.
    Found(FoundFile),
    /// The database of a survey.
    Database(FoundDatabase),
}

/// A trial under way: the request, and everything that its parts share and fill.
pub struct Trial<'a, 's> {
    /// The request.
    pub request: &'a TrialRequest,
    /// This kernel.
    pub system: System,
    /// `CLOCK_MONOTONIC` when the trial began.
    pub origin_ns: u64,
    /// The record so far.
    pub record: Record,
    /// The settings to put back.
    pub undo: Undo,
    /// CPUs that agent and workload are pinned to.
    pub cpus: Vec<u32>,
    /// Hears each step that begins, and what a survey finds.
    pub say: &'s mut Say<'s>,
}

impl Trial<'_, '_> {
    /// Runs work of a stage: the only place where a fault gets the name of its stage.
    ///
    /// # Errors
    /// The fault with the stage.
    pub fn stage<T>(
        &mut self,
        stage: &str,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, TrialError> {
        work(self).map_err(|fault| TrialError { stage: stage.to_owned(), fault: Box::new(fault) })
    }

    /// Runs a stage that is announced, as every step is.
    ///
    /// # Errors
    /// The fault with the stage.
    pub fn step<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, TrialError> {
        (self.say)(Saying::Step(name));
        self.stage(name, work)
    }

    /// The definition of the filesystem.
    ///
    /// # Errors
    /// When the stack names one that is not in the catalogue.
    pub fn definition(&self) -> Result<&'static FilesystemDefinition, Fault> {
        let kind = &self.request.stack.filesystem.kind;
        filesystem(kind).ok_or_else(|| Fault::Other(format!("unknown filesystem '{kind}'")))
    }

    /// Pins this process to the CPUs of the trial.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pin(&mut self) -> Result<(), Fault> {
        self.cpus = match &self.request.settings.cpus {
            Some(cpus) => cpus.clone(),
            // Two workloads on one CPU would take turns, and the turns would be measured.
            None if self.request.workload.is_accompanied() => namespace::allowed_cpus()?,
            None => namespace::default_cpus()?,
        };
        Ok(namespace::set_affinity(&self.cpus)?)
    }

    /// Opens the undo list of the request and enters this process as an owner.
    ///
    /// # Errors
    /// When the list cannot be read or written.
    pub fn open_undo(&mut self) -> Result<(), Fault> {
        let Some(path) = &self.request.undo else { return Ok(()) };
        self.undo = Undo::open(&self.system, path)?;
        // Whoever restores the settings of a killed agent waits until it is gone.
        Ok(self.undo.add_owner(self.system.own_pid())?)
    }
}
