//! Looks: the numbers of rounds at which a run is judged, and the part of the permitted error that each
//! may spend.
//!
//! Looking after every round and stopping at a favourable moment finds a winner among equal stacks in a
//! quarter of all runs. So looks are planned before the first of them: after 6, 8, 10, 13, 16 …
//! rounds up to the *horizon*, the rounds that plan or budget hold, and at the horizon itself. From
//! [`MANY`] stacks on there is one after 4 rounds: what stacks have in common carries it. A look may
//! spend [`PLANNED`] of the error times the cube of the part of the horizon that is done, so that
//! nearly all of it is left for the last one. The rest of the error is for rounds added behind the
//! horizon, each look a quarter more than the one before, with half of what is left.

/// Rounds of the first look of a few stacks.
pub const FIRST: usize = 6;

/// Stacks from which on the first look comes after [`FIRST_OF_MANY`] rounds.
pub const MANY: usize = 5;

/// Rounds of the first look of many stacks.
pub const FIRST_OF_MANY: usize = 4;

/// Looks from the second on within a doubling.
const CYCLE: [usize; 3] = [8, 10, 13];

/// Part of the error that is spent up to the horizon.
pub const PLANNED: f64 = 0.7;

/// Ratio of the rounds of one look after the horizon to those of the look before it.
const GROWTH: f64 = 1.25;

/// Rounds of the first look.
#[must_use]
pub fn first(stacks: usize) -> usize {
    if stacks >= MANY { FIRST_OF_MANY } else { FIRST }
}

/// Rounds of the first look after `rounds`.
#[must_use]
pub fn next(rounds: usize, stacks: usize, horizon: usize) -> usize {
    if rounds < horizon {
        return usual(stacks).find(|look| *look > rounds).unwrap_or(horizon).min(horizon);
    }
    added(horizon).find(|look| *look > rounds).unwrap_or(usize::MAX)
}

/// Looks without a horizon, rising without end.
fn usual(stacks: usize) -> impl Iterator<Item = usize> {
    let early = (stacks >= MANY).then_some(FIRST_OF_MANY);
    let doubled = (0..usize::BITS / 2).flat_map(|times| CYCLE.map(|look| look << times));
    early.into_iter().chain([FIRST]).chain(doubled)
}

/// Share of the error that a look after `rounds` rounds may spend. A last look before the horizon, because
/// the time is over, spends what the one at the horizon would have.
#[must_use]
pub fn share(rounds: usize, horizon: usize, is_last: bool) -> f64 {
    if rounds > horizon {
        return added_share(horizon, rounds);
    }
    let done = rounds as f64 / horizon.max(1) as f64;
    if is_last { PLANNED } else { PLANNED * done.powi(3) }
}

/// Rounds at the looks of a run to which rounds are added behind its horizon, rising without end.
pub fn added(horizon: usize) -> impl Iterator<Item = usize> {
    let horizon = horizon.max(1);
    let at = move |look: i32| (horizon as f64 * GROWTH.powi(look)).floor() as usize;
    (1..).map(at).skip_while(move |look| *look <= horizon)
}

/// Part of the error for a run with rounds added behind its horizon, when it has `rounds`: half of what
/// is left for the first quarter more, and half of the rest for each further one.
#[must_use]
pub fn added_share(horizon: usize, rounds: usize) -> f64 {
    let more = (rounds as f64 / horizon.max(1) as f64).max(1.0).ln() / GROWTH.ln();
    (1.0 - PLANNED) * 0.5f64.powi(more.ceil().max(1.0) as i32)
}

#[cfg(test)]
mod tests;
