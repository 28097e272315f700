//! The search for a good configuration among more than can be measured.
//!
//! Storage options act mostly one by one: the search measures every single change of a default first, puts those that
//! gain together, the largest first, and begins again around what it found. That is coordinate search with a line
//! search along the gains (Nocedal and Wright, *Numerical Optimization*, 9.3). It ends where no single change helps.

use std::collections::HashMap;

#[cfg(test)]
mod tests;

/// A space is left aside when its best value, every single change seen, is this many times the best of all.
const HOPELESS: f64 = 1.5;

/// A configuration: a space, and a level on each of its axes, 0 for the default.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    /// Index of the space.
    pub space: usize,
    /// Level on each axis.
    pub levels: Vec<usize>,
}

impl Point {
    /// The same with another level on one axis.
    #[must_use]
    pub fn with(&self, axis: usize, level: usize) -> Self {
        let mut other = self.clone();
        other.levels[axis] = level;
        other
    }

    /// Number of axes that are not at their default.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.levels.iter().filter(|level| **level > 0).count()
    }
}

/// A space of configurations.
#[derive(Clone, Debug)]
pub struct Space {
    /// Number of levels on each axis.
    pub axes: Vec<usize>,
}

impl Space {
    /// Number of its configurations.
    #[must_use]
    pub fn configurations(&self) -> u64 {
        self.axes.iter().map(|levels| *levels as u64).product()
    }
}

/// Measured configurations in the order in which they were measured, each once; lower values are better, `None` is a
/// measurement that failed.
pub type Measured = Vec<(Point, Option<f64>)>;

/// The value of a configuration with the price of its changes: each has to gain the share `least` to be worth it.
#[must_use]
pub fn priced(point: &Point, value: f64, least: f64) -> f64 {
    value * (1.0 + least).powi(i32::try_from(point.changes()).unwrap_or(i32::MAX))
}

/// Measures configurations that are independent of each other; their values in the same order.
pub type Measure<'a, E> = dyn FnMut(&[Point]) -> Result<Vec<Option<f64>>, E> + 'a;

/// Searches the spaces with at most `most` measurements. A change has to gain the share `least` to be taken, see
/// [`priced`].
///
/// # Errors
/// Those of `measure`.
pub fn search<E>(
    spaces: &[Space],
    most: usize,
    least: f64,
    measure: &mut Measure<'_, E>,
) -> Result<Measured, E> {
    let mut walk =
        Walk { spaces, most, least, measure, measured: Vec::new(), known: HashMap::new() };
    let default = |space: usize| Point { space, levels: vec![0; spaces[space].axes.len()] };
    walk.take((0..spaces.len()).map(default).collect())?;
    let mut open: Vec<usize> = (0..spaces.len()).collect();
    while !open.is_empty() && walk.measured.len() < most {
        let value = |space: &usize| walk.best(*space).map_or(f64::INFINITY, |(_, value)| value);
        open.sort_by(|one, other| value(one).total_cmp(&value(other)));
        let mut improved = Vec::new();
        for space in open {
            if walk.pass(space)? {
                improved.push(space);
            }
        }
        let value = |space: &usize| walk.best(*space).map_or(f64::INFINITY, |(_, value)| value);
        let best = (0..spaces.len()).map(|space| value(&space)).fold(f64::INFINITY, f64::min);
        improved.retain(|space| value(space) <= best * HOPELESS);
        open = improved;
    }
    Ok(walk.measured)
}

struct Walk<'a, E> {
    spaces: &'a [Space],
    most: usize,
    least: f64,
    measure: &'a mut Measure<'a, E>,
    measured: Measured,
    known: HashMap<Point, Option<f64>>,
}

impl<E> Walk<'_, E> {
    /// Measures those that are not known yet, as far as there are measurements left.
    fn take(&mut self, points: Vec<Point>) -> Result<(), E> {
        let left = self.most - self.measured.len();
        let mut fresh: Vec<Point> = Vec::new();
        for point in points {
            if !self.known.contains_key(&point) && !fresh.contains(&point) {
                fresh.push(point);
            }
        }
        fresh.truncate(left);
        if fresh.is_empty() {
            return Ok(());
        }
        let values = (self.measure)(&fresh)?;
        for (point, value) in fresh.into_iter().zip(values) {
            self.known.insert(point.clone(), value);
            self.measured.push((point, value));
        }
        Ok(())
    }

    /// The best of a space with its price.
    fn best(&self, space: usize) -> Option<(Point, f64)> {
        let of_space = self.measured.iter().filter(|(point, _)| point.space == space);
        let prices = of_space.filter_map(|(point, _)| Some((point.clone(), self.price(point)?)));
        prices.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn price(&self, point: &Point) -> Option<f64> {
        Some(priced(point, self.known.get(point).copied().flatten()?, self.least))
    }

    /// Every single change of the best of a space, then the gains put together; true if that found a better one.
    fn pass(&mut self, space: usize) -> Result<bool, E> {
        let Some((base, price)) = self.best(space) else { return Ok(false) };
        let axes = &self.spaces[space].axes;
        let around = axes.iter().enumerate().flat_map(|(axis, levels)| {
            let base = &base;
            (0..*levels)
                .filter(move |level| *level != base.levels[axis])
                .map(move |level| base.with(axis, level))
        });
        self.take(around.collect())?;
        let gains = self.gains(&base, price);
        let mut together = base;
        let chain = gains.into_iter().map(|(axis, level)| {
            together = together.with(axis, level);
            together.clone()
        });
        self.take(chain.collect())?;
        Ok(self.best(space).is_some_and(|(_, now)| now < price))
    }

    /// The level of each axis that gains alone, the largest gain first.
    fn gains(&self, base: &Point, price: f64) -> Vec<(usize, usize)> {
        let mut gains: Vec<(usize, usize, f64)> = Vec::new();
        for (axis, levels) in self.spaces[base.space].axes.iter().enumerate() {
            let prices = (0..*levels).filter_map(|level| {
                let price = self.price(&base.with(axis, level))?;
                Some((axis, level, price))
            });
            let best = prices.min_by(|one, other| one.2.total_cmp(&other.2));
            gains.extend(best.filter(|best| best.2 < price));
        }
        gains.sort_by(|one, other| one.2.total_cmp(&other.2));
        gains.into_iter().map(|(axis, level, _)| (axis, level)).collect()
    }
}
