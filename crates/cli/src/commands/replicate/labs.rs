//! The labs of a study, each an ordinary run with a file of its own.

use super::studies::Studies;
use crate::args::{PlaceArgs, ReplicateArgs, RunArgs};
use crate::commands::{plan, run};
use crate::failure::Failure;
use crate::virtual_place::{self, Change};
use crate::{place, terminal};
use seekwell_model::lab::Match;
use seekwell_model::plan::Plan;
use seekwell_replicate::judge::Run;
use seekwell_replicate::study::{Lab, Study};
use seekwell_replicate::{ends, narrow};
use seekwell_store::RunFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Behind a lab's name in the name of a run file of this machine's kernel.
const HOST: &str = "@host";

/// A lab's file: where it is written, and what is in it.
struct LabText<'a> {
    path: PathBuf,
    text: &'a str,
}

/// What runs labs, or finds their runs.
pub struct Labs<'a> {
    arguments: &'a ReplicateArgs,
    studies: &'a Studies,
}

impl<'a> Labs<'a> {
    /// Makes the directory of labs and run files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(arguments: &'a ReplicateArgs, studies: &'a Studies) -> Result<Self, Failure> {
        let directory = &arguments.output;
        if !arguments.kept {
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::Error(format!("cannot make {}: {error}", directory.display()))
            })?;
        }
        Ok(Self { arguments, studies })
    }

    /// The labs of a study, run where they were not.
    ///
    /// # Errors
    /// When one cannot be run or read.
    pub fn runs(&self, study: &Study) -> Result<Vec<Run>, Failure> {
        let labs = study.labs.iter();
        labs.filter_map(|lab| self.run(study, lab).transpose()).collect()
    }

    /// The labs of a study with each undetermined parameter at an end of its range: one list per
    /// end.
    ///
    /// # Errors
    /// When one cannot be run or read.
    pub fn ends(&self, study: &Study) -> Result<Vec<Vec<Run>>, Failure> {
        if !self.arguments.ranges {
            return Ok(Vec::new());
        }
        let devices = virtual_place::devices()?;
        let mut ends = Vec::new();
        for range in &study.ranges {
            let (device, key) = (range.device.clone(), range.parameter.clone());
            let of_file = devices.get(&device).and_then(|file| file.ranges().get(&key));
            let Some(bounds) = range.range.or(of_file.copied()) else {
                return Err(Failure::Error(format!(
                    "study {}: {device} has no range for {key}; write one into the study's file",
                    study.key
                )));
            };
            for value in bounds {
                let change = Change { device: device.clone(), key: key.clone(), value };
                let mut runs = Vec::new();
                for lab in &study.labs {
                    runs.extend(self.at_end(study, lab, &change)?);
                }
                ends.push(runs);
            }
        }
        Ok(ends)
    }

    /// One lab with one number of a device at an end: the device's stacks run again, all others as they
    /// are; `None` when it is not part of the set.
    fn at_end(&self, study: &Study, lab: &Lab, change: &Change) -> Result<Option<Run>, Failure> {
        let Some(base) = self.run(study, lab)? else { return Ok(None) };
        let name = base.file.trim_end_matches(".seekwell").trim_end_matches(HOST);
        let narrow = ends::narrowed(self.studies.lab(name)?, &change.device);
        let Some(text) = narrow.map_err(|error| Failure::from_error(&error))? else {
            return Ok(Some(base));
        };
        let path = self.run_file(name, Some(change));
        if self.arguments.kept && !path.is_file() {
            return Ok(None);
        }
        if !self.arguments.kept {
            let lab_path = path.with_extension("toml");
            self.carry_out(&LabText { path: lab_path, text: &text }, lab, &path, Some(change))?;
        }
        let file = RunFile::open(&path).map_err(|error| Failure::from_error(&error))?;
        let end = self.read(&lab.name, &file)?;
        Ok(Some(ends::merged(&base, &end, &change.device)))
    }

    /// One lab with one number of a device changed, cut down to the stacks that a measure reads; `None`
    /// when it is not part of the set.
    ///
    /// # Errors
    /// When it cannot be run or read.
    pub fn run_only(
        &self,
        study: &Study,
        lab: &Lab,
        change: &Change,
        only: &Match,
    ) -> Result<Option<Run>, Failure> {
        let file = study.file_of(&lab.name, self.arguments.quick);
        let Some(name) = file else { return Ok(None) };
        let narrow = narrow::narrowed(self.studies.lab(name)?, only);
        let text = narrow.map_err(|error| Failure::from_error(&error))?;
        let path = self.run_file(&format!("{name}.fit"), Some(change));
        let lab_path = path.with_extension("toml");
        self.carry_out(&LabText { path: lab_path, text: &text }, lab, &path, Some(change))?;
        let file = RunFile::open(&path).map_err(|error| Failure::from_error(&error))?;
        self.read(&lab.name, &file).map(Some)
    }

    /// One lab; `None` when it is not part of the set, or was not run and nothing is to be run.
    ///
    /// # Errors
    /// When it cannot be run or read.
    pub fn run(&self, study: &Study, lab: &Lab) -> Result<Option<Run>, Failure> {
        let path = if self.arguments.kept {
            let Some(path) = self.kept(study, lab)? else { return Ok(None) };
            path
        } else {
            let file = study.file_of(&lab.name, self.arguments.quick);
            let Some(name) = file else { return Ok(None) };
            let path = self.run_file(name, None);
            let lab_path = self.arguments.output.join(format!("{name}.toml"));
            let text = self.studies.lab(name)?;
            self.carry_out(&LabText { path: lab_path, text }, lab, &path, None)?;
            path
        };
        let file = RunFile::open(&path).map_err(|error| Failure::from_error(&error))?;
        self.read(&lab.name, &file).map(Some)
    }

    /// The run file of a lab that is there: that of the set, and of the whole set where it is missing or
    /// not complete the quick one. A begun run shows nothing that a complete one could not.
    fn kept(&self, study: &Study, lab: &Lab) -> Result<Option<PathBuf>, Failure> {
        let sets: &[bool] = if self.arguments.quick { &[true] } else { &[false, true] };
        let names = sets.iter().filter_map(|quick| study.file_of(&lab.name, *quick));
        let there: Vec<PathBuf> =
            names.map(|name| self.run_file(name, None)).filter(|path| path.is_file()).collect();
        for path in &there {
            let wrong = |error: seekwell_store::StoreError| Failure::from_error(&error);
            if RunFile::open(path).map_err(wrong)?.verdict().map_err(wrong)?.is_some() {
                return Ok(Some(path.clone()));
            }
        }
        Ok(there.into_iter().next())
    }

    fn carry_out(
        &self,
        file: &LabText<'_>,
        lab: &Lab,
        path: &Path,
        change: Option<&Change>,
    ) -> Result<(), Failure> {
        let lab_path = &file.path;
        std::fs::write(lab_path, file.text).map_err(|error| {
            Failure::Error(format!("cannot write {}: {error}", lab_path.display()))
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let at = self.place(change);
        let cpu = lab.cpu.as_deref().map(str::parse).transpose();
        let cpu = cpu.map_err(|error| Failure::Error(format!("cpu of the lab {name}: {error}")))?;
        if path.is_file() {
            let plan = plan::plan_of(lab_path, &at)?;
            let now = if at.is_virtual() {
                virtual_place::facts(&plan.lab, &at, cpu)?
            } else {
                place::environment()
            };
            match state(path, &plan, &now)? {
                State::Complete => return Ok(()),
                State::Begun => {}
                State::Stale(why) => set_aside(path, &why)?,
            }
        }
        terminal::talk(&format!("{name}:"));
        run::carry_out(&RunArgs {
            lab: Some(lab_path.clone()),
            output: Some(path.to_owned()),
            resume: path.is_file(),
            cpu: cpu.filter(|_| at.is_virtual()),
            jobs: self.arguments.jobs.filter(|_| at.is_virtual()),
            at,
            check: false,
            scratch: None,
            json: false,
            no_screen: true,
        })?;
        Ok(())
    }

    fn place(&self, change: Option<&Change>) -> PlaceArgs {
        PlaceArgs {
            place: self.arguments.place.clone(),
            model: None,
            kernel: self.arguments.kernel.clone(),
            bring: Vec::new(),
            changes: change.cloned().into_iter().collect(),
            device: self.arguments.device.clone(),
            journal_device: self.arguments.journal_device.clone(),
        }
    }

    fn run_file(&self, name: &str, change: Option<&Change>) -> PathBuf {
        let with = change.map(|change| format!("@{}", change.to_string().replace(':', ".")));
        let host = if self.arguments.place == "host" { HOST } else { "" };
        let name = format!("{name}{host}{}.seekwell", with.unwrap_or_default());
        self.arguments.output.join(name)
    }

    fn read(&self, lab: &str, file: &RunFile) -> Result<Run, Failure> {
        let wrong = |error: seekwell_store::StoreError| Failure::from_error(&error);
        let records = file.records().map_err(wrong)?;
        let environment = file.environment().map_err(wrong)?;
        let kernel = environment.get("kernel").and_then(serde_json::Value::as_str);
        Ok(Run {
            lab: lab.to_owned(),
            file: file.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            kernel: kernel.unwrap_or("unknown").to_owned(),
            plan: file.plan().map_err(wrong)?,
            records: records.into_iter().map(|kept| (kept.0.index, kept)).collect(),
            again: BTreeSet::new(),
        })
    }
}

/// What a run file is to the lab that is to be run.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// All of it.
    Complete,
    /// A run that was interrupted.
    Begun,
    /// A run of something else, and what differs.
    Stale(String),
}

/// What a kept run is to this lab, on what decides its results now.
fn state(path: &Path, plan: &Plan, now: &serde_json::Value) -> Result<State, Failure> {
    let wrong = |error: seekwell_store::StoreError| Failure::from_error(&error);
    let file = RunFile::open(path).map_err(wrong)?;
    if file.plan().map_err(wrong)?.lab != plan.lab {
        return Ok(State::Stale("lab file".to_owned()));
    }
    if let Some(difference) = place::differs(&file.environment().map_err(wrong)?, now) {
        return Ok(State::Stale(difference));
    }
    let ended = file.verdict().map_err(wrong)?.is_some();
    Ok(if ended { State::Complete } else { State::Begun })
}

/// Makes room for a new run and keeps the old one beside it: it may have taken hours.
fn set_aside(path: &Path, why: &str) -> Result<(), Failure> {
    let aside = (1..)
        .map(|number| path.with_extension(format!("before-{number}.seekwell")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("before.seekwell"));
    std::fs::rename(path, &aside)
        .map_err(|error| Failure::Error(format!("cannot rename {}: {error}", path.display())))?;
    terminal::talk(&format!(
        "{} was run with another {why}; it is kept as {}, and the lab is run again",
        path.display(),
        aside.display()
    ));
    Ok(())
}
