//! Words between a session and workers that share no folder: `srun` forwards lines.
//!
//! The session writes `RANK SHARE` to all workers. A worker writes words in pieces, since Slurm breaks lines of more
//! than 1,024 bytes: a line begins with `+` if the word goes on with the next one, and with `=` if it ends.

use crate::error::ClusterError;
use crate::pace::BEAT;
use crate::spool::{Outcome, Share};
use crate::work::{Worked, outcome};
use seekwell_model::backend::BackendError;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
mod tests;

/// Bytes of a piece: with the label of `srun` less than Slurm forwards at once.
const PIECE: usize = 900;

/// A word of a worker.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Word {
    /// It waits for a share. With its name.
    Ready(String),
    /// It lives.
    Beat,
    /// Results of trials of the share that it was given, with their numbers.
    Results(Vec<(u32, Outcome)>),
    /// It has ended.
    Gone,
}

/// The worker's end of the pipe.
pub struct Pipe {
    /// Number of the worker among those of its job.
    pub rank: u32,
    /// Name of the worker.
    pub task: String,
    /// Lines of the session.
    pub input: Box<dyn BufRead + Send>,
    /// Words for the session.
    pub output: Box<dyn Write + Send>,
}

/// Writes a word in pieces.
pub(crate) fn say(output: &Mutex<impl Write + ?Sized>, word: &Word) -> Result<(), ClusterError> {
    let text = serde_json::to_vec(word).map_err(broken)?;
    let mut lines = Vec::with_capacity(text.len() + text.len() / PIECE * 2 + 2);
    let mut pieces = text.chunks(PIECE).peekable();
    while let Some(piece) = pieces.next() {
        lines.push(if pieces.peek().is_some() { b'+' } else { b'=' });
        lines.extend_from_slice(piece);
        lines.push(b'\n');
    }
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    output.write_all(&lines).and_then(|()| output.flush()).map_err(broken)
}

/// Puts words together from the lines of all workers, which `srun --label` mixes.
#[derive(Debug, Default)]
pub(crate) struct Words(BTreeMap<u32, Vec<u8>>);

impl Words {
    /// Takes a line `RANK: PIECE`; the rank and the word that the line completes. Any other line is `None`.
    pub(crate) fn take(&mut self, line: &[u8]) -> Option<(u32, Word)> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let rank = std::str::from_utf8(&line[..colon]).ok()?.trim().parse().ok()?;
        let (mark, piece) = line.get(colon + 2..)?.split_first()?;
        let word = self.0.entry(rank).or_default();
        word.extend_from_slice(piece);
        match mark {
            b'+' => None,
            b'=' => {
                let text = self.0.remove(&rank)?;
                serde_json::from_slice(&text).ok().map(|word| (rank, word))
            }
            // Something else wrote to its standard output.
            _ => {
                self.0.remove(&rank);
                None
            }
        }
    }
}

/// The line with a share for a worker.
pub(crate) fn order(rank: u32, share: &Share) -> Result<String, ClusterError> {
    Ok(format!("{rank} {}\n", serde_json::to_string(share).map_err(broken)?))
}

/// Runs the trials that the session sends, until it closes the pipe.
///
/// # Errors
/// When the pipe cannot be written. A backend that is broken is told to the session.
pub fn work_by_pipe(
    pipe: Pipe,
    run: &mut dyn FnMut(&PlannedTrial) -> Result<Record, BackendError>,
) -> Result<Worked, ClusterError> {
    let Pipe { rank, task, input, output } = pipe;
    let (output, over) = (Mutex::new(output), AtomicBool::new(false));
    let (sender, shares) = channel();
    let is_closed = Arc::new(AtomicBool::new(false));
    let closed = is_closed.clone();
    // It waits for the session's end also when this worker ends by itself: no one joins it.
    std::thread::spawn(move || {
        for share in input.lines().map_while(Result::ok).filter_map(|line| own(rank, &line)) {
            if sender.send(share).is_err() {
                return;
            }
        }
        closed.store(true, Ordering::Relaxed);
    });
    std::thread::scope(|scope| {
        let beating = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // A session that does not read any more ends this worker by the pipe.
                let _ = say(&output, &Word::Beat);
                std::thread::park_timeout(BEAT);
            }
        });
        let ran = run_all(&task, &shares, &is_closed, &output, run);
        over.store(true, Ordering::Relaxed);
        beating.thread().unpark();
        ran
    })
}

fn run_all(
    task: &str,
    shares: &Receiver<Share>,
    is_closed: &AtomicBool,
    output: &Mutex<Box<dyn Write + Send>>,
    run: &mut dyn FnMut(&PlannedTrial) -> Result<Record, BackendError>,
) -> Result<Worked, ClusterError> {
    let mut trials = 0;
    say(output, &Word::Ready(task.to_owned()))?;
    'shares: while let Ok(share) = shares.recv() {
        for (number, trial) in share.trials.iter().enumerate() {
            // A session that wants no more closes the pipe.
            if number > 0 && is_closed.load(Ordering::Relaxed) {
                break 'shares;
            }
            let result = outcome(run(trial));
            let is_broken = result.is_err();
            trials += 1;
            say(output, &Word::Results(vec![(trial.index, result)]))?;
            if is_broken {
                break 'shares;
            }
        }
        say(output, &Word::Ready(task.to_owned()))?;
    }
    say(output, &Word::Gone)?;
    Ok(Worked { trials, is_orphan: false })
}

/// The share of a line, if it is for this worker.
fn own(rank: u32, line: &str) -> Option<Share> {
    let (number, share) = line.split_once(' ')?;
    if number.parse::<u32>().ok()? != rank {
        return None;
    }
    serde_json::from_str(share).ok()
}

fn broken(error: impl Into<io::Error>) -> ClusterError {
    ClusterError::Pipe { source: error.into() }
}
