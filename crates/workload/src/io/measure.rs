//! The measured operations.

use super::{LastWrites, Place, Setting, append};
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use crate::target::{self, Access, OpenTarget};
use seekwell_engine::{
    AppendEnd, DataShape, GroupCommit, Job, Progress, RateReport, Span, Written, run,
};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{IoParams, StepOutline};
use seekwell_stats::derive_seed;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The step.
#[derive(Debug)]
pub struct Measure {
    outline: StepOutline,
    setting: Setting,
    progress: Arc<Progress>,
    advise_random: bool,
    writes: LastWrites,
}

/// An open loop that completed less than this part of what it was asked for did not keep its rate.
const KEPT_RATE: f64 = 0.99;

impl Measure {
    /// The step with its outline.
    #[must_use]
    pub fn new(outline: StepOutline, setting: Setting) -> Self {
        let progress = Arc::new(Progress::new(setting.params.threads));
        let writes = LastWrites::default();
        Self { outline, setting, progress, advise_random: false, writes }
    }

    /// The same with nothing read ahead of the accesses.
    #[must_use]
    pub fn advised_random(mut self) -> Self {
        self.advise_random = true;
        self
    }

    /// The writes of its last run, for the step that checks them.
    #[must_use]
    pub fn writes(&self) -> LastWrites {
        self.writes.clone()
    }

    /// The seed of the offsets.
    pub(crate) fn seed(&self, context: &StepContext<'_>) -> u64 {
        derive_seed(context.seed, &self.setting.place.name(&self.outline.name))
    }

    pub(crate) fn target(&self, context: &StepContext<'_>) -> Result<OpenTarget, WorkloadError> {
        let params = &self.setting.params;
        let access = Access::of(params);
        if context.raw {
            let span = self.setting.raw_span(context)?;
            let file = target::open_device(context, access, &self.outline.name)?;
            return Ok(OpenTarget { file, path: context.device.to_owned(), span });
        }
        if params.durability.append {
            return append::create(&self.setting, context, access);
        }
        let path = self.setting.path(self.setting.directory(context)?);
        let file = target::open(&path, access).map_err(|source| {
            if access.direct && source.raw_os_error() == Some(libc::EINVAL) {
                let problem = format!("cannot open {} for direct I/O", path.display());
                return self.setting.unfit(problem, "use cache = \"cold\" on this filesystem");
            }
            WorkloadError::file("open", &path)(source)
        })?;
        if access.direct {
            // What populating left in the cache would make the kernel look there first.
            target::drop_cached(&file).map_err(WorkloadError::file("drop the cache of", &path))?;
        }
        let length = file.metadata().map_err(WorkloadError::file("stat", &path))?.len();
        Ok(OpenTarget { file, path, span: Span { offset: 0, length } })
    }
}

/// Compressibility and repetition of the written data.
pub(super) fn data_shape(params: &IoParams) -> DataShape {
    DataShape::of(params.compressible, params.repeated)
}

/// The job that the parameters describe.
///
/// # Errors
/// None of its own: [`run`] checks the job.
pub(crate) fn job<'a>(
    params: &IoParams,
    target: &'a OpenTarget,
    direct: bool,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Job<'a> {
    // The catalogue bounds the size at 64 MiB.
    let block_bytes = u32::try_from(params.size.0).unwrap_or(u32::MAX);
    let mut job = Job::new(target.file.as_fd(), target.span, block_bytes);
    job.pattern = params.pattern;
    job.read_percent = params.read_percent;
    job.threads = params.threads;
    job.depth = params.depth;
    job.engine = params.engine.into();
    job.direct = direct;
    job.rate = params.rate;
    job.count = params.count;
    job.time_ns = params.time.map(|time| time.0);
    job.fsync_every = params.fsync_every;
    job.sync = params.durability.sync;
    if params.durability.group_commit {
        job.group_commit = Some(Arc::new(GroupCommit::default()));
    }
    if params.durability.append {
        job.append = Some(Arc::new(AppendEnd::new(target.span.offset)));
        job.count = Some(params.count.unwrap_or(u64::MAX).min(room(target, params)));
    }
    job.data = DataShape { by_offset: params.verify > 0, ..data_shape(params) };
    job.seed = seed;
    job.stop = stop;
    job
}

/// Appends that the file has room for.
fn room(target: &OpenTarget, params: &IoParams) -> u64 {
    target.span.length / params.size.0.max(1)
}

/// The doubt about an open loop that fell behind.
pub(crate) fn rate_warning(rate: RateReport) -> Option<Warning> {
    if rate.achieved >= KEPT_RATE * rate.requested as f64 {
        return None;
    }
    let mut text = format!(
        "{:.0} of {} operations per second were achieved, so latencies include the wait in a \
         growing queue",
        rate.achieved, rate.requested
    );
    if rate.owed > 0 {
        text.push_str(&format!(
            "; {} operations that were due never started and are in no latency",
            rate.owed
        ));
    }
    Some(Warning::new(WarningCode::RateNotKept, text))
}

impl Step for Measure {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn progress(&self) -> Option<Arc<Progress>> {
        Some(Arc::clone(&self.progress))
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        self.setting.check_sector(context)?;
        let target = self.target(context)?;
        let params = &self.setting.params;
        let seed = self.seed(context);
        if self.advise_random {
            target.advise_random()?;
        }
        let mut job = job(params, &target, self.setting.direct(), seed, context.stop.clone());
        job.progress = Some(Arc::clone(&self.progress));
        if self.setting.place != Place::Main && job.stop.is_some() {
            // A background workload runs as long as the measured one.
            job.time_ns = None;
            job.count = job.append.is_some().then(|| room(&target, params));
        }
        let result = run(&job).map_err(|source| WorkloadError::Job {
            step: self.outline.name.clone(),
            target: target.path.clone(),
            source,
        })?;
        self.writes.keep(Written::of(&job, &result));
        let warning = result.rate.and_then(rate_warning);
        let syncs = job.group_commit.as_ref().map(|group| group.syncs());
        let mut outcome = StepOutcome::from(result);
        outcome.warnings.extend(warning);
        outcome.compute(&self.outline.metrics);
        if let Some(syncs) = syncs.filter(|syncs| *syncs > 0) {
            let writes = outcome.app_bytes_written / params.size.0.max(1);
            outcome.metrics.insert("writes_per_sync".to_owned(), writes as f64 / syncs as f64);
        }
        if self.outline.reports("seek_time") {
            outcome.metrics.extend(seek_time(params, outcome.elapsed_ns, outcome.ops));
        }
        Ok(outcome)
    }
}

/// Time of one access: each of the operations in flight had its share of the elapsed time.
pub(crate) fn seek_time(params: &IoParams, elapsed_ns: u64, ops: u64) -> Option<(String, f64)> {
    let in_flight = f64::from(params.threads) * f64::from(params.depth);
    (ops > 0).then(|| ("seek_time".to_owned(), elapsed_ns as f64 * in_flight / ops as f64))
}
