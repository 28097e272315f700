//! `rrd`: round-robin files, all updated at every poll, and another tenant's fsyncs during the polls.

pub mod access;
pub mod format;
mod others;
mod pollers;
mod tenant;
pub mod update;

use crate::error::WorkloadError;
use crate::io::Place;
use crate::mail::Root;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use format::{Archive, Consolidation, Definition, Source, SourceKind};
use others::Others;
use pollers::{Poller, Share};
use rustix::fd::OwnedFd;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::rrd::{CACTI_ARCHIVES, RrdOrder, RrdParams, STEP_SECONDS};
use seekwell_stats::{Histogram, derive_seed, seeded};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tenant::{Flush, Tenant};

/// Time of the files' last update before the first poll, in seconds since 1970.
const CREATED_S: u64 = 1_262_304_000;
/// A poller is not on time to the second.
const LATE_S: u64 = 5;
/// Fsyncs of the tenant that are measured alone, before the first poll.
const ALONE: u64 = 50;
/// And at most so long.
const ALONE_NS: u64 = 1_000_000_000;

/// The steps of an `rrd` workload.
#[must_use]
pub fn steps(params: &RrdParams, place: Place) -> Vec<Box<dyn Step>> {
    let polled = Arc::new(AtomicU64::new(0));
    let step = |outline: StepOutline| -> Box<dyn Step> {
        let params = params.clone();
        match outline.name.as_str() {
            "create" => Box::new(Create { outline, params, place }),
            _ => Box::new(Poll { outline, params, place, polled: Arc::clone(&polled) }),
        }
    };
    params.steps().into_iter().map(step).collect()
}

/// The definition of a file of Cacti: counters of traffic, each archive as mean and as maximum.
#[must_use]
pub fn definition(sources: u64) -> Definition {
    let archives = |function| {
        CACTI_ARCHIVES.iter().map(move |&(rows, steps)| Archive {
            function,
            rows,
            steps,
            unknown: 0.5,
        })
    };
    Definition {
        step_s: STEP_SECONDS,
        sources: (0..sources)
            .map(|number| Source {
                name: format!("traffic_{number}"),
                kind: SourceKind::Counter,
                heartbeat_s: 2 * STEP_SECONDS,
                min: 0.0,
                max: 1e9,
            })
            .collect(),
        archives: archives(Consolidation::Average).chain(archives(Consolidation::Max)).collect(),
    }
}

/// Name of a file by its number.
#[must_use]
pub fn file_name(file: u64) -> String {
    format!("{file:07}.rrd")
}

/// Time of the updates of a poll, in seconds since 1970. Polls are numbered from 0.
#[must_use]
pub fn time_s(poll: u64) -> u64 {
    CREATED_S + STEP_SECONDS * (poll + 1) + LATE_S
}

/// The counters of a file at a poll, as the texts that an update has.
#[derive(Debug)]
pub struct UpdateText {
    sources: u64,
    texts: Vec<String>,
}

impl UpdateText {
    /// For files with so many sources.
    #[must_use]
    pub fn new(sources: u64) -> Self {
        Self { sources, texts: Vec::new() }
    }

    /// One counter per source; each rises by the same amount from poll to poll.
    pub fn values(&mut self, file: u64, poll: u64) -> Vec<&str> {
        let counter = |source: u64| {
            let rate = 100 + (file * 7_919 + source * 104_729) % 100_000;
            (file * 1_000_003 + rate * STEP_SECONDS * (poll + 1)).to_string()
        };
        self.texts = (0..self.sources).map(counter).collect();
        self.texts.iter().map(String::as_str).collect()
    }
}

fn directory(
    step: &str,
    place: Place,
    context: &StepContext<'_>,
) -> Result<PathBuf, WorkloadError> {
    Ok(context.filesystem(step)?.join(place.name("rra")))
}

/// Numbers of the files in the order in which they are made.
fn made_order(params: &RrdParams, seed: u64) -> Vec<u64> {
    let mut files: Vec<u64> = (0..params.files).collect();
    if params.order == RrdOrder::Shuffled {
        seeded(derive_seed(seed, "rrd order")).shuffle(&mut files);
    }
    files
}

/// Makes the files.
#[derive(Debug)]
struct Create {
    outline: StepOutline,
    params: RrdParams,
    place: Place,
}

impl Step for Create {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let path = directory(&self.outline.name, self.place, context)?;
        let begin_ns = MonotonicClock.now_ns();
        std::fs::create_dir(&path).map_err(WorkloadError::file("make the directory", &path))?;
        let content = definition(self.params.sources).new_file(CREATED_S);
        let mut others = match self.params.between {
            Bytes(0) => None,
            size => Some(Others::new(&path, size, context.seed)?),
        };
        let mut outcome = StepOutcome::default();
        for file in made_order(&self.params, context.seed) {
            if context.is_stopped() {
                outcome.stopped = true;
                break;
            }
            let name = file_name(file);
            let file = path.join(&name);
            std::fs::write(&file, &content).map_err(WorkloadError::file("write", &file))?;
            outcome.ops += 1;
            outcome.app_bytes_written += content.len() as u64;
            if let Some(others) = &mut others {
                outcome.app_bytes_written += others.add(&name)?;
            }
        }
        if self.params.tenant_every.0 > 0 {
            tenant::prepare(&path.join("tenant.data"))?;
        }
        outcome.elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
        Ok(outcome)
    }
}

/// Polls: every file is updated, and all updates are made durable.
#[derive(Debug)]
struct Poll {
    outline: StepOutline,
    params: RrdParams,
    place: Place,
    /// Polls that were made by earlier runs of the step: time does not go back.
    polled: Arc<AtomicU64>,
}

/// Durations of the polls.
#[derive(Debug, Default)]
struct Times {
    updated: Histogram,
    durable: Histogram,
    polls: u64,
}

impl Poll {
    fn shares<'a>(&self, directory: &'a OwnedFd, path: &'a Path) -> Vec<Share<'a>> {
        let processes = u64::from(self.params.processes);
        let cut = |part: u64| part * self.params.files / processes;
        (0..processes)
            .map(|part| Share {
                directory,
                path,
                files: cut(part)..cut(part + 1),
                sources: self.params.sources,
                access: self.params.access,
            })
            .collect()
    }

    fn polls(
        &self,
        directory: &OwnedFd,
        shares: &[Share<'_>],
        pollers: &mut [Poller],
        flush: Option<&Flush>,
        context: &StepContext<'_>,
    ) -> Result<Times, WorkloadError> {
        let mut times = Times::default();
        let mut due_ns = MonotonicClock.now_ns();
        for _ in 0..self.params.polls {
            MonotonicClock.sleep_until_ns(due_ns);
            if context.is_stopped() {
                break;
            }
            let poll = self.polled.fetch_add(1, Ordering::Relaxed);
            let begin_ns = MonotonicClock.now_ns();
            if let Some(flush) = flush {
                flush.start(begin_ns);
            }
            for poller in pollers.iter_mut() {
                poller.begin(poll)?;
            }
            for (poller, share) in pollers.iter_mut().zip(shares) {
                poller.wait(share)?;
            }
            times.updated.record(MonotonicClock.now_ns().saturating_sub(begin_ns));
            rustix::fs::syncfs(directory)
                .map_err(|errno| WorkloadError::file("sync", shares[0].path)(errno))?;
            let durable_ns = MonotonicClock.now_ns();
            if let Some(flush) = flush {
                flush.end(durable_ns);
            }
            times.durable.record(durable_ns.saturating_sub(begin_ns));
            times.polls += 1;
            due_ns = begin_ns.saturating_add(self.params.interval.0).max(MonotonicClock.now_ns());
        }
        Ok(times)
    }

    /// Watches the tenant for a while before there is a poll.
    fn tenant_alone(&self, path: &Path) -> Result<Histogram, WorkloadError> {
        let every = self.params.tenant_every;
        let tenant = Tenant::start(path, every)?;
        let time_ns = every.0.saturating_mul(ALONE).min(ALONE_NS);
        MonotonicClock.sleep_until_ns(MonotonicClock.now_ns().saturating_add(time_ns));
        Ok(tenant.finish()?.all)
    }
}

impl Step for Poll {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let Root { directory: open, path } =
            Root::open(directory(&self.outline.name, self.place, context)?)?;
        let shares = self.shares(&open, &path);
        let mut pollers = shares.iter().map(Poller::start).collect::<Result<Vec<_>, _>>()?;
        let tenant_path = path.join("tenant.data");
        let has_tenant = self.params.tenant_every.0 > 0;
        let alone = has_tenant.then(|| self.tenant_alone(&tenant_path)).transpose()?;
        let tenant = has_tenant
            .then(|| Tenant::start(&tenant_path, self.params.tenant_every))
            .transpose()?;
        let begin_ns = MonotonicClock.now_ns();
        let flush = tenant.as_ref().map(Tenant::flush);
        let polled = self.polls(&open, &shares, &mut pollers, flush.as_deref(), context);
        let elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
        let fsyncs = tenant.map(Tenant::finish);
        let times = polled?;
        let mut outcome = StepOutcome {
            ops: times.polls * self.params.files,
            elapsed_ns,
            stopped: times.polls < self.params.polls,
            ..StepOutcome::default()
        };
        let mut updates = Histogram::new();
        for poller in pollers {
            let done = poller.finish()?;
            updates.merge(&done.updates);
            outcome.cpu_ns += done.cpu_ns;
        }
        outcome.keep("update", updates);
        if let Some(fsyncs) = fsyncs.transpose()? {
            outcome.keep("fsync", fsyncs.all);
            outcome.keep("fsync_flush", fsyncs.during_flush);
        }
        if let Some(alone) = alone {
            outcome.keep("fsync_alone", alone);
        }
        measure(&mut outcome, &times);
        outcome.keep("poll_updated", times.updated);
        outcome.keep("poll_durable", times.durable);
        outcome.compute(&self.outline.metrics);
        Ok(outcome)
    }
}

fn measure(outcome: &mut StepOutcome, times: &Times) {
    let seconds = |ns: f64| ns / 1e9;
    let updated = times.updated.mean_ns().map(seconds);
    let per_s = updated
        .filter(|seconds| *seconds > 0.0 && times.polls > 0)
        .map(|seconds| outcome.ops as f64 / times.polls as f64 / seconds);
    let fsync = outcome.histograms.get("fsync");
    let alone = outcome.histograms.get("fsync_alone");
    let percentile = |histogram: Option<&Histogram>, q: f64| {
        histogram.and_then(|histogram| histogram.percentile_ns(q)).map(|ns| ns as f64)
    };
    let found = [
        ("updates_per_s", per_s),
        ("poll_elapsed", updated),
        ("poll_durable", times.durable.mean_ns().map(seconds)),
        ("poll_durable_max", times.durable.max_ns().map(|ns| seconds(ns as f64))),
        ("fsync_p50", percentile(fsync, 0.5)),
        ("fsync_p99", percentile(fsync, 0.99)),
        ("fsync_max", fsync.and_then(Histogram::max_ns).map(|ns| ns as f64)),
        ("fsync_alone_p99", percentile(alone, 0.99)),
    ];
    outcome.set(found);
}

#[cfg(test)]
mod tests;
