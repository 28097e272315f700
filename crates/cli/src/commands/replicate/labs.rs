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
use seekwell_replicate::study::{EarlierModel, Lab, Study};
use seekwell_replicate::{ends, narrow};
use seekwell_session::{Change, LabText, Options, Session, Standing, backends};
use seekwell_store::RunFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The backend of the studies' own disks; run files of others have the backend in their name.
const MODELLED: &str = "virtual";

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
        let mut runs = Vec::new();
        for lab in &study.labs {
            let Some(name) = study.file_of(&lab.name, true) else { continue };
            let path = self.run_file(name, None);
            if path.is_file() {
                runs.push(self.read(study, lab, &path, None)?);
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
        let Some(text) = narrow? else { return Ok(Some(base)) };
        let path = self.run_file(name, Some(change));
        if self.arguments.kept && !path.is_file() {
            return Ok(None);
        }
        if !self.arguments.kept {
            self.carry_out((&path.with_extension("toml"), &text), lab, &path, Some(change))?;
        }
        let end = self.read(study, lab, &path, Some((&text, change)))?;
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
        let text = narrow::narrowed(self.studies.lab(name)?, only)?;
        let path = self.run_file(&format!("{name}.fit"), Some(change));
        self.carry_out((&path.with_extension("toml"), &text), lab, &path, Some(change))?;
        self.read(study, lab, &path, Some((&text, change))).map(Some)
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
            self.carry_out((&lab_path, text), lab, &path, None)?;
            path
        };
        self.read(study, lab, &path, None).map(Some)
    }

    /// The run file of a lab that is there: that of the set, and of the whole set where it is missing or
    /// not complete the quick one. An incomplete run shows nothing that a complete one could not.
    fn kept(&self, study: &Study, lab: &Lab) -> Result<Option<PathBuf>, Failure> {
        let sets: &[bool] = if self.arguments.quick { &[true] } else { &[false, true] };
        let names = sets.iter().filter_map(|quick| study.file_of(&lab.name, *quick));
        let there: Vec<PathBuf> =
            names.map(|name| self.run_file(name, None)).filter(|path| path.is_file()).collect();
        for path in &there {
            if RunFile::open(path)?.verdict()?.is_some() {
                return Ok(Some(path.clone()));
            }
        }
        Ok(there.into_iter().next())
    }

    /// Writes a lab's file, and runs what its run file lacks.
    fn carry_out(
        &self,
        (lab_path, text): (&Path, &str),
        lab: &Lab,
        path: &Path,
        change: Option<&Change>,
    ) -> Result<(), Failure> {
        output::silently(lab_path, Kind::Lab, text.as_bytes(), self.arguments.force)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let options = self.options(&name, lab, change)?;
        let text = LabText::new(lab_path.display().to_string(), text);
        let planned = self.session.resolve(&text, &options)?.plan()?;
        planned.notes().iter().for_each(|note| terminal::talk(note));
        let lacks = planned.plan().warnings.iter();
        for warning in lacks.filter(|warning| warning.is(WarningCode::NotAvailable)) {
            terminal::talk(&format!("warning: {}", warning.text));
        }
        run::complete(planned, path)
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

    /// Reads a run; with a number of a device changed, the text of the lab that was run with it. A kept run
    /// that did not have the declared conditions is refused.
    fn read(
        &self,
        study: &Study,
        lab: &Lab,
        path: &Path,
        changed: Option<(&str, &Change)>,
    ) -> Result<Run, Failure> {
        let file = RunFile::open(path)?;
        let records = file.intact_records()?;
        let environment = file.environment()?;
        let kernel = environment.get("kernel").and_then(serde_json::Value::as_str);
        let kernel = kernel.unwrap_or("unknown").to_owned();
        let mut since = self.session.models_since(&environment, path)?;
        let mut refused = Vec::new();
        for difference in &mut since.changed {
            let known = |one: &&EarlierModel| one.lab == lab.name && one.difference == *difference;
            match study.earlier_models.iter().find(known) {
                Some(known) => *difference = format!("{difference}: {}", known.because),
                None => refused.push(format!("an earlier model ({difference})")),
            }
        }
        if self.arguments.kept && self.arguments.place == MODELLED {
            refused.extend(self.undeclared(study, lab, &file, changed)?);
            refused.extend(other_linux(study, &kernel));
            if !refused.is_empty() {
                return Err(Failure::Error(format!(
                    "{} is not judged: it was run with {}; run `seekwell device replicate {}` again, or move the file away",
                    path.display(),
                    refused.join("; "),
                    study.key
                )));
            }
        }
        Ok(Run {
            lab: lab.name.clone(),
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            kernel,
            changed_models: since.changed,
            unknown_models: since.unknown,
            plan: file.plan()?,
            records: records.into_iter().map(|kept| (kept.0.index, kept)).collect(),
            again: BTreeSet::new(),
        })
    }

    /// Conditions of a kept run other than those that lab and study declare.
    fn undeclared(
        &self,
        study: &Study,
        lab: &Lab,
        file: &RunFile,
        changed: Option<(&str, &Change)>,
    ) -> Result<Vec<String>, Failure> {
        let stem = file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_file = |name: &&str| stem.split('@').next() == Some(*name);
        let files = [false, true].into_iter().filter_map(|quick| study.file_of(&lab.name, quick));
        let text = match (changed, files.into_iter().find(is_file)) {
            (Some((text, _)), _) => text,
            (None, Some(name)) => self.studies.lab(name)?,
            (None, None) => return Ok(Vec::new()),
        };
        let options = self.options(&stem, lab, changed.map(|(_, change)| change))?;
        Ok(self.session.not_declared(file, &LabText::new(stem, text), &options)?)
    }
}

/// The Linux of a lab kernel, where it is not the study's.
fn other_linux(study: &Study, kernel: &str) -> Option<String> {
    let linux = study.linux.as_ref()?;
    let rest = kernel.strip_prefix(linux.as_str());
    let is_it = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    (!is_it).then(|| format!("kernel {kernel}, where the study declares {linux}"))
}
