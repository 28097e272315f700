//! Stacks in words: by the values of the axes that have several.

use super::{Role, Span};
use crate::factor::list;
use seekwell_model::plan::Plan;
use seekwell_model::stack::{AXES, Stack, ValueName};
use std::collections::BTreeSet;

/// Names in a list at most; further ones are counted.
const NAMED: usize = 3;

/// The axes of a plan that have several values, and the value of each stack on them.
pub(crate) struct Axes<'a> {
    names: Vec<&'static str>,
    /// Label and values of each ranked stack.
    stacks: Vec<(&'a str, Vec<&'a str>)>,
}

/// A group of stacks in words, and the size of the group for the verb.
pub(crate) struct Group {
    pub(crate) text: String,
    pub(crate) is_plural: bool,
}

impl<'a> Axes<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let ranked = &plan.stacks[..plan.ranked().min(plan.stacks.len())];
        let several =
            |(_, of): &(&str, ValueName)| ranked.iter().map(of).collect::<BTreeSet<_>>().len() > 1;
        let axes: Vec<(&'static str, ValueName)> = AXES.into_iter().filter(several).collect();
        let values = |stack: &'a Stack| axes.iter().map(|(_, of)| of(stack)).collect();
        Self {
            stacks: ranked.iter().map(|stack| (stack.label.as_str(), values(stack))).collect(),
            names: axes.iter().map(|(name, _)| *name).collect(),
        }
    }

    /// Names of the axes.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Values of a stack, one per axis; `None` for a stack that has a name of its own.
    pub(crate) fn values(&self, label: &str) -> Option<&[&'a str]> {
        let (_, values) = self.stacks.iter().find(|(known, _)| *known == label)?;
        (values.join("/") == label).then_some(values.as_slice())
    }

    /// A stack as people say it: `ext4 with scheduler none`.
    pub(crate) fn stack(&self, label: &str, role: Role) -> Vec<Span> {
        let Some(values) = self.values(label).filter(|values| !values.is_empty()) else {
            return vec![Span::new(label, role)];
        };
        let head = self.names.iter().position(|name| *name == "filesystem").unwrap_or(0);
        let mut said = Vec::new();
        if !matches!(self.names[head], "filesystem" | "device") {
            said.push(Span::plain(&format!("{} ", self.names[head])));
        }
        said.push(Span::new(values[head], role));
        let rest = (0..self.names.len()).filter(|at| *at != head);
        let (on, with): (Vec<usize>, Vec<usize>) = rest.partition(|at| self.names[*at] == "device");
        for at in on {
            said.push(Span::plain(" on "));
            said.push(Span::new(values[at], role));
        }
        for (number, at) in with.iter().enumerate() {
            let joint = match number {
                0 => " with",
                _ if number + 1 == with.len() => " and",
                _ => ",",
            };
            said.push(Span::plain(&format!("{joint} {} ", self.names[*at])));
            said.push(Span::new(values[*at], role));
        }
        said
    }

    /// Stacks that are no better and no worse than the pick: `xfs and the other schedulers` if they are
    /// every combination of some values, else by name.
    pub(crate) fn close(&self, pick: &str, close: &[String]) -> Group {
        let product = (close.len() > 1).then(|| self.product(pick, close));
        product.flatten().unwrap_or_else(|| by_name(close))
    }

    fn product(&self, pick: &str, close: &[String]) -> Option<Group> {
        let pick_values = self.values(pick)?;
        let set: Vec<&[&str]> =
            close.iter().map(|label| self.values(label)).collect::<Option<_>>()?;
        let mut parts = Vec::new();
        let mut is_plural = false;
        let mut of_axes: Vec<BTreeSet<&str>> = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            let here: BTreeSet<&str> = set.iter().map(|values| values[at]).collect();
            let others: Vec<String> = here
                .iter()
                .filter(|value| **value != pick_values[at])
                .map(|value| (*value).to_owned())
                .collect();
            let all: BTreeSet<&str> = self.stacks.iter().map(|(_, values)| values[at]).collect();
            of_axes.push(here.into_iter().chain([pick_values[at]]).collect());
            if others.is_empty() {
                continue;
            }
            is_plural |= others.len() > 1;
            let plain = matches!(*name, "filesystem" | "device");
            parts.push(match others.len() {
                1 if plain => others[0].clone(),
                1 => format!("{name} {}", others[0]),
                number if number + 1 == all.len() => format!("the other {}", plural(name)),
                number if number > NAMED => format!("{number} other {}", plural(name)),
                _ if plain => list(&others),
                _ => format!("the {} {}", plural(name), list(&others)),
            });
        }
        let inside = |values: &Vec<&str>| {
            values.iter().zip(&of_axes).all(|(value, axis)| axis.contains(value))
        };
        let whole = self.stacks.iter().filter(|(_, values)| inside(values)).count();
        (whole == close.len() + 1)
            .then(|| Group { is_plural: is_plural || parts.len() > 1, text: list(&parts) })
    }

    /// Values with no stack but those in `out` and those `apart`, which are not judged; each with its axis.
    /// Then the stacks of `out` that are left over. Values of the filesystem come first.
    pub(crate) fn whole_values(
        &self,
        out: &[String],
        apart: &[&str],
    ) -> (Vec<(&'static str, &'a str)>, Vec<String>) {
        let mut left: Vec<String> = out.to_vec();
        let mut found = Vec::new();
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|at| self.names[*at] != "filesystem");
        for at in order {
            let mut values: Vec<&'a str> = Vec::new();
            for (_, of) in &self.stacks {
                if !values.contains(&of[at]) {
                    values.push(of[at]);
                }
            }
            for value in values {
                let mut with = self.stacks.iter().filter(|(_, of)| of[at] == value);
                let is_new = with.clone().any(|(label, _)| left.iter().any(|one| one == label));
                let is_whole = with
                    .all(|(label, _)| apart.contains(label) || out.iter().any(|one| one == label));
                if is_whole && is_new && self.values(&out[0]).is_some() {
                    found.push((self.names[at], value));
                    let stays = |label: &String| {
                        self.stacks.iter().any(|(known, of)| known == label && of[at] != value)
                    };
                    left.retain(stays);
                }
            }
        }
        (found, left)
    }

    /// Labels of the stacks with this value.
    pub(crate) fn with(&self, axis: &str, value: &str) -> Vec<&'a str> {
        let Some(at) = self.names.iter().position(|name| *name == axis) else { return vec![] };
        let of_value = self.stacks.iter().filter(|(_, values)| values[at] == value);
        of_value.map(|(label, _)| *label).collect()
    }
}

/// A few names, and the number of the others.
pub(crate) fn by_name(labels: &[String]) -> Group {
    let is_plural = labels.len() != 1;
    if labels.len() <= NAMED {
        return Group { text: list(labels), is_plural };
    }
    let more = labels.len() - (NAMED - 1);
    let text = format!("{} and {more} others", labels[..NAMED - 1].join(", "));
    Group { text, is_plural }
}

/// Several values of an axis.
pub(crate) fn plural(axis: &str) -> String {
    match axis {
        "memory" => "memory limits".to_owned(),
        axis => format!("{axis}s"),
    }
}

/// Values of an axis in a sentence: `btrfs`, `scheduler bfq`, `schedulers bfq and kyber`.
pub(crate) fn values_of(axis: &str, values: &[&str]) -> Group {
    let names: Vec<String> = values.iter().map(|name| (*name).to_owned()).collect();
    let Group { text, is_plural } = by_name(&names);
    let text = match axis {
        "filesystem" | "device" => text,
        axis if is_plural => format!("{} {text}", plural(axis)),
        axis => format!("{axis} {text}"),
    };
    Group { text, is_plural }
}
