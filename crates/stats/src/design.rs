//! Design of a comparison: the value of every axis in each stack.

/// The axes of a lab as numbers: `levels[stack][axis]` counts the values of an axis from 0.
/// Not every combination needs to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    levels: Vec<Vec<usize>>,
    sizes: Vec<usize>,
}

impl Design {
    /// Makes a design of the level of every stack on every axis; `None` when stacks have different numbers of axes.
    #[must_use]
    pub fn new(levels: Vec<Vec<usize>>) -> Option<Self> {
        let axes = levels.first().map_or(0, Vec::len);
        if levels.iter().any(|row| row.len() != axes) {
            return None;
        }
        let size = |axis| levels.iter().map(|row: &Vec<usize>| row[axis] + 1).max().unwrap_or(0);
        let sizes = (0..axes).map(size).collect();
        Some(Self { levels, sizes })
    }

    /// Stacks of which only the number is known: no axis tells anything about another stack.
    #[must_use]
    pub fn unstructured(stacks: usize) -> Self {
        Self { levels: vec![Vec::new(); stacks], sizes: Vec::new() }
    }

    /// The full product of axes of the given sizes, the last axis changing fastest.
    #[must_use]
    pub fn product(sizes: &[usize]) -> Self {
        let mut levels = vec![Vec::new()];
        for &size in sizes {
            levels = levels
                .into_iter()
                .flat_map(|row| {
                    (0..size).map(move |level| {
                        let mut row = row.clone();
                        row.push(level);
                        row
                    })
                })
                .collect();
        }
        Self { levels, sizes: sizes.to_vec() }
    }

    /// Number of stacks.
    #[must_use]
    pub fn stacks(&self) -> usize {
        self.levels.len()
    }

    /// Number of axes.
    #[must_use]
    pub fn axes(&self) -> usize {
        self.sizes.len()
    }

    /// Number of values of an axis.
    #[must_use]
    pub fn size(&self, axis: usize) -> usize {
        self.sizes[axis]
    }

    /// The value of an axis that a stack has.
    #[must_use]
    pub fn level(&self, stack: usize, axis: usize) -> usize {
        self.levels[stack][axis]
    }

    /// Number of columns of [`Design::main_effects`].
    #[must_use]
    pub fn main_columns(&self) -> usize {
        1 + self.sizes.iter().map(|size| size.saturating_sub(1)).sum::<usize>()
    }

    /// The row of the additive model for a stack, in sum coding: 1 for the grand mean, then for
    /// each axis one column per value but the last, which is minus the sum of the others. An
    /// effect is then a difference from the plain mean over the axis.
    #[must_use]
    pub fn main_effects(&self, stack: usize) -> Vec<f64> {
        let mut row = Vec::with_capacity(self.main_columns());
        row.push(1.0);
        for axis in 0..self.axes() {
            row.extend(self.axis_columns(stack, axis));
        }
        row
    }

    /// The sum-coded columns of one axis for a stack.
    pub(crate) fn axis_columns(&self, stack: usize, axis: usize) -> impl Iterator<Item = f64> {
        let (level, last) = (self.levels[stack][axis], self.sizes[axis].saturating_sub(1));
        (0..last).map(
            move |column| {
                if level == last { -1.0 } else { f64::from(u8::from(level == column)) }
            },
        )
    }
}

#[cfg(test)]
mod tests;
