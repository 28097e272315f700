//! Progress of a run on standard error: one redrawn line on a terminal, one line per trial
//! elsewhere. It shows no ranking: looking at one invites stopping when it pleases.

use crate::terminal;
use indicatif::{ProgressBar, ProgressStyle};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::units::Nanos;
use seekwell_runner::execute::Event;
use seekwell_runner::staged::Part;

/// Shows the events of a run.
pub struct Progress<'a> {
    plan: &'a Plan,
    bar: Option<ProgressBar>,
    last: String,
}

impl<'a> Progress<'a> {
    /// A display for this plan.
    pub fn new(plan: &'a Plan) -> Self {
        let bar = terminal::redraws().then(|| {
            let bar = ProgressBar::new(plan.trials.len() as u64);
            let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { plan, bar, last: String::new() }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Began { trial, done, total, left_ns } => {
                self.began(trial, *done, *total, *left_ns)
            }
            Event::Step { name, .. } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("{}: {name}", self.last));
                }
            }
            Event::Ended { trial, record } => self.ended(trial, record),
            Event::Quarantined { trial, reason } => self.line(&format!(
                "{}: failed {} times in a row and is not tried again: {reason}",
                self.name(trial),
                seekwell_runner::execute::FAILURES_BEFORE_QUARANTINE
            )),
            Event::Part { part, stacks } => self.line(&part_words(*part, *stacks)),
            Event::Outlook(outlook) => {
                for line in seekwell_report::outlook_text(outlook, terminal::width()).lines() {
                    self.line(line);
                }
            }
        }
    }

    /// Removes the redrawn line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn name(&self, trial: &PlannedTrial) -> String {
        let (stack, workload) = self.plan.pair(trial);
        if self.plan.workloads.len() > 1 {
            format!("{} {}", stack.label, workload.name)
        } else {
            stack.label.clone()
        }
    }

    fn began(&mut self, trial: &PlannedTrial, done: u64, total: u64, left_ns: u64) {
        let name = self.name(trial);
        let left = Nanos(left_ns);
        match &self.bar {
            Some(bar) => {
                bar.set_length(total);
                bar.set_position(done);
                self.last = format!("{left} left  round {}  {name}", trial.round + 1);
                bar.set_message(self.last.clone());
            }
            None => terminal::talk(&format!(
                "trial {}/{total}  round {}  {name}  {left} left",
                done + 1,
                trial.round + 1
            )),
        }
    }

    fn ended(&self, trial: &PlannedTrial, record: &Record) {
        if let Status::Failed { stage, reason } = &record.status {
            self.line(&format!("{}: failed in {stage}: {reason}", self.name(trial)));
        }
    }

    fn line(&self, text: &str) {
        let text = terminal::harmless(text);
        match &self.bar {
            Some(bar) => bar.println(text),
            None => terminal::talk(&text),
        }
    }
}

fn part_words(part: Part, stacks: usize) -> String {
    match part {
        Part::Pilot => {
            format!("pilot: {stacks} stacks, to learn how much trials vary and how long they take")
        }
        Part::Screen => format!("screen: {stacks} stacks; the better half goes on"),
        Part::Final => format!("final: {stacks} stacks in fresh rounds"),
    }
}
