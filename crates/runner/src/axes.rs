//! The axes of a plan for the statistics: the value of every stack on each axis.

use seekwell_model::plan::Plan;
use seekwell_model::stack::AXES;
use seekwell_stats::design::Design;

/// An axis with the names of its values, in the order in which the stacks have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// One of the names in [`AXES`].
    pub name: &'static str,
    /// Names of the values.
    pub values: Vec<String>,
}

/// The axes of the first `stacks` stacks, and the value that each stack has on each.
#[must_use]
pub fn axes(plan: &Plan, stacks: usize) -> (Vec<Axis>, Design) {
    let mut axes = Vec::new();
    let mut levels = vec![Vec::new(); stacks];
    // An axis of labs that name a layer: no other verdict has it.
    let named = plan.stacks.iter().any(|stack| !stack.layers.is_default());
    for (name, of) in AXES.into_iter().filter(|(name, _)| named || *name != "layer") {
        let mut values: Vec<String> = Vec::new();
        for (stack, row) in plan.stacks.iter().zip(&mut levels) {
            let value = of(stack);
            let level = values.iter().position(|known| known == value).unwrap_or_else(|| {
                values.push(value.to_owned());
                values.len() - 1
            });
            row.push(level);
        }
        axes.push(Axis { name, values });
    }
    // Every stack has a value on every axis, so the design is never refused.
    let design = Design::new(levels).unwrap_or_else(|| Design::unstructured(stacks));
    (axes, design)
}
