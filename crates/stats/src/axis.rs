//! Answers per axis, from all trials of a run.
//!
//! A value of an axis is out when all its stacks are out. Two values are compared inside the
//! combinations of the other axes in which every value that is left has a stack that is not out: the
//! difference of the two stacks over the rounds that they share, averaged over the combinations. The
//! variance is that of the rounds, each with its weight in the mean, drawn towards what the spread of
//! single stacks says ([`BORROWED`] degrees of freedom). An average is withheld where the combinations
//! are shown to differ.

use crate::design::Design;
use crate::field::Field;
use crate::interval::Interval;
use crate::question::Question;
use crate::special::t_quantile_upper;
use crate::typical::{trimmed, typical};
use std::collections::BTreeMap;

/// Part of the error that the comparisons of an axis share.
const ERROR: f64 = 0.7;

/// Degrees of freedom that the spread of single stacks is worth.
const BORROWED: f64 = 10.0;

/// Shared rounds that a comparison of two stacks needs.
const LEAST: usize = 3;

/// Findings of a run on one axis. Values are numbers of the axis's values.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisFound {
    /// The axis.
    pub axis: usize,
    /// Values of which some stack is not out, best first.
    pub left: Vec<usize>,
    /// Comparisons of the values that are left, each of the worse with the better; empty where the
    /// combinations differ.
    pub pairs: Vec<Compared>,
    /// Values that are out, each compared with the best that is left.
    pub out: Vec<Compared>,
    /// One entry per combination of the other axes, where they are shown to differ.
    pub combinations: Vec<Combination>,
    /// Most that two values that are left differ in a single combination, by its interval, as a factor.
    pub single: f64,
    /// Stacks of the combinations that were averaged over.
    pub averaged: Vec<usize>,
}

/// Ratio of the metric with one value to that with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The value.
    pub value: usize,
    /// The value that it is compared with.
    pub against: usize,
    /// Ratio of the metric, with its interval.
    pub ratio: Interval,
}

/// Best and worst value with one combination of the other axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combination {
    /// A stack of this combination.
    pub stack: usize,
    /// The worst value against the best.
    pub compared: Compared,
}

impl AxisFound {
    /// No two values that are left differ by more than this factor, averaged; `None` if fewer than two
    /// are left, the average is withheld, or nothing bounds it.
    #[must_use]
    pub fn within(&self) -> Option<f64> {
        if self.left.len() < 2 || self.pairs.is_empty() {
            return None;
        }
        let far = |pair: &Compared| pair.ratio.high.max(1.0 / pair.ratio.low);
        Some(self.pairs.iter().map(far).fold(1.0, f64::max)).filter(|far| far.is_finite())
    }

    /// Size of the effect that is shown: the largest ratio that an interval leaves, at least 1.
    #[must_use]
    pub fn matters(&self) -> f64 {
        let combined = self.combinations.iter().map(|one| &one.compared);
        let all = self.pairs.iter().chain(&self.out).chain(combined);
        let near = |one: &Compared| one.ratio.low.max(1.0 / one.ratio.high);
        all.map(near).fold(1.0, f64::max)
    }
}

/// Looks at each axis with several values. `is_out[stack]` says which stacks are worse than the pick.
/// Axes whose values share too few rounds have no entry.
#[must_use]
pub fn axes(
    design: &Design,
    field: &Field,
    is_out: &[bool],
    question: &Question,
) -> Vec<AxisFound> {
    let present = (0..design.stacks()).filter(|stack| field.has_value(*stack)).collect();
    let all = Axes { design, field, is_out, question, present };
    (0..design.axes()).filter_map(|axis| all.axis(axis)).collect()
}

struct Axes<'a> {
    design: &'a Design,
    field: &'a Field,
    is_out: &'a [bool],
    question: &'a Question,
    present: Vec<usize>,
}

/// Stacks of one combination of the other axes, by the value of the axis.
type Group = BTreeMap<usize, usize>;

/// A difference averaged over combinations, as a logarithm of "worse by".
struct Mean {
    centre: f64,
    variance: f64,
    freedom: f64,
    half_step: f64,
}

impl Axes<'_> {
    fn axis(&self, axis: usize) -> Option<AxisFound> {
        let groups = self.groups(axis);
        let values: Vec<usize> = (0..self.design.size(axis))
            .filter(|value| self.of_value(axis, *value).next().is_some())
            .collect();
        if values.len() < 2 {
            return None;
        }
        let (left, gone): (Vec<usize>, Vec<usize>) = values
            .iter()
            .partition(|value| self.of_value(axis, **value).any(|stack| !self.is_out[stack]));
        let left = if left.is_empty() { values.clone() } else { left };
        let used = self.combinations(&groups, &left);
        let pairs: Vec<(usize, usize)> = left
            .iter()
            .enumerate()
            .flat_map(|(index, a)| left[index + 1..].iter().map(move |b| (*a, *b)))
            .collect();
        let error = ERROR * (1.0 - self.question.confidence);
        let each = 0.5 * error / (pairs.len() + gone.len()).max(1) as f64;
        let means: Vec<(usize, usize, Mean)> =
            pairs.iter().filter_map(|&(a, b)| Some((a, b, self.mean(&used, a, b)?))).collect();
        if means.len() < pairs.len() {
            return None;
        }
        let left = by_wins(&left, &means);
        let depends = self.depends(&used, &pairs);
        let found = |(a, b, mean): &(usize, usize, Mean)| {
            // The worse one first.
            let (value, against, sign) =
                if mean.centre >= 0.0 { (*a, *b, 1.0) } else { (*b, *a, -1.0) };
            Compared { value, against, ratio: self.ratio(mean, sign, each) }
        };
        let best = left[0];
        let out = gone.iter().filter_map(|value| {
            let both: Vec<&Group> = groups
                .iter()
                .filter(|group| group.contains_key(value) && group.contains_key(&best))
                .collect();
            let mean = self.mean(&both, *value, best)?;
            Some(Compared { value: *value, against: best, ratio: self.ratio(&mean, 1.0, each) })
        });
        Some(AxisFound {
            axis,
            out: out.collect(),
            single: self.single(&used, &pairs, each),
            averaged: used.iter().filter_map(|group| group.get(&best).copied()).collect(),
            combinations: if depends { self.each_combination(&used, each) } else { vec![] },
            pairs: if depends { vec![] } else { means.iter().map(found).collect() },
            left,
        })
    }

    fn of_value(&self, axis: usize, value: usize) -> impl Iterator<Item = usize> {
        let of = move |stack: &&usize| self.design.level(**stack, axis) == value;
        self.present.iter().filter(of).copied()
    }

    /// All combinations of the other axes.
    fn groups(&self, axis: usize) -> Vec<Group> {
        let mut groups: BTreeMap<Vec<usize>, Group> = BTreeMap::new();
        for &stack in &self.present {
            let level = |other: usize| self.design.level(stack, other);
            let others = (0..self.design.axes()).filter(|other| *other != axis).map(level);
            groups.entry(others.collect()).or_default().insert(level(axis), stack);
        }
        groups.into_values().collect()
    }

    /// The combinations in which every value that is left has a stack that is not out; if there are
    /// none, those in which every one has a stack.
    fn combinations<'g>(&self, groups: &'g [Group], left: &[usize]) -> Vec<&'g Group> {
        let with = |able: &dyn Fn(usize) -> bool| -> Vec<&'g Group> {
            let has = |group: &Group| {
                left.iter().all(|value| group.get(value).is_some_and(|stack| able(*stack)))
            };
            groups.iter().filter(|group| has(group)).collect()
        };
        let found = with(&|stack| !self.is_out[stack]);
        if found.is_empty() { with(&|_| true) } else { found }
    }

    /// Mean over the combinations of how much worse the first value is than the second.
    fn mean(&self, groups: &[&Group], a: usize, b: usize) -> Option<Mean> {
        let count = groups.len() as f64;
        let (mut centre, mut modelled, mut half_step) = (0.0, 0.0, 0.0f64);
        let mut own: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for group in groups {
            let (a, b) = (*group.get(&a)?, *group.get(&b)?);
            let differences = self.field.differences(a, b);
            if differences.len() < LEAST {
                return None;
            }
            let n = differences.len() as f64;
            let logs: Vec<f64> = differences.iter().map(|(_, log)| *log).collect();
            centre += typical(&logs)?.centre / count;
            let (winsorized, scale) = winsorize(&logs);
            let middle = winsorized.iter().sum::<f64>() / n;
            for ((round, _), log) in differences.iter().zip(&winsorized) {
                let (sum, weight) = own.entry(*round).or_default();
                *sum += scale * (log - middle) / (n * count);
                *weight += 1.0 / (n * count);
            }
            modelled += (self.field.variance(a) + self.field.variance(b)) / (n * count * count);
            half_step = half_step.max(self.field.half_step(a) + self.field.half_step(b));
        }
        let rounds = 1.0 / own.values().map(|(_, weight)| weight * weight).sum::<f64>();
        if groups.is_empty() || rounds < 2.0 {
            return None;
        }
        let squares: f64 = own.values().map(|(sum, _)| sum * sum).sum();
        let (owned, freedom) = (squares * rounds / (rounds - 1.0), rounds - 1.0);
        let dependence = self.field.dependence();
        let variance = (freedom * owned + BORROWED * modelled) / (freedom + BORROWED)
            * dependence.inflation(rounds.round() as usize);
        let freedom = ((freedom + BORROWED) * dependence.freedom()).max(1.0);
        Some(Mean { centre, variance, freedom, half_step })
    }

    /// Ratio of the metric from a difference of "worse by"; `sign` is -1 for the other way round.
    fn ratio(&self, mean: &Mean, sign: f64, error: f64) -> Interval {
        let (centre, reach) = (sign * mean.centre, reach(mean, error));
        let worse_by = Interval { low: centre - reach, centre, high: centre + reach };
        worse_by.ratio(self.question.better)
    }

    /// True if any combination is shown to differ from the mean of the others.
    fn depends(&self, groups: &[&Group], pairs: &[(usize, usize)]) -> bool {
        if groups.len() < 2 || self.question.exact {
            return self.differs_exactly(groups, pairs);
        }
        let error = 0.5 * (1.0 - self.question.confidence) / (pairs.len() * groups.len()) as f64;
        pairs.iter().any(|&(a, b)| {
            (0..groups.len()).any(|index| {
                let mut others = groups.to_vec();
                let own = [others.remove(index)];
                let both = self.mean(&own, a, b).zip(self.mean(&others, a, b));
                both.is_some_and(|(own, others)| {
                    let variance = own.variance + others.variance;
                    let steps = own.half_step + others.half_step;
                    let freedom = own.freedom.min(others.freedom);
                    let reach = t_quantile_upper(error, freedom) * variance.sqrt() + steps;
                    (own.centre - others.centre).abs() > reach
                })
            })
        })
    }

    /// Returns true if exact values differ by more than the tie.
    fn differs_exactly(&self, groups: &[&Group], pairs: &[(usize, usize)]) -> bool {
        let tie = self.question.log_tie();
        groups.len() > 1
            && pairs.iter().any(|&(a, b)| {
                let centres = groups.iter().filter_map(|group| self.mean(&[*group], a, b));
                let centres: Vec<f64> = centres.map(|mean| mean.centre).collect();
                let low = centres.iter().copied().fold(f64::INFINITY, f64::min);
                let high = centres.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                high - low > tie
            })
    }

    fn each_combination(&self, groups: &[&Group], each: f64) -> Vec<Combination> {
        let error = each / groups.len() as f64;
        let one = |group: &&Group| {
            let values: Vec<usize> = group.keys().copied().collect();
            let against_first =
                |value: usize| Some((value, self.mean(&[*group], value, values[0])?.centre));
            let known: Vec<(usize, f64)> =
                values[1..].iter().filter_map(|value| against_first(*value)).collect();
            let all = || known.iter().copied().chain([(values[0], 0.0)]);
            let (best, _) = all().min_by(|a, b| a.1.total_cmp(&b.1))?;
            let (worst, _) = all().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let mean = self.mean(&[*group], worst, best)?;
            let ratio = self.ratio(&mean, 1.0, error);
            let stack = *group.get(&best)?;
            Some(Combination { stack, compared: Compared { value: worst, against: best, ratio } })
        };
        groups.iter().filter_map(one).collect()
    }

    fn single(&self, groups: &[&Group], pairs: &[(usize, usize)], each: f64) -> f64 {
        let error = each / groups.len().max(1) as f64;
        let far = |group: &&Group, a: usize, b: usize| {
            let mean = self.mean(&[*group], a, b);
            mean.map_or(f64::INFINITY, |mean| mean.centre.abs() + reach(&mean, error))
        };
        let all = groups.iter().flat_map(|group| pairs.iter().map(move |pair| (group, pair)));
        all.map(|(group, (a, b))| far(group, *a, *b)).fold(0.0, f64::max).exp()
    }
}

fn reach(mean: &Mean, error: f64) -> f64 {
    if mean.variance == 0.0 {
        return mean.half_step;
    }
    t_quantile_upper(error, mean.freedom) * mean.variance.sqrt() + mean.half_step
}

/// Values from the best on: by how many others each is better than.
fn by_wins(left: &[usize], means: &[(usize, usize, Mean)]) -> Vec<usize> {
    let losses = |value: usize| {
        let lost = |(a, b, mean): &&(usize, usize, Mean)| {
            (*a == value && mean.centre > 0.0) || (*b == value && mean.centre < 0.0)
        };
        means.iter().filter(lost).count()
    };
    let mut sorted = left.to_vec();
    sorted.sort_by_key(|value| losses(*value));
    sorted
}

/// The values with the outermost eighth at each end moved in, in their order, and the factor by which
/// their deviations count for the mean of the others.
fn winsorize(values: &[f64]) -> (Vec<f64>, f64) {
    let cut = trimmed(values.len());
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (lowest, highest) = (sorted[cut], sorted[values.len() - 1 - cut]);
    let n = values.len() as f64;
    let kept = values.iter().map(|value| value.clamp(lowest, highest)).collect();
    (kept, n / (n - 2.0 * cut as f64))
}

#[cfg(test)]
mod tests;
