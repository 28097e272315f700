//! Attribution of a difference to causes that can be switched off, by Shapley values.
//!
//! The value of a set of causes is the difference that is left with only these on. A cause's Shapley value
//! is its mean contribution over all orders in which the causes could be switched on (Shapley: A value for
//! n-person games, 1953), so the values and the rest with everything off add up to the whole difference.
//! The interaction index of a pair is the same mean of what both contribute beyond the sum of each
//! (Grabisch, Roubens: An axiomatic approach to the concept of interaction among players in cooperative
//! games, International Journal of Game Theory 28, 1999).
//!
//! ```
//! use seekwell_stats::attribution::attribute;
//!
//! // The first cause costs 6 and the second 3; the third changes nothing, and 1 is left without any.
//! let mut value = |sets: &[u32]| -> Result<Vec<f64>, ()> {
//!     Ok(sets.iter().map(|on| f64::from(1 + 6 * (on & 1) + 3 * (on >> 1 & 1))).collect())
//! };
//! let found = attribute(3, 5, &mut value)?;
//! assert_eq!((found.difference, found.rest), (10.0, 1.0));
//! assert_eq!(found.parts[0].causes, [0]);
//! assert_eq!(found.parts[0].amount, 6.0);
//! # Ok::<(), ()>(())
//! ```

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Causes at most: sets of them are bits of a `u32`.
pub const MAX_CAUSES: usize = 24;

/// Causes that are attributed one by one at most, whatever is asked for: each doubles the sets.
pub const MAX_SINGLE: usize = 10;

/// Causes that are attributed one by one, unless a caller asks for more: 2^6 sets.
pub const USUAL_SINGLE: usize = 5;

/// A cause whose switch changes less than this part of the difference, from either end, is put with the others.
const MATTERS: f64 = 0.005;

/// A difference attributed to causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// The whole difference: every cause on.
    pub difference: f64,
    /// The difference with every cause off.
    pub rest: f64,
    /// Causes or groups of small ones, the largest amount first.
    pub parts: Vec<Part>,
    /// Interaction index of each pair of parts, by position in `parts`.
    pub pairs: Vec<([usize; 2], f64)>,
    /// The part of the difference that the rest, each part alone and each pair of parts make. What it lacks takes three
    /// parts or more at once; above the difference, these hide others.
    pub within_pairs: f64,
    /// Sets that were evaluated.
    pub sets: usize,
}

/// One cause, or the small ones together.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Numbers of the causes.
    pub causes: Vec<usize>,
    /// Shapley value.
    pub amount: f64,
}

/// Values of sets of causes that are on, a bit for each.
pub type Evaluate<'a, E> = dyn FnMut(&[u32]) -> Result<Vec<f64>, E> + 'a;

/// Values of sets of causes, evaluated in batches.
struct Values<'a, E> {
    evaluate: &'a mut Evaluate<'a, E>,
    known: BTreeMap<u32, f64>,
}

impl<E> Values<'_, E> {
    /// The values of these sets; only unknown ones are evaluated, in one batch.
    fn of(&mut self, sets: &[u32]) -> Result<Vec<f64>, E> {
        let mut missing: Vec<u32> =
            sets.iter().copied().filter(|set| !self.known.contains_key(set)).collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let values = (self.evaluate)(&missing)?;
            self.known.extend(missing.into_iter().zip(values));
        }
        Ok(sets.iter().map(|set| self.known.get(set).copied().unwrap_or(f64::NAN)).collect())
    }
}

/// Attributes a difference to `causes`, the `single` largest of them one by one and the others together.
///
/// `evaluate` gets sets of causes that are on, a bit each, and returns the difference under each set. It is
/// called twice: with every cause switched alone, off from all and on from none, and then with every set
/// of the causes that matter. A cause that matters in neither way belongs to the others, whose joint part
/// is exact too.
///
/// # Errors
/// Those of `evaluate`.
pub fn attribute<'a, E>(
    causes: usize,
    single: usize,
    evaluate: &'a mut Evaluate<'a, E>,
) -> Result<Attribution, E> {
    let causes = causes.min(MAX_CAUSES);
    let mut values = Values { evaluate, known: BTreeMap::new() };
    let all = (1_u32 << causes) - 1;
    let ends = [0, all].into_iter();
    let switched = (0..causes).flat_map(|cause| [all & !(1 << cause), 1 << cause]);
    let first = values.of(&ends.chain(switched).collect::<Vec<_>>())?;
    let (rest, difference) = (first[0], first[1]);
    let effect = |cause: usize| {
        let (without, alone) = (first[2 + 2 * cause], first[3 + 2 * cause]);
        (difference - without).abs().max((alone - rest).abs())
    };
    let groups = groups(causes, single.min(MAX_SINGLE), difference, &effect);
    let sets: Vec<u32> = (0..1_u32 << groups.len()).map(|set| spread(set, &groups)).collect();
    let table = values.of(&sets)?;
    let amounts = shapley(&table);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|a, b| amounts[*b].total_cmp(&amounts[*a]));
    let parts =
        order.iter().map(|at| Part { causes: groups[*at].clone(), amount: amounts[*at] }).collect();
    let pairs = (0..order.len()).flat_map(|one| (one + 1..order.len()).map(move |two| [one, two]));
    let pairs = pairs.map(|pair| (pair, interaction(&table, pair.map(|at| order[at])))).collect();
    let (within_pairs, sets) = (within_pairs(&table), values.known.len());
    Ok(Attribution { difference, rest, parts, pairs, within_pairs, sets })
}

/// The causes that matter, largest first, and the others as one group.
fn groups(
    causes: usize,
    single: usize,
    difference: f64,
    effect: &dyn Fn(usize) -> f64,
) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..causes).collect();
    order.sort_by(|a, b| effect(*b).total_cmp(&effect(*a)));
    let matters = |cause: &usize| effect(*cause) > MATTERS * difference.abs();
    let count = order.iter().take_while(|cause| matters(cause)).count().min(single);
    let mut others = order.split_off(count);
    others.sort_unstable();
    let mut groups: Vec<Vec<usize>> = order.into_iter().map(|cause| vec![cause]).collect();
    groups.extend((!others.is_empty()).then_some(others));
    groups
}

/// The causes of a set of groups.
fn spread(set: u32, groups: &[Vec<usize>]) -> u32 {
    let on = groups.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
    on.flat_map(|(_, group)| group).fold(0, |on, cause| on | 1 << cause)
}

/// Shapley values of players from the values of all of their sets: `values[set]`, a bit for each player.
#[must_use]
pub fn shapley(values: &[f64]) -> Vec<f64> {
    let players = values.len().ilog2();
    let mean = |player: u32| {
        let without = (0..values.len()).filter(|set| set >> player & 1 == 0);
        let gains = without.map(|set| {
            let gain = values[set | 1 << player] - values[set];
            gain * weight(set.count_ones(), players)
        });
        gains.sum()
    };
    (0..players).map(mean).collect()
}

/// Shapley interaction index of two players.
fn interaction(values: &[f64], [one, two]: [usize; 2]) -> f64 {
    let players = values.len().ilog2();
    let (one, two) = (1 << one, 1 << two);
    let without = (0..values.len()).filter(|set| set & (one | two) == 0);
    let joint = without.map(|set| {
        let both = values[set | one | two] - values[set | one] - values[set | two] + values[set];
        both * weight(set.count_ones(), players - 1)
    });
    joint.sum()
}

/// The value of all players as the value without any, what each adds to it alone, and what each pair adds to that.
fn within_pairs(values: &[f64]) -> f64 {
    let size = |set: &usize| set.count_ones();
    let none = values[0];
    let of_size = |wanted: u32| (0..values.len()).filter(move |set| size(set) == wanted);
    let alone = |set: usize| values[set] - none;
    let singles: f64 = of_size(1).map(alone).sum();
    let parts = |set: usize| of_size(1).filter(move |one| one & set != 0).map(alone).sum::<f64>();
    let pairs: f64 = of_size(2).map(|set| alone(set) - parts(set)).sum();
    none + singles + pairs
}

/// Share of the orders of `players` in which exactly a given set of `before` precedes a given player.
fn weight(before: u32, players: u32) -> f64 {
    // 1 / (players · C(players - 1, before))
    let choose = (0..before)
        .fold(1.0, |choose, at| choose * f64::from(players - 1 - at) / f64::from(at + 1));
    1.0 / (f64::from(players) * choose)
}
