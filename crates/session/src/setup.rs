//! A backend that is configured, and one that is open.

use crate::error::SessionError;
use seekwell_model::backend::Backend;
use seekwell_model::lab::{Lab, Workload};
use seekwell_model::plan::{BackendFacts, Plan};
use seekwell_model::stack::Stack;
use seekwell_runner::why::Changed;
use seekwell_virtual::Experiments;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A backend as it is configured, before there is a plan. Nothing is touched until [`Self::open`].
pub trait Setup {
    /// Replaces the lab's devices by the requested ones, and checks that the backend has all of
    /// them. Files that the lab names are relative to `directory`, that of the lab.
    ///
    /// # Errors
    /// When a device of the lab cannot be used here.
    fn adapt(&mut self, lab: &mut Lab, directory: &Path) -> Result<(), SessionError>;

    /// Takes from the environment of an earlier run what its lab does not say, to continue it.
    ///
    /// # Errors
    /// When the run holds a device that cannot be used here.
    fn recall(
        &mut self,
        _environment: &serde_json::Value,
        _run_file: &Path,
    ) -> Result<(), SessionError> {
        Ok(())
    }

    /// Returns the facts about the backend that a plan depends on.
    ///
    /// # Errors
    /// When they cannot be determined.
    fn facts(&self, lab: &Lab) -> Result<BackendFacts, SessionError>;

    /// Conditions of trials that the options declare, by their names in the environment of a run.
    fn declared(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns why a workload cannot run here and what to do about it; `None` if it can run.
    fn cannot_run(&self, _workload: &Workload) -> Option<String> {
        None
    }

    /// Returns everything besides the lab that affects results. It is written into the run file, and
    /// compared before a run is continued.
    ///
    /// # Errors
    /// When it cannot be determined.
    fn environment(&self, lab: &Lab) -> Result<serde_json::Value, SessionError>;

    /// Checks that every device of the plan may be written.
    ///
    /// # Errors
    /// [`SessionError::Refused`] with the first that may not.
    fn check_devices(&self, _plan: &Plan, _run_file: Option<&Path>) -> Result<(), SessionError> {
        Ok(())
    }

    /// Checks that the images of the plan fit into their directories.
    ///
    /// # Errors
    /// When one has too little room.
    fn check_room(&self, _plan: &Plan, _run_file: &Path) -> Result<(), SessionError> {
        Ok(())
    }

    /// Checks that a run may begin: that every device may be written, and that a person has seen the
    /// effects of the plan if it writes a disk whole. [`Self::open`] checks the same.
    ///
    /// # Errors
    /// [`SessionError::Refused`], [`SessionError::NotSeen`].
    fn check_start(&self, _plan: &Plan, _run_file: &Path) -> Result<(), SessionError> {
        Ok(())
    }

    /// Notes that a person has seen the effects of a plan.
    ///
    /// # Errors
    /// When the note cannot be written, as by an ordinary user.
    fn note_seen(&self, _plan: &Plan) -> Result<(), SessionError> {
        Ok(())
    }

    /// Opens the backend for experiments that switch laws of its machines off; `stop` ends them. `None` on a backend
    /// whose laws cannot be switched.
    ///
    /// # Errors
    /// When it cannot be used.
    fn experiments(
        &self,
        _plan: &Plan,
        _stop: &Arc<AtomicBool>,
    ) -> Result<Option<Experiments>, SessionError> {
        Ok(None)
    }

    /// Stacks that differ from this one in a single part that could be bought: of modelled devices a larger write
    /// cache, more memory, another device.
    ///
    /// # Errors
    /// When the device is not there.
    fn improved(&self, _stack: &Stack) -> Result<Vec<Changed>, SessionError> {
        Ok(Vec::new())
    }

    /// Checks that causes can be tested on this machine and with the plan's devices.
    ///
    /// # Errors
    /// [`SessionError::NoLaws`] where disks are written whole, or the trials run elsewhere.
    fn check_causes(&self, _plan: &Plan) -> Result<(), SessionError> {
        Ok(())
    }

    /// Opens the backend for the trials of a plan.
    ///
    /// # Errors
    /// When it cannot be used.
    fn open(&self, plan: &Plan, run_file: &Path) -> Result<Opened, SessionError>;
}

/// A backend, ready for trials.
pub struct Opened {
    /// The backend.
    pub backend: Box<dyn Backend>,
    /// As [`Setup::environment`], with the facts that are known only now.
    pub environment: serde_json::Value,
    /// Remarks for the user.
    pub notes: Vec<String>,
}
