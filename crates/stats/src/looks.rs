//! Looks: the numbers of rounds at which a run is judged, and the share of the permitted error that
//! each may spend.
//!
//! Looking after every round and stopping at a favourable moment finds a winner among equal stacks in a
//! quarter of all runs. So the looks are planned: after 6, 8, 10, 13, 16, 20, 25, 32, 40 … rounds, each
//! a quarter more than the one before, without end. Each has its share of the permitted error, and the
//! shares of any number of looks add up to at most that error. A run may therefore end at any look, and
//! be prolonged later, without a penalty.
//!
//! A run whose time is over between two looks is judged there once: every look reserves a part of its
//! share for that. This judgement drops no stack, so the state of a prolonged run still follows from
//! its trials alone.

/// Rounds of the first look.
pub const FIRST: usize = 6;

/// Looks from the second on within a doubling.
const CYCLE: [usize; 3] = [8, 10, 13];
const CYCLE_LATE: [usize; 3] = [16, 20, 25];

/// Rounds of the look with the largest share: most runs are decided around it or never. Shares
/// rise up to it in proportion to the rounds, and fall behind it with their square root.
const CENTRE: f64 = 20.0;

/// All shares together. Looks a quarter of the rounds apart see nearly the same data, so that the
/// chance that any of them errs is little more than half of the sum of their chances; a test
/// computes it.
const TOGETHER: f64 = 1.55;

/// Looks whose shares are counted: up to 40,960 rounds.
const COUNTED: usize = 37;

/// Part of the error for a run whose rounds are fixed, at its planned end. The rest is for those
/// that are added to it later.
pub const SINGLE: f64 = 0.8;

/// Each look of a continued run of fixed rounds has so many times the rounds of the one before.
const GROWTH: f64 = 1.25;

/// Rounds at the looks of a run of `planned` rounds to which rounds are added, rising without end.
pub fn prolonged(planned: usize) -> impl Iterator<Item = usize> {
    let planned = planned.max(1);
    let at = move |look: i32| (planned as f64 * GROWTH.powi(look)).floor() as usize;
    (1..).map(at).skip_while(move |look| *look <= planned)
}

/// Part of the error for a run of `planned` rounds to which rounds were added, when it has `rounds`:
/// half of what is left of it for the first quarter more, and half of the rest for each further one.
#[must_use]
pub fn prolonged_share(planned: usize, rounds: usize) -> f64 {
    let more = (rounds as f64 / planned.max(1) as f64).max(1.0).ln() / GROWTH.ln();
    (1.0 - SINGLE) * 0.5f64.powi(more.ceil().max(1.0) as i32)
}

/// Part of the error for an end after so many rounds that are looked at for the first time.
#[must_use]
pub fn share_at(rounds: usize) -> f64 {
    match held_after(rounds) {
        (held, true) => share(held - 1),
        (held, false) => closing_share(held),
    }
}

/// Rounds at a look, counted from 0.
#[must_use]
pub fn rounds_at(look: usize) -> usize {
    match look {
        0 => FIRST,
        1..=3 => CYCLE[look - 1],
        _ => CYCLE_LATE[(look - 4) % 3] << ((look - 4) / 3),
    }
}

/// Looks that are held after so many rounds, and whether the last of them is due just now.
#[must_use]
pub fn held_after(rounds: usize) -> (usize, bool) {
    let held = (0..).take_while(|look| rounds_at(*look) <= rounds).count();
    (held, held > 0 && rounds_at(held - 1) == rounds)
}

/// Share of the error of a look.
#[must_use]
pub fn share(look: usize) -> f64 {
    let all: f64 = (0..COUNTED).map(weight).sum();
    TOGETHER * weight(look) / all
}

/// Share of the error of an end between this look and the one before. A run has one such end at most.
#[must_use]
pub fn closing_share(look: usize) -> f64 {
    share(look)
}

fn weight(look: usize) -> f64 {
    let relative = rounds_at(look) as f64 / CENTRE;
    if relative <= 1.0 { relative } else { relative.powf(-0.5) }
}

/// The looks up to so many rounds; one at least.
#[must_use]
pub fn up_to(rounds: usize) -> Vec<usize> {
    let count = held_after(rounds).0.max(1);
    (0..count).map(rounds_at).collect()
}

#[cfg(test)]
mod tests;
