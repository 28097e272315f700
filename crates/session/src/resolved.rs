//! From a lab to its plan.

use crate::backends;
use crate::error::SessionError;
use crate::loaded::Session;
use crate::options::Options;
use crate::prices;
use crate::run::Planned;
use crate::setup::Setup;
use crate::traces;
use seekwell_model::plan::{BackendFacts, LeftOut};
use seekwell_runner::order::{self, Expanded};
use seekwell_spec::{Expansion, LabFile, MAX_LAB_BYTES};
use seekwell_store::RunFile;
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Text of a lab.
pub struct LabText<'a> {
    /// Its name in messages.
    pub name: String,
    /// Content of the file.
    pub bytes: Cow<'a, [u8]>,
    /// Directory at which paths of device files start.
    pub directory: PathBuf,
}

impl LabText<'static> {
    /// Reads a lab file, up to the largest size of a lab.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let name = path.display().to_string();
        let wrong = |error| {
            let text = format!("cannot read the lab {name}: {error}; give the path of a TOML file");
            SessionError::Unusable(text)
        };
        let mut bytes = Vec::new();
        let file = seekwell_trust::open_or_pipe(path).map_err(wrong)?;
        // One byte more than is allowed, so that the reader sees that it is too much.
        file.take(MAX_LAB_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(wrong)?;
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { name, bytes: Cow::Owned(bytes), directory })
    }
}

impl<'a> LabText<'a> {
    /// A lab's text under this name.
    #[must_use]
    pub fn new(name: impl Into<String>, text: &'a str) -> Self {
        let bytes = Cow::Borrowed(text.as_bytes());
        Self { name: name.into(), bytes, directory: PathBuf::new() }
    }
}

impl Session {
    /// Reads a lab for the backend that the options name.
    ///
    /// # Errors
    /// A mistake in options or lab, or something that the backend lacks.
    pub fn resolve(&self, lab: &LabText<'_>, options: &Options) -> Result<Resolved, SessionError> {
        let backend = backends::choose(self, options)?;
        let file = seekwell_spec::read_lab_bytes(&lab.bytes, &lab.name)?;
        self.resolve_with(backend, file, &lab.directory, options)
    }

    /// Lets a backend adapt a lab of this directory.
    pub(crate) fn resolve_with(
        &self,
        mut backend: Box<dyn Setup>,
        mut file: LabFile,
        directory: &Path,
        options: &Options,
    ) -> Result<Resolved, SessionError> {
        backend.adapt(&mut file.lab, directory)?;
        prices::set(&mut file.lab, &options.prices)?;
        traces::check(&file.lab)?;
        let kept = kept_result(directory, &file.lab.name);
        let facts = backend.facts(&file.lab).map_err(|error| match (error, &kept) {
            (SessionError::Kernel(text), Some(kept)) => {
                SessionError::Kernel(format!("{text}; meanwhile, {}", of_kept(kept)))
            }
            (other, _) => other,
        })?;
        let lists = self.machine().undo();
        Ok(Resolved { file, facts, backend, kept, options: options.clone(), lists })
    }

    /// The plan of a run file, to continue it on the backend that the options name.
    ///
    /// # Errors
    /// A mistake in the options, or a file that cannot be read.
    pub fn reopen(&self, path: &Path, options: &Options) -> Result<Planned, SessionError> {
        let mut backend = backends::choose(self, options)?;
        let file = RunFile::open(path)?;
        backend.recall(&file.environment()?, path)?;
        let mut plan = file.plan()?;
        // Prices are part of a lab: others than those of the run make it another one.
        prices::set(&mut plan.lab, &options.prices)?;
        let (options, lists) = (options.clone(), self.machine().undo());
        Ok(Planned { plan, backend, options, draws_seed: false, notes: Vec::new(), lists })
    }
}

/// A lab with everything that its plan depends on. Its budget is `file.lab.judge.effort`; the lab
/// kernel and the modelled devices of the virtual backend are inside the backend.
pub struct Resolved {
    /// The lab, with the devices that the options ask for.
    pub file: LabFile,
    /// Facts about the backend.
    pub facts: BackendFacts,
    backend: Box<dyn Setup>,
    /// A result of the same lab that comes with Seekwell.
    kept: Option<PathBuf>,
    options: Options,
    lists: PathBuf,
}

/// A result of a lab in the folder `labs` of a source tree, which is kept next to it.
fn kept_result(directory: &Path, lab: &str) -> Option<PathBuf> {
    let runs = directory.parent().unwrap_or(Path::new("..")).join("benches/runs");
    let folders = std::fs::read_dir(runs).ok()?.filter_map(Result::ok);
    let files = folders.map(|folder| folder.path().join(format!("{lab}.txt")));
    files.filter(|file| file.is_file()).min()
}

fn of_kept(kept: &Path) -> String {
    format!("{} has a kept result of this lab", kept.display())
}

impl Resolved {
    /// Orders the trials of the lab.
    ///
    /// # Errors
    /// When no stack is left, or there are too many trials.
    pub fn plan(self) -> Result<Planned, SessionError> {
        let mut expansion = seekwell_spec::expand(&self.file, &self.facts)?;
        self.leave_out(&mut expansion)?;
        let expanded = Expanded {
            stacks: expansion.stacks,
            candidates: expansion.candidates,
            left_out: expansion.left_out,
            warnings: expansion.warnings,
        };
        let plan = order::plan(&self.file.lab, expanded, &self.facts)?;
        let lacks_kernel =
            |one: &LeftOut| one.reason.contains("kernel build") && self.facts.lab_kernel.is_some();
        let kept = self.kept.filter(|_| plan.left_out.iter().any(lacks_kernel));
        let notes = kept.iter().map(|kept| of_kept(kept)).collect();
        let draws_seed = !self.file.gives_seed();
        let Self { backend, options, lists, .. } = self;
        Ok(Planned { plan, backend, options, draws_seed, notes, lists })
    }

    /// Removes the workloads that the backend cannot run, and gives the reasons.
    ///
    /// # Errors
    /// When none is left.
    fn leave_out(&self, expansion: &mut Expansion) -> Result<(), SessionError> {
        for (index, workload) in self.file.lab.workloads.iter().enumerate() {
            let Some(reason) = self.backend.cannot_run(workload) else { continue };
            let before = expansion.candidates.len();
            expansion.candidates.retain(|candidate| candidate.workload as usize != index);
            let count = (before - expansion.candidates.len()) as u64;
            if count > 0 && expansion.candidates.is_empty() {
                let name = &workload.name;
                let text = format!("no trial can run, workload {name}: {reason}");
                return Err(SessionError::Unusable(text));
            }
            expansion.left_out.push(LeftOut { what: workload.name.clone(), reason, count });
        }
        Ok(())
    }
}
