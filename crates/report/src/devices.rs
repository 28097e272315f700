//! Another device or another filesystem: where a run has several devices, the gain of each change,
//! and its price.

use crate::answer_text::{Effect, FACTOR, Measure};
use crate::factor::{benefit, factor, list};
use crate::view::RunView;
use seekwell_model::stack::{Stack, ValueName};
use seekwell_model::verdict::{Basis, Ratio};

#[cfg(test)]
mod tests;

/// One device with its stacks that have a ratio, best first.
struct OfDevice<'a> {
    device: &'a str,
    price: Option<u32>,
    rows: Vec<(&'a Ratio, &'a Stack)>,
}

/// A sentence for each device but the leader's; none for runs on one device.
pub(crate) fn sentences(view: &RunView) -> Vec<String> {
    let devices = by_device(view);
    let Some((best, others)) = devices.split_first() else { return vec![] };
    others.iter().flat_map(|other| compared(view, best, other)).collect()
}

fn by_device(view: &RunView) -> Vec<OfDevice<'_>> {
    let mut devices: Vec<OfDevice<'_>> = Vec::new();
    let verdict = &view.verdict;
    let counts = |row: &&Ratio| {
        row.ratio.is_some() && row.basis == Basis::Paired && verdict.may_pick(&row.stack)
    };
    for row in verdict.ratios.iter().filter(counts) {
        let Some(stack) = view.stack(&row.stack) else { continue };
        let name = stack.device.base.as_str();
        match devices.iter_mut().find(|one| one.device == name) {
            Some(one) => one.rows.push((row, stack)),
            None => {
                let (price, rows) = (stack.device.price, vec![(row, stack)]);
                devices.push(OfDevice { device: name, price, rows });
            }
        }
    }
    devices
}

/// The gain of the move to the best device, of another choice on this one, and the larger of them.
fn compared(view: &RunView, best: &OfDevice<'_>, other: &OfDevice<'_>) -> Vec<String> {
    let verdict = &view.verdict;
    let gain = |ratio: f64| benefit(verdict.better, ratio);
    let (Some((leader, _)), Some((first, _))) = (best.rows.first(), other.rows.first()) else {
        return vec![];
    };
    let (from, to) = (other.device, best.device);
    let ends = first.low.map(gain).zip(first.high.map(gain));
    let ends = ends.map(|(low, high)| (low.min(high), low.max(high)));
    let moved = match ends {
        Some((low, _)) if low > 1.0 => {
            let effect =
                first.ratio.map(|ratio| Effect::one(verdict.better, ratio, first.low, first.high));
            effect.map_or_else(String::new, |effect| Measure::of(view).gain(effect))
        }
        _ => "neither is shown to be better".to_owned(),
    };
    let moved = format!(
        "{to} instead of {from}, each with its best stack ({} against {}): {moved}",
        leader.stack, first.stack
    );
    let mut said = vec![format!("{moved}{}", priced(best, other))];
    said.extend(choice(view, other, ends).map(|choice| format!("On {from}, {choice}")));
    said
}

/// The gain of the best choice of everything but the device over the worst, against that of the move.
fn choice(view: &RunView, other: &OfDevice<'_>, moved: Option<(f64, f64)>) -> Option<String> {
    let verdict = &view.verdict;
    let (first, last) = (other.rows.first()?.0, other.rows.last()?.0);
    let own = benefit(verdict.better, last.ratio? / first.ratio?);
    let axes = varied(&other.rows);
    if axes.is_empty() || !own.is_finite() {
        return None;
    }
    let axes = list(&axes);
    let gain = if own >= FACTOR {
        format!("up to a factor of {}", factor(own))
    } else {
        format!("up to {:.0} %", (own - 1.0) * 100.0)
    };
    let judged = match moved {
        Some((low, _)) if low > own => "another device gains more".to_owned(),
        Some((_, high)) if high < own => format!("another {axes} gains more"),
        _ => "neither is shown to gain more".to_owned(),
    };
    Some(format!(
        "the choice of {axes} gains {gain} ({} against {}): {judged}",
        first.stack, last.stack
    ))
}

/// The axes in which stacks of one device differ.
fn varied(rows: &[(&Ratio, &Stack)]) -> Vec<String> {
    let names: [(&str, ValueName); 5] = [
        ("settings of the device", |stack| &stack.device.name),
        ("journal", |stack| &stack.journal.name),
        ("filesystem", |stack| &stack.filesystem.name),
        ("scheduler", |stack| &stack.scheduler.name),
        ("memory", |stack| &stack.memory.name),
    ];
    let differs = |of: ValueName| rows.windows(2).any(|pair| of(pair[0].1) != of(pair[1].1));
    names.into_iter().filter(|(_, of)| differs(*of)).map(|(name, _)| name.to_owned()).collect()
}

/// The two prices, where both are known.
fn priced(best: &OfDevice<'_>, other: &OfDevice<'_>) -> String {
    let (Some(best_price), Some(price)) = (best.price, other.price) else { return String::new() };
    let ratio = f64::from(best_price) / f64::from(price);
    let words = match ratio {
        ratio if ratio >= FACTOR => format!("{} times as much", factor(ratio)),
        ratio if ratio > 1.0 => format!("{:.0} % more", (ratio - 1.0) * 100.0),
        ratio if ratio < 1.0 => format!("{:.0} % less", (1.0 - ratio) * 100.0),
        _ => "as much".to_owned(),
    };
    let as_word = if ratio >= FACTOR || best_price == price { "as" } else { "than" };
    let (to, from) = (best.device, other.device);
    format!("; {to} costs {words} {as_word} {from} ({best_price} against {price})")
}
