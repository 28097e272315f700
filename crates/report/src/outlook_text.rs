//! The resolution a run can reach, printed before its long part.

use crate::number::percent;
use crate::text::paragraph;
use crate::view::count;
use seekwell_model::plan::Outlook;
use seekwell_model::units::Nanos;

/// The differences a run will be able to show and the meaning of a tie, in `width` columns (at least
/// 60 are used). Durations of a run in virtual time are no time to wait and are left out.
#[must_use]
pub fn outlook_text(outlook: &Outlook, is_virtual: bool, width: usize) -> String {
    let width = width.max(60);
    sentences(outlook, is_virtual).iter().map(|sentence| paragraph("", sentence, width)).collect()
}

/// The same as sentences.
fn sentences(outlook: &Outlook, is_virtual: bool) -> Vec<String> {
    let mut said = vec![noise(outlook, is_virtual)];
    said.extend(resolution(outlook, is_virtual));
    said.push(tie(outlook, is_virtual));
    said
}

/// ` (in 5 min)`; nothing for virtual time.
fn within(ns: u64, is_virtual: bool) -> String {
    if is_virtual { String::new() } else { format!(" (in {})", Nanos(ns)) }
}

fn noise(outlook: &Outlook, is_virtual: bool) -> String {
    let after = format!("After {}", count(outlook.trials as usize, "trial"));
    let clock = if is_virtual { " of virtual time" } else { "" };
    let time = format!("{}{clock}", Nanos(outlook.trial_ns));
    let Some(spread) = outlook.spread else {
        return format!(
            "{after}: a trial takes {time}; the variation between trials is not known yet."
        );
    };
    if spread == 0.0 {
        return format!(
            "{after}: a trial takes {time}, and the trials of a stack do not vary at all."
        );
    }
    let range = match (outlook.spread_low, outlook.spread_high) {
        (Some(low), Some(high)) => format!(" ({} to {})", percent(low), percent(high)),
        _ => String::new(),
    };
    format!(
        "{after}: a trial takes {time}, and the trials of a stack vary by {}{range}.",
        percent(spread)
    )
}

fn resolution(outlook: &Outlook, is_virtual: bool) -> Option<String> {
    if outlook.spread == Some(0.0) {
        return Some("Every difference is detected, however small.".to_owned());
    }
    let parts: Vec<String> = outlook
        .buys
        .iter()
        .filter_map(|buys| {
            let difference = percent(buys.difference?);
            let time = within(buys.time_ns, is_virtual);
            Some(format!("above {difference} with {} rounds{time}", buys.rounds))
        })
        .collect();
    (!parts.is_empty())
        .then(|| format!("Differences that are detected in 9 of 10 runs: {}.", parts.join(", ")))
}

fn tie(outlook: &Outlook, is_virtual: bool) -> String {
    let width = percent(outlook.tie);
    let meaning =
        format!("A tie means that no stack is better than the leader by more than {width}.");
    let rounds = outlook.buys.last().map_or(0, |buys| u64::from(buys.rounds));
    match (outlook.tie_rounds, outlook.tie_ns) {
        (Some(needed), Some(time)) if outlook.spread != Some(0.0) => {
            let beyond = if needed > rounds {
                "; if the stacks are equal, this run will probably stay inconclusive unless you widen the tie"
            } else {
                ""
            };
            format!(
                "{meaning} To show this for two equal stacks takes about {needed} rounds{}{beyond}.",
                within(time, is_virtual)
            )
        }
        _ => meaning,
    }
}

#[cfg(test)]
mod tests;
