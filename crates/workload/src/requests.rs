//! `requests`: the block requests of a trace on the raw device.

use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::replay::{content, is_guest, speed};
use crate::step::{self, Step, StepContext};
use crate::target::{self, Access};
use seekwell_host::confine::{Reach, read_confined};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::replay::{ReplaySpeed, guest_trace};
use seekwell_model::workloads::{RequestsParams, StepOutline};
use seekwell_replay::{
    Fidelity, Options, Place, RecordedRequests, ReplayError, RequestChoice, RequestPlan,
    RequestsReplayed, fill, plan_requests, replay_requests,
};
use seekwell_trace::Trace;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The plan, read by the first step.
type SharedPlan = Arc<Mutex<Option<Arc<RequestPlan>>>>;

/// The steps of a `requests` workload.
#[must_use]
pub fn steps(params: &RequestsParams) -> Vec<Box<dyn Step>> {
    let shared = SharedPlan::default();
    step::each(params.steps(), |outline| {
        let (params, shared) = (params.clone(), Arc::clone(&shared));
        Requests { outline, params, shared }
    })
}

/// The filling or the requests.
#[derive(Debug)]
struct Requests {
    outline: StepOutline,
    params: RequestsParams,
    shared: SharedPlan,
}

impl Requests {
    fn failed<E: Into<ReplayError>>(&self) -> impl Fn(E) -> WorkloadError + '_ {
        |source| WorkloadError::Replay { step: self.outline.name.clone(), source: source.into() }
    }

    fn plan(&self) -> Result<Arc<RequestPlan>, WorkloadError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = &*shared {
            return Ok(Arc::clone(plan));
        }
        let guest = is_guest().then(|| guest_trace(&self.params.trace));
        let folder = guest.as_ref().unwrap_or(&self.params.trace);
        let choice = RequestChoice { device: self.params.device, ..RequestChoice::default() };
        // The rights to write devices are not for what parses the recording of others.
        let plan = read_confined(&Reach::default().reading_trace(folder), || {
            plan_requests(&Trace::open(folder)?, &choice)
        });
        let plan = Arc::new(plan.map_err(self.failed())?);
        *shared = Some(Arc::clone(&plan));
        Ok(plan)
    }

    fn place(
        &self,
        recorded: &RecordedRequests,
        context: &StepContext<'_>,
    ) -> Result<Place, WorkloadError> {
        let (reach, longest) = (recorded.reach_bytes, recorded.longest_bytes);
        let (size, sector) = (context.device_bytes, context.sector_bytes);
        Place::new(reach, longest, size, sector, self.params.stretch).map_err(self.failed())
    }

    fn device(&self, context: &StepContext<'_>, write: bool) -> Result<File, WorkloadError> {
        if !context.raw {
            let problem = "repeats block requests, which would destroy a filesystem";
            return Err(WorkloadError::unfit(&self.outline.name, problem, "use a raw device"));
        }
        let access = Access { write, direct: true, durable: false };
        target::open_device(context, access, &self.outline.name)
    }

    fn fill(&self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let start = Instant::now();
        let plan = self.plan()?;
        let place = self.place(plan.recorded(), context)?;
        let device = self.device(context, true)?;
        let stop = context.stop.as_deref();
        let bytes = fill(&plan, &place, &device, context.device, content(self.params.zeros), stop)
            .map_err(self.failed())?;
        Ok(StepOutcome {
            app_bytes_written: bytes,
            elapsed_ns: u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            stopped: context.is_stopped(),
            ..StepOutcome::default()
        })
    }

    fn replay(&self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let plan = self.plan()?;
        let place = self.place(plan.recorded(), context)?;
        let device = self.device(context, plan.recorded().writes)?;
        let speed = speed(self.params.speed, self.params.scale);
        let (content, stop) = (content(self.params.zeros), context.stop.clone());
        // In virtual time a thread that waits awake would wait without end.
        let options = Options { speed, content, stop, awake: !is_guest(), kept: 0 };
        let replayed = replay_requests(&plan, &place, &device, context.device, &options)
            .map_err(self.failed())?;
        Ok(self.outcome(plan.recorded(), replayed))
    }

    fn outcome(&self, recorded: &RecordedRequests, replayed: RequestsReplayed) -> StepOutcome {
        let mut outcome = StepOutcome {
            ops: replayed.issued,
            app_bytes_read: replayed.bytes_read,
            app_bytes_written: replayed.bytes_written,
            cpu_ns: replayed.cpu_ns,
            elapsed_ns: replayed.elapsed_ns,
            stopped: replayed.stopped,
            ..StepOutcome::default()
        };
        if !replayed.stopped {
            outcome.warnings = warnings(&self.outline.name, recorded, &replayed);
        }
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let late = |q: f64| replayed.lateness.percentile_ns(q).map(|ns| ns as f64);
        let drift =
            share(replayed.span_ns, recorded.span_ns).map(|drift| drift / self.params.scale);
        let in_recorded = recorded.inside_ns.and_then(|sum| share(sum, recorded.elapsed_ns));
        let own = [
            ("lateness_p50", late(0.5)),
            ("lateness_p99", late(0.99)),
            ("drift", drift.filter(|_| self.params.speed == ReplaySpeed::Open)),
            ("requests_failed", Some(replayed.failed() as f64)),
            ("requests_left_out", Some((recorded.left_out + recorded.lost) as f64)),
            ("concurrency", share(replayed.inside_ns, replayed.elapsed_ns)),
            ("concurrency_recorded", in_recorded),
        ];
        for (kind, histogram) in replayed.latencies {
            outcome.keep(kind, histogram);
        }
        outcome.compute(&self.outline.metrics);
        outcome.set(own);
        outcome
    }
}

impl Step for Requests {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        if self.outline.measured { self.replay(context) } else { self.fill(context) }
    }
}

fn warnings(step: &str, recorded: &RecordedRequests, replayed: &RequestsReplayed) -> Vec<Warning> {
    let (failed, left_out) = (replayed.failed(), recorded.left_out + recorded.lost);
    if failed == 0 && left_out == 0 && replayed.zeroed == 0 {
        return Vec::new();
    }
    let all = replayed.issued + left_out;
    let same = all.saturating_sub(failed + left_out) as f64 / all.max(1) as f64;
    let code = match same < Fidelity::SUFFICIENT {
        true => WarningCode::LowFidelity,
        false => WarningCode::ReplayDiffers,
    };
    let failures = replayed.failures.iter().map(|(one, count)| {
        let why = match one.errno {
            0 => "fewer bytes than asked for".to_owned(),
            errno => io::Error::from_raw_os_error(errno).to_string(),
        };
        format!("{count} × {}: {}", one.operation.name(), why.split(" (os").next().unwrap_or(&why))
    });
    let lost = (recorded.lost > 0).then(|| format!("{} × lost by the recording", recorded.lost));
    let zeroed = (replayed.zeroed > 0)
        .then(|| format!("{} × discard issued as a write of zeroes", replayed.zeroed));
    let failures: Vec<String> = failures.chain(lost).chain(zeroed).collect();
    let text = format!(
        "{step}: {left_out} of {all} recorded requests left out, {failed} failed: {}",
        failures.join("; ")
    );
    vec![Warning::new(code, text.trim_end_matches(": ").to_owned())]
}
