//! The labs of a study, each an ordinary run with a file of its own.

use super::studies::Studies;
use crate::args::ReplicateArgs;
use crate::commands::run;
use crate::failure::Failure;
use crate::{output, terminal};
use seekwell_host::output::Kind;
use seekwell_model::lab::Match;
use seekwell_model::warning::WarningCode;
use seekwell_replicate::judge::Run;
use seekwell_replicate::study::{Lab, Study};
use seekwell_replicate::{ends, narrow};
use seekwell_session::{Change, LabText, Options, Session, Standing, backends, set_aside};
use seekwell_store::RunFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The backend of the studies' own disks; run files of others have the backend in their name.
const MODELLED: &str = "virtual";

/// A lab's file: its path and text.
struct LabFile<'a> {
    path: PathBuf,
    text: &'a str,
}

/// Runs labs, or finds their kept runs.
pub struct Labs<'a> {
    session: &'a Session,
    arguments: &'a ReplicateArgs,
    studies: &'a Studies,
}

impl<'a> Labs<'a> {
    /// Makes the directory of labs and run files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(
        session: &'a Session,
        arguments: &'a ReplicateArgs,
        studies: &'a Studies,
    ) -> Result<Self, Failure> {
        let directory = &arguments.output;
        if !arguments.kept {
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::Error(format!("cannot make {}: {error}", directory.display()))
            })?;
        }
        Ok(Self { session, arguments, studies })
    }

    /// Checks that every lab of these studies that is missing may begin: the plans that no one has seen
    /// yet are shown together, so that the command need not be repeated for each.
    ///
    /// # Errors
    /// When a plan had to be shown, or the guard refuses a disk.
    pub fn check_start(&self, studies: &[&Study]) -> Result<(), Failure> {
        if self.arguments.kept {
            return Ok(());
        }
        let mut shown = None;
        for (study, lab) in
            studies.iter().flat_map(|study| study.labs.iter().map(move |lab| (study, lab)))
        {
            let Some(name) = study.file_of(&lab.name, self.arguments.quick) else { continue };
            let path = self.run_file(name, None);
            let options = self.options(name, lab, None)?;
            let text = LabText::new(name, self.studies.lab(name)?);
            let planned = self.session.resolve(&text, &options)?.plan()?;
            if path.is_file() && planned.standing(&path)? == Standing::Complete {
                continue;
            }
            shown = run::show_unseen(&planned, &path)?.or(shown);
        }
        shown.map_or(Ok(()), Err)
    }

    /// The labs of a study, run where they were not.
    ///
    /// # Errors
    /// When one cannot be run or read.
    pub fn runs(&self, study: &Study) -> Result<Vec<Run>, Failure> {
        let labs = study.labs.iter();
        labs.filter_map(|lab| self.run(study, lab).transpose()).collect()
    }

    /// Reads the kept runs of the quick set.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn kept_quick(&self, study: &Study) -> Result<Vec<Run>, Failure> {
        let names = |lab: &'_ Lab| Some((lab.name.clone(), study.file_of(&lab.name, true)?));
        let mut runs = Vec::new();
        for (lab, name) in study.labs.iter().filter_map(names) {
            let path = self.run_file(name, None);
            if path.is_file() {
                let file = RunFile::open(&path).map_err(|error| Failure::from_error(&error))?;
                runs.push(self.read(&lab, &file)?);
            }
        }
        Ok(runs)
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
        let devices = self.session.devices()?;
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
                let change = Change::new(&device, &key, value);
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
        let name = base.file.trim_end_matches(".seekwell").trim_end_matches(&self.suffix());
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
            self.carry_out(&LabFile { path: lab_path, text: &text }, lab, &path, Some(change))?;
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
        self.carry_out(&LabFile { path: lab_path, text: &text }, lab, &path, Some(change))?;
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
            self.carry_out(&LabFile { path: lab_path, text }, lab, &path, None)?;
            path
        };
        let file = RunFile::open(&path).map_err(|error| Failure::from_error(&error))?;
        self.read(&lab.name, &file).map(Some)
    }

    /// The run file of a lab that is there: that of the set, and of the whole set where it is missing or
    /// not complete the quick one. An incomplete run shows nothing that a complete one could not.
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
        file: &LabFile<'_>,
        lab: &Lab,
        path: &Path,
        change: Option<&Change>,
    ) -> Result<(), Failure> {
        let lab_path = &file.path;
        output::silently(lab_path, Kind::Lab, file.text.as_bytes(), self.arguments.force)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let options = self.options(&name, lab, change)?;
        let text = LabText::new(lab_path.display().to_string(), file.text);
        let planned = self.session.resolve(&text, &options)?.plan()?;
        planned.notes().iter().for_each(|note| terminal::talk(note));
        let lacks = planned.plan().warnings.iter();
        for warning in lacks.filter(|warning| warning.is(WarningCode::NotAvailable)) {
            terminal::talk(&format!("warning: {}", warning.text));
        }
        if path.is_file() {
            match planned.standing(path)? {
                Standing::Complete => return Ok(()),
                Standing::Begun => {}
                Standing::Stale(why) => say_set_aside(path, &set_aside(path)?, &why),
            }
        }
        terminal::talk(&format!("{name}:"));
        run::carry_out(planned, path, true, false)?;
        Ok(())
    }

    /// Options of a lab's run. A charge of CPU time and trials at once are for backends that take
    /// them.
    fn options(&self, name: &str, lab: &Lab, change: Option<&Change>) -> Result<Options, Failure> {
        let backend = &self.arguments.place;
        let cpu = lab.cpu.as_deref().map(str::parse).transpose();
        let cpu = cpu.map_err(|error| Failure::Error(format!("cpu of the lab {name}: {error}")))?;
        Ok(Options {
            kernel: self.arguments.kernel.clone(),
            changes: change.cloned().into_iter().collect(),
            device: self.arguments.device.clone(),
            journal_device: self.arguments.journal_device.clone(),
            cpu: cpu.filter(|_| backends::takes(backend, "cpu")),
            jobs: self.arguments.jobs.filter(|_| backends::takes(backend, "jobs")),
            ..Options::of(backend)
        })
    }

    /// Marks run files of other backends than that of the modelled disks.
    fn suffix(&self) -> String {
        let backend = &self.arguments.place;
        if backend == MODELLED { String::new() } else { format!("@{backend}") }
    }

    fn run_file(&self, name: &str, change: Option<&Change>) -> PathBuf {
        let with = change.map(|change| format!("@{}", change.to_string().replace(':', ".")));
        let name = format!("{name}{}{}.seekwell", self.suffix(), with.unwrap_or_default());
        self.arguments.output.join(name)
    }

    fn read(&self, lab: &str, file: &RunFile) -> Result<Run, Failure> {
        let wrong = |error: seekwell_store::StoreError| Failure::from_error(&error);
        let records = file.intact_records().map_err(wrong)?;
        let environment = file.environment().map_err(wrong)?;
        let kernel = environment.get("kernel").and_then(serde_json::Value::as_str);
        let since = self.session.models_since(&environment, file.path());
        let since = since.map_err(|error| Failure::from_error(&error))?;
        Ok(Run {
            lab: lab.to_owned(),
            file: file.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            kernel: kernel.unwrap_or("unknown").to_owned(),
            changed_models: since.changed,
            unknown_models: since.unknown,
            plan: file.plan().map_err(wrong)?,
            records: records.into_iter().map(|kept| (kept.0.index, kept)).collect(),
            again: BTreeSet::new(),
        })
    }
}

fn say_set_aside(path: &Path, aside: &Path, why: &str) {
    terminal::talk(&format!(
        "{} was run with another {why}; it is kept as {} and the lab runs again",
        path.display(),
        aside.display()
    ));
}
