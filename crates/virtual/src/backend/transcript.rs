//! The transcript of a guest's agent, and the record made of it.

use seekwell_model::agent::{AgentMessage, FoundDatabase, FoundFile};
use seekwell_model::record::{Record, Status};

use crate::end::{End, last_lines};
use crate::machine::Outcome;
use crate::medium::{self, Word};

#[cfg(test)]
mod tests;

/// Lines of the console quoted in the reason of a failure.
const CONSOLE_LINES: usize = 12;

/// The agent's messages, line by line.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    rest: Vec<u8>,
    taken: usize,
    words: Vec<Word>,
    record: Option<Box<Record>>,
    garbled: Option<String>,
    /// States that surveys have found.
    pub(super) states: Vec<State>,
    now: State,
}

/// The state that a survey found.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) files: Vec<FoundFile>,
    pub(super) database: Option<FoundDatabase>,
    pub(super) record: Option<Record>,
}

impl Transcript {
    /// Takes more output; `progress` gets the name of each step when it begins.
    pub(super) fn take(&mut self, bytes: &[u8], progress: &mut dyn FnMut(&str)) {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.taken += line.len();
            match serde_json::from_slice(&line) {
                Ok(AgentMessage::Step { name }) => {
                    progress(&name);
                    self.words.push(Word { ends_at: self.taken, step: Some(name) });
                }
                Ok(AgentMessage::Record(record)) => {
                    let state = std::mem::take(&mut self.now);
                    self.states.push(State { record: Some((*record).clone()), ..state });
                    self.record = Some(record);
                    self.words.push(Word { ends_at: self.taken, step: None });
                }
                Ok(AgentMessage::Found(file)) => self.now.files.push(file),
                Ok(AgentMessage::Database(database)) => self.now.database = Some(database),
                Err(_) => self.garbled = Some(String::from_utf8_lossy(&line).trim().to_owned()),
            }
        }
    }

    /// Returns the step that began last.
    fn step(&self) -> Option<&str> {
        self.words.iter().rev().find_map(|word| word.step.as_deref())
    }
}

/// Virtual time at which a step began.
pub(super) fn begin_ns(outcome: &Outcome, step: &str) -> Option<u64> {
    let mut transcript = Transcript::default();
    transcript.take(&outcome.output, &mut |_| {});
    let word = transcript.words.iter().find(|word| word.step.as_deref() == Some(step))?;
    Some(medium::by(&outcome.heard, word.ends_at)?.at_ns)
}

/// Returns the agent's record with the fingerprint, or a failed record with the reason when there is none.
pub(super) fn record(transcript: Transcript, outcome: &Outcome) -> Record {
    let fingerprint = Some(outcome.fingerprint.to_string());
    match transcript.record {
        Some(mut record) if outcome.end == (End::Finished { status: 0 }) => {
            medium::add(&mut record.steps, &transcript.words, &outcome.heard);
            Record { fingerprint, ..*record }
        }
        _ => {
            let stage = transcript.step().unwrap_or("setup").to_owned();
            let reason = why(&outcome.end, transcript.garbled.as_deref(), outcome);
            Record { fingerprint, elapsed_ns: outcome.virtual_ns, ..Record::failed(stage, reason) }
        }
    }
}

/// Returns the states that the guest's surveys found, up to `wanted`; the last is that which it died of.
pub(super) fn states(mut transcript: Transcript, outcome: &Outcome, wanted: usize) -> Vec<State> {
    let mut states = std::mem::take(&mut transcript.states);
    if states.len() < wanted {
        let state = std::mem::take(&mut transcript.now);
        states.push(State { record: Some(record(transcript, outcome)), ..state });
    }
    states
}

/// Begin of the reason of a guest that ended without a record.
fn no_record(end: &End) -> String {
    format!("the guest ended without a record: {end}")
}

/// Returns true for the record of a guest that its host ended: on another one the trial may end well.
#[must_use]
pub fn was_ended_by_host(record: &Record) -> bool {
    let Status::Failed { reason, .. } = &record.status else { return false };
    let first = reason.lines().next().unwrap_or_default();
    End::OF_HOST.iter().any(|end| no_record(end) == first)
}

fn why(end: &End, garbled: Option<&str>, outcome: &Outcome) -> String {
    let mut parts = vec![no_record(end)];
    parts.extend(garbled.map(|line| format!("unreadable message: {line}")));
    if matches!(end, End::KernelSpins(..) | End::ProgramSpins(..)) {
        // It was ended from outside: its console knows nothing of it.
        return parts.join("\n");
    }
    let log = String::from_utf8_lossy(&outcome.log);
    for text in [last_lines(&log, CONSOLE_LINES), last_lines(&outcome.console, CONSOLE_LINES)] {
        if !text.trim().is_empty() {
            parts.push(text.trim().to_owned());
        }
    }
    parts.join("\n")
}
