//! Progress of a run on standard error: a live screen on a terminal, one line per trial elsewhere.
//! It shows no ranking: looking at one invites stopping when it pleases.

pub mod child;
mod left;
pub mod live;
pub mod recording;
pub mod state;

use crate::screen;
use crate::terminal;
use child::ScreenProcess;
use left::TimeLeft;
use seekwell_model::backend::ImageProgress;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::units::Nanos;
use seekwell_runner::execute::Event;
use seekwell_runner::staged::Part;
use state::{ImageState, State};
use std::path::Path;
use std::time::Instant;

/// Shows the events of a run.
pub struct Progress<'a> {
    plan: &'a Plan,
    state: State,
    left: TimeLeft<'a>,
    /// Start of the image that is being written.
    image: Option<Instant>,
    screen: Option<ScreenProcess>,
    /// Lines that only the screen showed; they are printed again after it closes.
    unsaid: Vec<String>,
}

impl<'a> Progress<'a> {
    /// A display for this plan, on a screen when there can be one and it is wanted. `scratch` is
    /// the directory of the images.
    pub fn new(plan: &'a Plan, backend: &str, scratch: &Path, on_screen: bool) -> Self {
        // Without a screen, for any reason, there are lines.
        let screen = (on_screen && screen::possible())
            .then(|| ScreenProcess::start("screen").ok())
            .flatten();
        let state = State::new(plan, backend, scratch);
        let left = TimeLeft::new(plan);
        let mut progress = Self { plan, state, left, image: None, screen, unsaid: Vec::new() };
        progress.redraw();
        progress
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::CheckingReplays => {
                self.line(
                    "replaying on the recorded filesystem, to compare its time with your program's",
                );
            }
            Event::Began { trial, done, total, left_ns } => {
                self.began(trial, *done, *total, *left_ns)
            }
            Event::Step { name, .. } => self.step(name),
            Event::Ended { trial, record } => self.ended(trial, record),
            Event::Quarantined { trial, reason } => self.line(&format!(
                "{}: failed {} times in a row and is not run again: {reason}",
                self.name(trial),
                seekwell_runner::records::FAILURES_BEFORE_QUARANTINE
            )),
            Event::Part { part, stacks } => self.line(&part_words(*part, *stacks)),
        }
    }

    /// Gives the terminal back.
    pub fn finish(&mut self) {
        if let Some(screen) = self.screen.take() {
            screen.finish();
            self.unsaid.drain(..).for_each(|line| terminal::talk(&line));
        }
    }

    /// Sends the state to the screen. One that the user left is no more: lines from now on.
    fn redraw(&mut self) {
        let Some(screen) = &self.screen else { return };
        if !screen.send(&self.state) {
            self.finish();
            terminal::talk("screen closed; the run continues, Ctrl-C ends it after this trial");
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
        let left_ns = self.left.began(trial).unwrap_or(left_ns);
        self.state.began(trial, name.clone(), (done, total), left_ns);
        self.redraw();
        if self.screen.is_none() {
            terminal::talk(&format!(
                "trial {}/{total}  round {}  {name}  {} left",
                done + 1,
                trial.round + 1,
                Nanos(left_ns)
            ));
        }
    }

    fn step(&mut self, name: &str) {
        name.clone_into(&mut self.state.current.step);
        match ImageProgress::from_step(name) {
            Some(image) => self.image(&image),
            None if self.image.take().is_some() => {
                self.state.image = None;
                self.left.began_now();
            }
            None => {}
        }
        self.redraw();
    }

    fn image(&mut self, image: &ImageProgress) {
        // The next image of a trial begins at 0 again.
        if self.image.is_none() || image.written.0 == 0 {
            self.image = Some(Instant::now());
            if self.screen.is_none() {
                terminal::talk(&format!("writing the image of {}: {}", image.name, image.size));
            }
        }
        let spent_ns = self.image.map_or(0, |begun| begun.elapsed().as_nanos());
        let rest = u128::from(image.size.0.saturating_sub(image.written.0));
        let left_ns = (spent_ns * rest).checked_div(u128::from(image.written.0));
        let left_ns = left_ns.and_then(|left| u64::try_from(left).ok());
        self.state.image = Some(ImageState { left_ns });
    }

    fn ended(&mut self, trial: &PlannedTrial, record: &Record) {
        self.left.ended();
        self.state.ended(self.plan, trial, record);
        if let Status::Failed { stage, reason } = &record.status {
            self.line(&format!("{}: failed in {stage}: {reason}", self.name(trial)));
        } else {
            self.redraw();
        }
    }

    fn line(&mut self, text: &str) {
        let text = terminal::harmless(text);
        self.state.note(text.clone());
        if self.screen.is_some() {
            self.unsaid.push(text);
            self.redraw();
        } else {
            terminal::talk(&text);
        }
    }
}

fn part_words(part: Part, stacks: usize) -> String {
    match part {
        Part::Pilot => {
            format!("pilot: {stacks} stacks, to learn how much trials vary and how long they take")
        }
        Part::Screen => format!("screen: {stacks} stacks; the better half continues"),
        Part::Final => format!("final: {stacks} stacks in fresh rounds"),
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}
