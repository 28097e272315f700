//! Effects of the axes: main effects and first-order interactions, with intervals.
//!
//! An effect of an axis is a ratio of the metric between two of its values, averaged over all
//! values of the other axes. Each complete round gives one estimate of it, and the interval comes
//! from the rounds: drift between rounds cancels, and stacks may have unequal noise. With fewer than
//! 6 complete rounds (a screen) the interval comes from the scatter of single trials around the
//! model instead. All axes and interactions of a run share the permitted error.

use crate::design::Design;
use crate::interval::{Interval, Method, mean_interval};
use crate::linear::Projector;
use crate::question::MIN_ROUNDS;
use crate::special::t_quantile_upper;

/// Effect of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisEffect {
    /// Index of the axis.
    pub axis: usize,
    /// For each value of the axis, the ratio of the metric to the average over the axis, and its
    /// interval at the stated confidence.
    pub levels: Vec<Interval>,
    /// The two values furthest apart: highest metric, lowest metric.
    pub extremes: (usize, usize),
    /// Ratio of those two, at least 1, with an interval that allows for having picked them among
    /// all pairs.
    pub change: Interval,
    /// True if that interval excludes equality.
    pub measurable: bool,
    /// No two values of this axis differ by more than this factor, by the outermost end of all
    /// intervals.
    pub at_most: f64,
    /// Share of the variance between stacks that this axis accounts for, 0 to 1, without the part
    /// that noise alone would have; 0 if the axis is not measurable.
    pub share: f64,
}

/// Interaction of two axes: the factor by which their joint effect differs from the product of their
/// single effects.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// The two axes.
    pub axes: (usize, usize),
    /// The two values, one of each axis, whose combination departs most.
    pub levels: (usize, usize),
    /// Ratio of the metric of that combination to what the two main effects predict, with an
    /// interval that allows for having picked it among all combinations.
    pub departure: Interval,
    /// True if that interval excludes 1.
    pub measurable: bool,
}

/// All effects of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// One entry per axis with at least two values, in the order of the axes.
    pub axes: Vec<AxisEffect>,
    /// One entry per pair of axes whose combinations all occur and can be told apart from the
    /// rest.
    pub interactions: Vec<Interaction>,
    /// Complete rounds used; 0 when the intervals come from single trials.
    pub rounds: usize,
    /// Method of the intervals.
    pub method: EffectMethod,
}

/// Method of the intervals of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectMethod {
    /// From complete rounds.
    Rounds,
    /// From the scatter of single trials around the model.
    Trials,
}

/// Estimates effects from `values[stack][round]` of the judged metric. Values that are not
/// positive count as missing. `None` when the axes cannot be told apart on the stacks that have
/// values, or nothing is left to judge the noise by.
#[must_use]
pub fn effects(design: &Design, values: &[Vec<Option<f64>>], confidence: f64) -> Option<Effects> {
    let present: Vec<usize> = (0..values.len())
        .filter(|stack| values[*stack].iter().any(|v| log(*v).is_some()))
        .collect();
    if present.is_empty() {
        return None;
    }
    let plan = Plan::new(design, &present)?;
    let rounds = values.iter().map(Vec::len).max().unwrap_or(0);
    let at = |stack: usize, round: usize| values[stack].get(round).copied().flatten();
    let complete: Vec<Vec<f64>> = (0..rounds)
        .filter_map(|round| present.iter().map(|stack| log(at(*stack, round))).collect())
        .collect();
    let samples = if complete.len() >= MIN_ROUNDS {
        Samples::of_rounds(&plan, &complete)
    } else {
        Samples::of_trials(&plan, values, &present)?
    };
    Some(samples.effects(&plan, 1.0 - confidence))
}

/// Pairs of stacks that differ in the given axis alone: candidates for an ablation.
#[must_use]
pub fn one_factor_pairs(design: &Design, axis: usize) -> Vec<(usize, usize)> {
    let same_elsewhere = |a: usize, b: usize| {
        (0..design.axes()).all(|x| (x == axis) != (design.level(a, x) == design.level(b, x)))
    };
    let count = design.stacks();
    (0..count)
        .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
        .filter(|(a, b)| same_elsewhere(*a, *b))
        .collect()
}

/// Certainty with which a cause may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// "consistent with": the evidence points there, nothing was flipped.
    ConsistentWith,
    /// "because": a trial that flips only this factor moved the metric the same way.
    Confirmed,
}

/// The wording that an effect earns: confirmed only when an ablation (the ratio between trials
/// that differ in this factor alone, same direction as `effect`) excludes equality on the same
/// side as the effect itself.
#[must_use]
pub fn wording(effect: Interval, ablation: Option<Interval>) -> Wording {
    let side = |i: Interval| (i.low > 1.0, i.high < 1.0);
    match ablation {
        Some(ablation) if side(ablation) == side(effect) && side(effect) != (false, false) => {
            Wording::Confirmed
        }
        _ => Wording::ConsistentWith,
    }
}

fn log(value: Option<f64>) -> Option<f64> {
    value.filter(|v| *v > 0.0 && v.is_finite()).map(f64::ln)
}

/// The model: grand mean, main effects, and those interactions that can be told apart.
struct Plan {
    fit: Projector,
    rows: Vec<Vec<f64>>,
    /// Axes with at least two values, their size and first column.
    axes: Vec<(usize, usize, usize)>,
    /// Pairs of axes (as positions in `axes`) and their first column.
    pairs: Vec<(usize, usize, usize)>,
}

impl Plan {
    fn new(design: &Design, present: &[usize]) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = present.iter().map(|s| design.main_effects(*s)).collect();
        let mut fit = Projector::new(rows.clone())?;
        let mut axes = Vec::new();
        let mut column = 1;
        for axis in 0..design.axes() {
            let size = design.size(axis);
            if size >= 2 {
                axes.push((axis, size, column));
            }
            column += size.saturating_sub(1);
        }
        let mut pairs = Vec::new();
        for a in 0..axes.len() {
            for b in a + 1..axes.len() {
                let wider: Vec<Vec<f64>> =
                    rows.iter().map(|row| with_products(row, axes[a], axes[b])).collect();
                if let Some(wider_fit) = Projector::new(wider.clone()) {
                    pairs.push((a, b, rows[0].len()));
                    (rows, fit) = (wider, wider_fit);
                }
            }
        }
        Some(Self { fit, rows, axes, pairs })
    }

    fn columns(&self) -> usize {
        self.fit.columns()
    }

    /// The contrast "this value of the axis against the average".
    fn level(&self, axis: usize, level: usize) -> Vec<f64> {
        let (_, size, first) = self.axes[axis];
        let mut row = vec![0.0; self.columns()];
        for (column, x) in sum_coded(level, size).enumerate() {
            row[first + column] = x;
        }
        row
    }

    /// The contrast "this combination against what the main effects predict".
    fn combination(&self, pair: usize, levels: (usize, usize)) -> Vec<f64> {
        let (a, b, first) = self.pairs[pair];
        let mut row = vec![0.0; self.columns()];
        let mut column = first;
        for x in sum_coded(levels.0, self.axes[a].1) {
            for y in sum_coded(levels.1, self.axes[b].1) {
                row[column] = x * y;
                column += 1;
            }
        }
        row
    }
}

fn sum_coded(level: usize, size: usize) -> impl Iterator<Item = f64> + Clone {
    (0..size - 1).map(
        move |column| {
            if level == size - 1 { -1.0 } else { f64::from(u8::from(level == column)) }
        },
    )
}

fn with_products(
    row: &[f64],
    (_, size_a, first_a): (usize, usize, usize),
    (_, size_b, first_b): (usize, usize, usize),
) -> Vec<f64> {
    let mut wider = row.to_vec();
    for x in &row[first_a..first_a + size_a - 1] {
        wider.extend(row[first_b..first_b + size_b - 1].iter().map(|y| x * y));
    }
    wider
}

/// Coefficients of the model, with what is needed for intervals of their combinations.
enum Samples {
    /// One vector of coefficients per complete round.
    Rounds(Vec<Vec<f64>>),
    /// One vector of all trials; columns beyond the plan's are rounds.
    Trials { coefficients: Vec<f64>, fit: Projector, variance: f64, freedom: f64 },
}

impl Samples {
    fn of_rounds(plan: &Plan, complete: &[Vec<f64>]) -> Self {
        Self::Rounds(complete.iter().map(|ys| plan.fit.solve(ys)).collect())
    }

    fn of_trials(plan: &Plan, values: &[Vec<Option<f64>>], present: &[usize]) -> Option<Self> {
        let rounds = values.iter().map(Vec::len).max().unwrap_or(0);
        let used: Vec<usize> = (0..rounds)
            .filter(|r| {
                present.iter().any(|s| log(values[*s].get(*r).copied().flatten()).is_some())
            })
            .collect();
        let (mut rows, mut ys) = (Vec::new(), Vec::new());
        for (index, &stack) in present.iter().enumerate() {
            for (number, &round) in used.iter().enumerate() {
                let Some(y) = log(values[stack].get(round).copied().flatten()) else { continue };
                let mut row = plan.rows[index].clone();
                row.extend((1..used.len()).map(|r| f64::from(u8::from(r == number))));
                rows.push(row);
                ys.push(y);
            }
        }
        let fit = Projector::new(rows)?;
        let coefficients = fit.solve(&ys);
        let freedom = ys.len().checked_sub(fit.columns()).filter(|f| *f >= 1)? as f64;
        let variance = fit.residual_squares(&ys, &coefficients) / freedom;
        Some(Self::Trials { coefficients, fit, variance, freedom })
    }

    /// Interval of a combination of coefficients, in logarithms.
    fn interval(&self, contrast: &[f64], error: f64) -> Interval {
        let dot = |c: &[f64]| contrast.iter().zip(c).map(|(a, b)| a * b).sum::<f64>();
        match self {
            Self::Rounds(rounds) => {
                let series: Vec<f64> = rounds.iter().map(|c| dot(c)).collect();
                mean_interval(&series, error).unwrap_or_else(|| point(series[0]))
            }
            Self::Trials { coefficients, fit, variance, freedom } => {
                let centre = dot(coefficients);
                let mut wide = contrast.to_vec();
                wide.resize(fit.columns(), 0.0);
                let reach = t_quantile_upper(0.5 * error, *freedom)
                    * (variance * fit.variance_of(&wide)).sqrt();
                let (low, high) = (centre - reach, centre + reach);
                Interval { low, centre, high, method: Method::StudentT }
            }
        }
    }

    fn effects(&self, plan: &Plan, error: f64) -> Effects {
        let squares: Vec<f64> =
            (0..plan.axes.len()).map(|axis| self.between_squares(plan, axis)).collect();
        let total = self.total_squares(plan);
        let share = |axis: usize| if total > 0.0 { (squares[axis] / total).min(1.0) } else { 0.0 };
        let each = error / (plan.axes.len() + plan.pairs.len()).max(1) as f64;
        let axes = (0..plan.axes.len())
            .map(|axis| AxisEffect { share: share(axis), ..self.axis(plan, axis, error, each) })
            .map(AxisEffect::without_noise)
            .collect();
        let interactions =
            (0..plan.pairs.len()).map(|pair| self.interaction(plan, pair, each)).collect();
        let (rounds, method) = match self {
            Self::Rounds(rounds) => (rounds.len(), EffectMethod::Rounds),
            Self::Trials { .. } => (0, EffectMethod::Trials),
        };
        Effects { axes, interactions, rounds, method }
    }

    /// The effect of one axis, without its share. `error` is for the interval of each value, `joint`
    /// for all differences of the axis together.
    fn axis(&self, plan: &Plan, axis: usize, error: f64, joint: f64) -> AxisEffect {
        let (number, size, _) = plan.axes[axis];
        let levels: Vec<Interval> =
            (0..size).map(|level| self.interval(&plan.level(axis, level), error)).collect();
        let by_centre = |a: &usize, b: &usize| levels[*a].centre.total_cmp(&levels[*b].centre);
        let highest = (0..size).max_by(by_centre).unwrap_or(0);
        let lowest = (0..size).min_by(by_centre).unwrap_or(0);
        let pairs = (size * (size - 1) / 2) as f64;
        let difference = |a: usize, b: usize| {
            let contrast: Vec<f64> =
                plan.level(axis, a).iter().zip(plan.level(axis, b)).map(|(x, y)| x - y).collect();
            self.interval(&contrast, joint / pairs)
        };
        let change = difference(highest, lowest);
        let at_most = (0..size)
            .flat_map(|a| (a + 1..size).map(move |b| (a, b)))
            .map(|(a, b)| difference(a, b))
            .map(|i| i.low.abs().max(i.high.abs()))
            .fold(0.0, f64::max);
        AxisEffect {
            axis: number,
            levels: levels.into_iter().map(Interval::exp).collect(),
            extremes: (highest, lowest),
            change: change.exp(),
            measurable: change.low > 0.0,
            at_most: at_most.exp(),
            share: 0.0,
        }
    }

    fn interaction(&self, plan: &Plan, pair: usize, error: f64) -> Interaction {
        let (a, b, _) = plan.pairs[pair];
        let (size_a, size_b) = (plan.axes[a].1, plan.axes[b].1);
        let each = error / (size_a * size_b) as f64;
        let mut strongest: Option<((usize, usize), Interval)> = None;
        for x in 0..size_a {
            for y in 0..size_b {
                let found = self.interval(&plan.combination(pair, (x, y)), each);
                if strongest.is_none_or(|(_, most)| found.centre.abs() > most.centre.abs()) {
                    strongest = Some(((x, y), found));
                }
            }
        }
        let (levels, departure) = strongest.unwrap_or(((0, 0), point(0.0)));
        Interaction {
            axes: (plan.axes[a].0, plan.axes[b].0),
            levels,
            departure: departure.exp(),
            measurable: departure.low > 0.0 || departure.high < 0.0,
        }
    }

    fn mean_coefficients(&self) -> Vec<f64> {
        match self {
            Self::Rounds(rounds) => {
                let mut mean = vec![0.0; rounds[0].len()];
                for round in rounds {
                    for (sum, c) in mean.iter_mut().zip(round) {
                        *sum += c / rounds.len() as f64;
                    }
                }
                mean
            }
            Self::Trials { coefficients, .. } => coefficients.clone(),
        }
    }

    /// Variance over the stacks of what one axis contributes.
    fn between_squares(&self, plan: &Plan, axis: usize) -> f64 {
        let (_, size, first) = plan.axes[axis];
        self.squares(plan, |column| (first..first + size - 1).contains(&column))
    }

    fn total_squares(&self, plan: &Plan) -> f64 {
        self.squares(plan, |column| column > 0)
    }

    fn squares(&self, plan: &Plan, takes_part: impl Fn(usize) -> bool) -> f64 {
        let mean = self.mean_coefficients();
        let found = squares_of(plan, &mean, &takes_part);
        let Self::Rounds(rounds) = self else { return found };
        // The mean of so many rounds has this much of the squares by their scatter alone.
        let away = |round: &Vec<f64>| -> Vec<f64> {
            round.iter().zip(&mean).map(|(own, mean)| own - mean).collect()
        };
        let scatter: f64 =
            rounds.iter().map(|round| squares_of(plan, &away(round), &takes_part)).sum();
        let count = rounds.len() as f64;
        (found - scatter / (count * (count - 1.0))).max(0.0)
    }
}

/// Squares, around their mean, of what some columns contribute to the stacks.
fn squares_of(plan: &Plan, coefficients: &[f64], takes_part: &impl Fn(usize) -> bool) -> f64 {
    let contribution = |row: &Vec<f64>| -> f64 {
        (0..row.len()).filter(|c| takes_part(*c)).map(|c| row[c] * coefficients[c]).sum()
    };
    let part: Vec<f64> = plan.rows.iter().map(contribution).collect();
    let centre = part.iter().sum::<f64>() / part.len() as f64;
    part.iter().map(|p| (p - centre).powi(2)).sum()
}

impl AxisEffect {
    /// An effect that may be noise has no share.
    fn without_noise(self) -> Self {
        Self { share: if self.measurable { self.share } else { 0.0 }, ..self }
    }
}

fn point(value: f64) -> Interval {
    Interval { low: value, centre: value, high: value, method: Method::Exact }
}

#[cfg(test)]
mod tests;
