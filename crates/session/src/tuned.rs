//! The search behind `seekwell tune`: one trial of each configuration in virtual time, three where trials vary, around
//! the defaults of every filesystem. It finds a lab of a few stacks, whose run has the last word.

use crate::atlas::AtlasDevice;
use crate::error::SessionError;
use crate::loaded::Session;
use crate::options::Options;
use crate::resolved::{LabText, Resolved};
use seekwell_model::filesystems::{Choice, FILESYSTEMS, FilesystemDefinition};
use seekwell_model::lab::Better;
use seekwell_model::plan::{BackendFacts, Plan, PlannedTrial};
use seekwell_model::record::Status;
use seekwell_stats::estimate::median;
use seekwell_stats::search::{Measured, Point, Space, priced, search};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use toml::{Table, Value};

#[cfg(test)]
mod tests;

/// Share that a change of one option has to gain to be taken, and the part of the spread of trials that it has to gain
/// where that is more.
const WORTH: f64 = 0.005;
const OF_SPREAD: f64 = 0.1;

/// Stacks that the search hands to the run at most: more begin with a screen.
const FINALISTS: usize = 8;

/// Trials of each configuration where those of a default differ by more than [`WORTH`]: one trial of a load that
/// varies would choose what was lucky.
const ROUNDS: u32 = 3;

/// Makes another seed for the lab of the finalists: the search has seen the work of its own.
const SEED: i64 = 2;

/// Schedulers with their tunables.
const SCHEDULERS: &[(&str, &[(&str, &str)])] = &[
    ("none", &[]),
    ("mq-deadline", &[]),
    ("mq-deadline", &[("fifo_batch", "1")]),
    ("kyber", &[]),
    ("bfq", &[]),
    ("bfq", &[("low_latency", "0")]),
];
/// Values of `nr_requests` and `read_ahead_kb` besides the comparable default.
const REQUESTS: [i64; 2] = [16, 512];
const READ_AHEADS: [i64; 2] = [16, 1024];

/// Values of a layer's options besides the default, by kind of layer.
type LayerOptions = &'static [(&'static str, &'static [&'static str])];
const LAYERS: &[(&str, LayerOptions)] = &[
    ("raid5", &[("chunk", &["64KiB", "2MiB"]), ("stripe_cache", &["4096"])]),
    ("raid10", &[("chunk", &["64KiB", "2MiB"]), ("layout", &["far", "offset"])]),
];

/// A filesystem with the options that are searched, besides those of the queue.
#[derive(Clone, Debug)]
struct Searched {
    filesystem: &'static FilesystemDefinition,
    schedulers: Vec<usize>,
    /// The layer below it as the lab has it, if any.
    layer: Option<Table>,
}

/// A configuration in the words of a lab.
#[derive(Clone, Debug, PartialEq)]
struct Configured {
    filesystem: Table,
    scheduler: Table,
    layer: Option<Table>,
}

impl Searched {
    fn space(&self) -> Space {
        let own = self.filesystem.choices.iter().map(|choice| choice.values().len() + 1);
        let queue = [self.schedulers.len(), REQUESTS.len() + 1, READ_AHEADS.len() + 1];
        let layer = self.layer_options().iter().map(|(_, values)| values.len() + 1);
        Space { axes: own.chain(queue).chain(layer).collect() }
    }

    fn layer_options(&self) -> LayerOptions {
        let kind = self.layer.as_ref().and_then(|layer| layer.get("kind")?.as_str());
        LAYERS.iter().find(|(name, _)| Some(*name) == kind).map_or(&[], |(_, options)| options)
    }

    /// The layer with the options of these levels: `raid5[chunk=64KiB]`.
    fn layer(&self, levels: &[usize]) -> Option<Table> {
        let mut layer = self.layer.clone()?;
        let chosen = self.layer_options().iter().zip(levels).filter(|(_, level)| **level > 0);
        let chosen: Vec<_> =
            chosen.map(|((key, values), level)| (*key, values[level - 1])).collect();
        let options: Vec<String> =
            chosen.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let kind = layer.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        layer.extend(named(&kind, &options));
        layer.extend(chosen.into_iter().map(|(key, value)| {
            let number = value.parse::<i64>().map(Value::from);
            (key.to_owned(), number.unwrap_or_else(|_| value.into()))
        }));
        Some(layer)
    }

    /// The tables of a configuration, each with its options as name: `ext4[-O fast_commit,noatime]`.
    fn configured(&self, levels: &[usize]) -> Configured {
        let choices = self.filesystem.choices;
        let (mut mkfs, mut mount) = (Vec::new(), Vec::new());
        for (choice, level) in choices.iter().zip(levels).filter(|(_, level)| **level > 0) {
            let of_kind = match choice {
                Choice::Mkfs(_) => &mut mkfs,
                Choice::Mount(_) => &mut mount,
            };
            of_kind.extend(choice.values()[level - 1]);
        }
        let made = Some(mkfs.join(" ")).filter(|text| !text.is_empty());
        let options: Vec<String> =
            made.into_iter().chain(mount.iter().map(ToString::to_string)).collect();
        let mut filesystem = named(self.filesystem.name, &options);
        filesystem.insert("type".into(), self.filesystem.name.into());
        filesystem.insert("mkfs".into(), texts(&mkfs));
        filesystem.insert("mount".into(), texts(&mount));

        let [kind, requests, read_ahead, of_layer @ ..] = &levels[choices.len()..] else {
            unreachable!("the queue has three axes")
        };
        let (kind, requests, read_ahead) = (*kind, *requests, *read_ahead);
        let (kind, tunables) = SCHEDULERS[self.schedulers[kind]];
        let mut options: Vec<String> =
            tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut numbers = Vec::new();
        let settings =
            [("nr_requests", requests, REQUESTS), ("read_ahead_kb", read_ahead, READ_AHEADS)];
        for (name, level, values) in settings.into_iter().filter(|(_, level, _)| *level > 0) {
            numbers.push((name, values[level - 1]));
            options.push(format!("{name}={}", values[level - 1]));
        }
        let mut scheduler = named(kind, &options);
        scheduler.insert("kind".into(), kind.into());
        scheduler.extend(numbers.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
        if !tunables.is_empty() {
            let table =
                tunables.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
            scheduler.insert("tunables".into(), Value::Table(table.collect()));
        }
        Configured { filesystem, scheduler, layer: self.layer(of_layer) }
    }
}

fn named(kind: &str, options: &[String]) -> Table {
    let name = match options.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind}[{}]", options.join(",")),
    };
    Table::from_iter([("name".to_owned(), Value::from(name))])
}

fn texts(words: &[&str]) -> Value {
    Value::Array(words.iter().map(|word| Value::from(*word)).collect())
}

impl Configured {
    fn name(table: &Table) -> &str {
        table.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    fn label(&self) -> String {
        let names = [Some(&self.filesystem), Some(&self.scheduler), self.layer.as_ref()];
        names.into_iter().flatten().map(Self::name).collect::<Vec<_>>().join("/")
    }
}

/// A search that can begin.
pub struct Tuning<'a> {
    session: &'a Session,
    options: Options,
    directory: PathBuf,
    lab: Table,
    spaces: Vec<Searched>,
    better: Better,
    metric: String,
    /// Label and reason of the first trial that failed.
    failed: RefCell<Option<String>>,
}

/// The search's results.
#[derive(Debug)]
pub struct Tuned {
    /// Number of configurations with a value, and of those that could not be measured.
    pub measured: [usize; 2],
    /// The effects of single options of the best filesystem against its default, the largest gain first; with the
    /// factor by which the default is worse.
    pub effects: Vec<(String, f64)>,
    /// Label of the best.
    pub best: String,
    /// Label of the default of its filesystem.
    pub default: String,
    /// Factor by which the default of its filesystem is worse.
    pub gain: f64,
    /// The lab of the finalists.
    pub lab: String,
    /// Label and reason of the first configuration that could not be measured.
    pub failed: Option<String>,
    /// Trials of each configuration.
    pub rounds: u32,
    /// Share that an option had to gain.
    pub least: f64,
}

impl<'a> Tuning<'a> {
    /// Prepares the search for the workload of a lab on a device; its own devices, filesystems and schedulers are
    /// replaced.
    ///
    /// # Errors
    /// Those of the lab and its backend.
    pub fn new(
        session: &'a Session,
        text: &LabText<'_>,
        device: &AtlasDevice,
        jobs: Option<usize>,
    ) -> Result<Self, SessionError> {
        // A mistake is told as that of the user's own file.
        let own = Options { on: vec![device.model.to_owned()], ..Options::of("virtual") };
        session.resolve(text, &own)?;
        let words = String::from_utf8_lossy(&text.bytes);
        let mut lab: Table =
            words.parse().map_err(|error| SessionError::Tried(format!("{error}")))?;
        lab.remove("filesystem");
        for axis in ["scheduler", "exclude", "stack", "layer", "journal"] {
            lab.remove(axis);
        }
        let judge = lab.entry("judge").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(judge) = judge {
            for key in ["budget", "method"] {
                judge.remove(key);
            }
            judge.insert("rounds".into(), 6.into());
        }
        lab.extend(device.table().parse::<Table>().unwrap_or_default());
        let options = Options { jobs, ..Options::of("virtual") };
        let Resolved { file, facts, .. } = resolved(session, &lab, &text.directory, &options)?;
        if file.lab.workloads.len() > 1 || file.lab.memories.len() > 1 {
            return Err(SessionError::Tried(format!(
                "{} has several workloads or memory limits; tune takes a lab with one of each",
                text.name
            )));
        }
        let judge = &file.lab.judge;
        let (better, metric) = (judge.better, judge.metric.clone());
        let layer = lab.get("layer").and_then(|all| all.as_array()?.first()?.as_table().cloned());
        Ok(Self {
            session,
            options,
            directory: text.directory.clone(),
            spaces: spaces(&facts, layer.as_ref()),
            lab,
            better,
            metric,
            failed: RefCell::default(),
        })
    }

    /// Number of configurations.
    #[must_use]
    pub fn configurations(&self) -> u64 {
        self.spaces.iter().map(|one| one.space().configurations()).sum()
    }

    /// Names of the filesystems.
    pub fn filesystems(&self) -> impl Iterator<Item = &'static str> {
        self.spaces.iter().map(|one| one.filesystem.name)
    }

    /// The space of each filesystem; its levels are those of [`Self::measure`].
    #[must_use]
    pub fn spaces(&self) -> Vec<Space> {
        self.spaces.iter().map(Searched::space).collect()
    }

    /// Searches with at most `most` trials; `progress` hears how many are done, and the label of the best so far.
    ///
    /// # Errors
    /// When a guest fails, the search is interrupted, or no trial has a value.
    pub fn search(
        &self,
        most: usize,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(usize, &str),
    ) -> Result<Tuned, SessionError> {
        let spaces = self.spaces();
        let defaults = self.defaults(stop)?;
        let spread = spread(&defaults);
        let rounds = if spread > WORTH { ROUNDS } else { 1 };
        let least = WORTH.max(spread * OF_SPREAD);
        let left = most.saturating_sub(spaces.len() * ROUNDS as usize);
        let most = spaces.len() + left / rounds as usize;
        let mut done = 0;
        let mut best: Option<(String, f64)> = None;
        let mut measure = |points: &[Point]| {
            // The defaults come first, and are known.
            let known = |point: &Point| {
                let values = defaults[point.space].iter().copied();
                median(&values.take(rounds as usize).collect::<Vec<_>>())
            };
            let values = match points.iter().all(|point| point.changes() == 0) {
                true => points.iter().map(known).collect(),
                false => self.measure(points, rounds, stop)?,
            };
            done += points.len() * rounds as usize;
            for (point, value) in points.iter().zip(&values) {
                if let Some(value) =
                    value.filter(|value| best.as_ref().is_none_or(|best| *value < best.1))
                {
                    best = Some((self.configured(point).label(), value));
                }
            }
            if let Some((label, _)) = &best {
                progress(done, label);
            }
            Ok::<_, SessionError>(values)
        };
        let measured = search(&spaces, most, least, &mut measure)?;
        self.tuned(&measured, rounds, least).ok_or_else(|| {
            SessionError::Tried(format!("no configuration has a value of {}", self.metric))
        })
    }

    fn configured(&self, point: &Point) -> Configured {
        self.spaces[point.space].configured(&point.levels)
    }

    /// Values of `ROUNDS` trials of the default of each space.
    fn defaults(&self, stop: &Arc<AtomicBool>) -> Result<Vec<Vec<f64>>, SessionError> {
        let default = |space: usize| {
            let levels = vec![0; self.spaces[space].space().axes.len()];
            Point { space, levels }
        };
        let defaults: Vec<Point> = (0..self.spaces.len()).map(default).collect();
        self.trials(&defaults, ROUNDS, stop)
    }

    /// Medians of the first rounds of one plan, lower is better; `None` where no trial has a value.
    ///
    /// # Errors
    /// When a guest fails, or the search is interrupted.
    pub fn measure(
        &self,
        points: &[Point],
        rounds: u32,
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<Option<f64>>, SessionError> {
        let all = self.trials(points, rounds, stop)?;
        Ok(all.iter().map(|values| median(values)).collect())
    }

    fn trials(
        &self,
        points: &[Point],
        rounds: u32,
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<Vec<f64>>, SessionError> {
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let configured: Vec<Configured> =
            points.iter().map(|point| self.configured(point)).collect();
        let mut lab = lab_of(&self.lab, &configured);
        // The run of the finalists cuts the power.
        if let Some(Value::Table(trial)) = lab.get_mut("trial") {
            trial.remove("power_cut");
        }
        let planned = resolved(self.session, &lab, &self.directory, &self.options)?.plan()?;
        let plan = planned.plan();
        let first = plan.trials.iter().filter(|trial| trial.round < rounds);
        let trials: Vec<PlannedTrial> = first.copied().collect();
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (trial, record) in trials.iter().zip(planned.again(&trials, stop)?) {
            if let Status::Failed { stage, reason } = &record.status {
                let said = || format!("{}: {stage}: {reason}", label(plan, trial));
                self.failed.borrow_mut().get_or_insert_with(said);
            }
            let value = record.metric(&self.metric).filter(|_| record.status == Status::Ok);
            // A time of nothing is the best there is, and has no logarithm.
            let value = value.filter(|value| *value >= 0.0 && value.is_finite());
            let value = value
                .map(|value| value.max(f64::MIN_POSITIVE))
                .map(|value| if self.better == Better::Lower { value } else { 1.0 / value });
            values.entry(label(plan, trial)).or_default().extend(value);
        }
        let of_point = |one: &Configured| values.remove(&one.label()).unwrap_or_default();
        Ok(configured.iter().map(of_point).collect())
    }

    fn tuned(&self, measured: &Measured, rounds: u32, least: f64) -> Option<Tuned> {
        let price = |point: &Point, value: &f64| priced(point, *value, least);
        let mut ranked: Vec<(&Point, f64)> =
            measured.iter().filter_map(|(point, value)| Some((point, (*value)?))).collect();
        ranked.sort_by(|one, other| price(one.0, &one.1).total_cmp(&price(other.0, &other.1)));
        let (best, fastest) = *ranked.first()?;
        let default = |space: usize| {
            ranked
                .iter()
                .find(|(point, _)| point.space == space && point.changes() == 0)
                .map(|(point, value)| (*point, *value))
        };
        let value = |wanted: &Point| {
            ranked.iter().find(|(point, _)| *point == wanted).map(|(_, value)| *value)
        };
        let base = default(best.space).map_or(fastest, |(_, value)| value);
        let singles =
            ranked.iter().filter(|(point, _)| point.space == best.space && point.changes() == 1);
        let effects = singles.map(|(point, value)| (self.change(point), base / value)).collect();

        // The best, what every filesystem is by default and at best, then what else is worth its changes.
        let of_spaces = (0..self.spaces.len()).flat_map(|space| {
            let first = ranked.iter().find(|(point, _)| point.space == space);
            [default(space).map(|(point, _)| point), first.map(|(point, _)| *point)]
                .into_iter()
                .flatten()
        });
        let others = ranked.iter().filter(|(point, value)| price(point, value) < base);
        let mut finalists: Vec<&Point> = Vec::new();
        for point in [best].into_iter().chain(of_spaces).chain(others.map(|(point, _)| *point)) {
            // Changes that do nothing make no further finalist.
            let is_same = |other: &&Point| {
                let apart = |one: &Point| value(one).unwrap_or(f64::INFINITY).ln();
                other.space == point.space && (apart(other) - apart(point)).abs() < least
            };
            if finalists.len() < FINALISTS && !finalists.iter().any(is_same) {
                finalists.push(point);
            }
        }
        Some(Tuned {
            measured: [ranked.len(), measured.len() - ranked.len()],
            effects,
            best: self.configured(best).label(),
            default: self.configured(default(best.space).map_or(best, |(point, _)| point)).label(),
            gain: base / fastest,
            lab: self.final_lab(&finalists),
            rounds,
            least,
            failed: self.failed.borrow().clone(),
        })
    }

    /// The option of a configuration that has one alone.
    fn change(&self, point: &Point) -> String {
        let Configured { filesystem, scheduler, layer } = self.configured(point);
        let (filesystem, scheduler) = (Configured::name(&filesystem), Configured::name(&scheduler));
        let layer = layer.as_ref().map_or("", Configured::name);
        let inner = |name: &str| {
            name.split_once('[').map(|(_, rest)| rest.trim_end_matches(']').to_owned())
        };
        inner(filesystem).or_else(|| inner(layer)).unwrap_or_else(|| {
            match scheduler.strip_prefix("none[") {
                Some(rest) => rest.trim_end_matches(']').to_owned(),
                None => scheduler.to_owned(),
            }
        })
    }

    /// The lab of the finalists as a file, with work that the search has not seen.
    fn final_lab(&self, finalists: &[&Point]) -> String {
        let configured: Vec<Configured> =
            finalists.iter().map(|point| self.configured(point)).collect();
        let mut lab = lab_of(&self.lab, &configured);
        let seed = self.lab.get("lab").and_then(|head| head.get("seed")?.as_integer());
        set_in_head(&mut lab, "seed", seed.map_or(SEED, |seed| seed ^ SEED).into());
        format!(
            "# Written by `seekwell tune`. Every table and field: docs/lab-reference.md.\n\n{}",
            toml::to_string(&lab).unwrap_or_default()
        )
    }
}

/// The lab with these stacks alone.
fn lab_of(base: &Table, configured: &[Configured]) -> Table {
    let mut lab = base.clone();
    let each = |table: fn(&Configured) -> Option<&Table>| {
        let mut tables: Vec<&Table> = Vec::new();
        for table in configured.iter().filter_map(table) {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        Value::Array(tables.into_iter().cloned().map(Value::Table).collect())
    };
    lab.insert("filesystem".into(), each(|one| Some(&one.filesystem)));
    lab.insert("scheduler".into(), each(|one| Some(&one.scheduler)));
    if configured.iter().any(|one| one.layer.is_some()) {
        lab.insert("layer".into(), each(|one| one.layer.as_ref()));
    }
    let stack = |one: &Configured| {
        let layer = one.layer.as_ref().map(|layer| ("layer", layer));
        let all = [("filesystem", &one.filesystem), ("scheduler", &one.scheduler)];
        let names = all.into_iter().chain(layer);
        let names = names.map(|(axis, table)| (axis.to_owned(), Configured::name(table).into()));
        Value::Table(names.collect())
    };
    lab.insert("stack".into(), Value::Array(configured.iter().map(stack).collect()));
    set_in_head(&mut lab, "stacks_only", true.into());
    lab
}

fn set_in_head(lab: &mut Table, key: &str, value: Value) {
    let head = lab.entry("lab").or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(head) = head {
        head.insert(key.to_owned(), value);
    }
}

/// Largest ratio of two trials of one configuration, less 1.
fn spread(all: &[Vec<f64>]) -> f64 {
    let of_one = |values: &Vec<f64>| {
        let most = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        most / least - 1.0
    };
    all.iter().filter(|values| values.len() > 1).map(of_one).fold(0.0, f64::max)
}

/// Label of a trial's stack, with every name also where an axis has one value.
fn label(plan: &Plan, trial: &PlannedTrial) -> String {
    let stack = plan.pair(trial).0;
    let layer = match stack.layers.is_default() {
        true => String::new(),
        false => format!("/{}", stack.layers.name),
    };
    format!("{}/{}{layer}", stack.filesystem.name, stack.scheduler.name)
}

fn resolved(
    session: &Session,
    lab: &Table,
    directory: &Path,
    options: &Options,
) -> Result<Resolved, SessionError> {
    let text = toml::to_string(lab).unwrap_or_default();
    let text =
        LabText { directory: directory.to_owned(), ..LabText::new("the lab of tune", &text) };
    session.resolve(&text, options)
}

/// The filesystems and schedulers that kernel and programs of a backend have.
fn spaces(facts: &BackendFacts, layer: Option<&Table>) -> Vec<Searched> {
    let has = |list: &[String], name: &str| list.iter().any(|one| one == name);
    let schedulers: Vec<usize> = (0..SCHEDULERS.len())
        .filter(|index| has(&facts.schedulers, SCHEDULERS[*index].0))
        .collect();
    let is_there = |one: &&FilesystemDefinition| {
        !one.choices.is_empty()
            && one.kernel_type.is_some_and(|kind| has(&facts.kernel_filesystems, kind))
            && one.maker().is_none_or(|maker| has(&facts.programs, maker))
    };
    let of_filesystem =
        |filesystem| Searched { filesystem, schedulers: schedulers.clone(), layer: layer.cloned() };
    FILESYSTEMS.iter().filter(is_there).map(of_filesystem).collect()
}
