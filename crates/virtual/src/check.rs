//! Compares two runs of one trial: equal, or the first difference.

use crate::fingerprint::Event;
use crate::machine::Outcome;

#[cfg(test)]
mod tests;

/// The first difference between two runs of one trial.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// At this event, counted from 0.
    #[error(
        "the runs differ from event {position} on: first {}; second {}",
        told(first),
        told(second)
    )]
    Event {
        /// Index of the event.
        position: u64,
        /// Event of the first run; `None` when it had ended.
        first: Option<Event>,
        /// Event of the second run; `None` when it had ended.
        second: Option<Event>,
    },
    /// Somewhere among these events; at least one run did not keep them.
    #[error("the runs diverge between events {from} and {to}")]
    Window {
        /// First that may differ.
        from: u64,
        /// One past the last.
        to: u64,
    },
    /// Their disks did the same and they ended differently.
    #[error("the runs end differently: first {first}; second {second}")]
    End {
        /// End of the first.
        first: String,
        /// End of the second.
        second: String,
    },
    /// Their disks did the same and their commands wrote different things.
    #[error("the runs write different output from byte {position} on")]
    Output {
        /// First byte that differs.
        position: usize,
    },
}

fn told(event: &Option<Event>) -> String {
    event.map_or_else(|| "nothing more".to_owned(), |event| event.to_string())
}

/// Returns the first difference between two runs; `None` when they did the same.
#[must_use]
pub fn difference(first: &Outcome, second: &Outcome) -> Option<Difference> {
    if let Some(window) = first.fingerprint.first_difference(&second.fingerprint) {
        let (Some(one), Some(other)) = (&first.events, &second.events) else {
            return Some(Difference::Window { from: window.start, to: window.end });
        };
        return Some(first_event(one, other));
    }
    if first.end != second.end {
        let (first, second) = (first.end.to_string(), second.end.to_string());
        return Some(Difference::End { first, second });
    }
    if first.output != second.output {
        let alike = first.output.iter().zip(&second.output).take_while(|(a, b)| a == b);
        return Some(Difference::Output { position: alike.count() });
    }
    None
}

fn first_event(one: &[Event], other: &[Event]) -> Difference {
    let position = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let at = |events: &[Event]| events.get(position).copied();
    Difference::Event { position: position as u64, first: at(one), second: at(other) }
}
