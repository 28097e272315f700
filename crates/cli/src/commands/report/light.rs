//! The parts of records that a text shows: a run of 100,000 trials fills gigabytes.

use seekwell_model::plan::Plan;
use seekwell_model::power_cut;
use seekwell_model::record::{Record, Sample};
use seekwell_model::stack::{Backing, Stack};
use seekwell_model::verdict::{METHOD, Verdict};
use seekwell_store::{Timeline, Wanted};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Takes out of records what no text of their run shows.
pub(super) struct Light {
    /// Parts that the text of a judged run shows; `None` if it may show everything that is not taken out of every record.
    judged: Option<Judged>,
    /// The judged step, of whose samples texts tell where nothing else is known of the run.
    step: String,
}

/// Windows inside a step that tell how many requests were in flight.
const WINDOWS: usize = 3;

/// Parts of trials that the text of a judged run shows. The verdict has all other findings.
struct Judged {
    /// The judged step.
    step: String,
    /// Metrics by `STEP.METRIC`.
    metrics: Vec<Arc<str>>,
    /// True for modelled devices, of which no text tells the cost of a trial.
    is_model: bool,
}

impl Light {
    /// Keeps every metric, for tables.
    pub(super) fn with_metrics(plan: &Plan) -> Self {
        Self { judged: None, step: judged_step(plan) }
    }

    /// For a run of this plan and the verdict that its file holds; without one, and for one of an earlier method,
    /// which is judged again, everything may be shown.
    pub(super) fn of(plan: &Plan, verdict: Option<&Verdict>) -> Self {
        let modelled = |stack: &Stack| matches!(stack.device.backing, Backing::Model { .. });
        let judged = |verdict: &Verdict| {
            let (step, _) = verdict.metric.split_once('.')?;
            // The write-back of the judged step, and its length.
            let usual = ["elapsed", "elapsed_durable", "undurable_bytes"];
            let mut metrics: BTreeSet<String> =
                usual.iter().map(|name| format!("{step}.{name}")).collect();
            metrics.extend([&verdict.metric, &plan.lab.judge.metric].map(Clone::clone));
            metrics.extend(seekwell_report::shown_metrics(plan, verdict));
            if plan.lab.trial.power_cut > 0 {
                // The classes of the stacks follow from them, and from the classes the comparisons.
                let cuts = power_cut::METRICS.iter();
                metrics.extend(cuts.map(|name| format!("{}.{name}", power_cut::STEP)));
            }
            let metrics = metrics.into_iter().map(Arc::from).collect();
            let is_model = plan.stacks.iter().any(modelled);
            Some(Judged { step: step.to_owned(), metrics, is_model })
        };
        let current = verdict.filter(|verdict| verdict.method == METHOD);
        Self { judged: current.and_then(judged), step: judged_step(plan) }
    }

    /// Parts of records that are worth reading: of a record that is read whole, [`Self::lighten`] leaves no more.
    pub(super) fn wanted(&self) -> Wanted {
        let shown = |judged: &Judged| judged.metrics.iter().map(ToString::to_string).collect();
        Wanted {
            histograms: false,
            series: false,
            timeline: Timeline::Told,
            metrics: self.judged.as_ref().map(shown),
        }
    }

    pub(super) fn lighten(&self, record: &mut Record) {
        for step in &mut record.steps {
            step.histograms = BTreeMap::new();
            step.single_ios = Vec::new();
        }
        record.block_events = None;
        record.journal_timeline = Vec::new();
        match &self.judged {
            Some(judged) => judged.lighten(record),
            None => record.timeline = self.samples(record),
        }
    }

    /// Few samples that tell what all do: the mean pressure on the CPUs of all and of those that touch the judged step, and
    /// the mean of the requests in flight where enough intervals are inside of it.
    fn samples(&self, record: &Record) -> Vec<Sample> {
        let all = mean(&record.timeline);
        let Some(step) = record.steps.iter().find(|step| step.name == self.step) else {
            return all.into_iter().map(|all| sample(0, Some(all))).collect();
        };
        let inside = mean(step.samples(&record.timeline));
        let others = match (all, inside) {
            (Some(all), Some(inside)) => Some(2.0 * all - inside),
            (all, _) => all,
        };
        let is_inside =
            |pair: &&[Sample]| pair[0].at_ns >= step.started_ns && pair[1].at_ns <= step.ended_ns;
        let queues: Vec<f64> =
            record.timeline.windows(2).filter(is_inside).map(|pair| pair[1].queue_size).collect();
        let mut samples = vec![sample(step.started_ns, others)];
        if queues.len() >= WINDOWS {
            let queue_size = queues.iter().sum::<f64>() / queues.len() as f64;
            samples.extend([1, 2].map(|after| sample(step.started_ns + after, None)));
            samples.push(sample(step.ended_ns, inside));
            samples[1..].iter_mut().for_each(|one| one.queue_size = queue_size);
        } else if inside.is_some() {
            samples.push(sample(step.ended_ns.max(step.started_ns + 1), inside));
        }
        samples
    }
}

fn judged_step(plan: &Plan) -> String {
    plan.lab.judge.metric.split_once('.').map_or("", |(step, _)| step).to_owned()
}

fn sample(at_ns: u64, cpu_pressure_percent: Option<f64>) -> Sample {
    Sample { at_ns, cpu_pressure_percent, ..Sample::default() }
}

impl Judged {
    fn lighten(&self, record: &mut Record) {
        record.smart = None;
        record.timeline = self.pressure(record);
        record.keep_metrics(&self.metrics, &self.step);
        if self.is_model {
            record.steps.retain(|step| step.name == self.step || !step.warnings.is_empty());
        }
        record.steps.shrink_to_fit();
    }

    /// A sample with the mean pressure on the CPUs of all, all that a text tells of a timeline on modelled devices. On a
    /// host two samples: that which touches the judged step has the mean of those that do.
    fn pressure(&self, record: &Record) -> Vec<Sample> {
        let Some(all) = mean(&record.timeline) else { return Vec::new() };
        let sample = |at_ns, percent| sample(at_ns, Some(percent));
        // The noise of a host is told by that of the judged step.
        let step = record.steps.iter().find(|step| step.name == self.step && !self.is_model);
        let inside = step.and_then(|step| Some((step, mean(step.samples(&record.timeline))?)));
        match inside {
            None => vec![sample(0, all)],
            Some((step, inside)) => {
                let at_ns = step.ended_ns.max(step.started_ns + 1);
                vec![sample(0, 2.0 * all - inside), sample(at_ns, inside)]
            }
        }
    }
}

/// Mean pressure on the CPUs.
fn mean(samples: &[Sample]) -> Option<f64> {
    let seen: Vec<f64> = samples.iter().filter_map(|one| one.cpu_pressure_percent).collect();
    (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
}
