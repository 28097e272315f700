//! The folder that a replay is limited to, told from the recorded calls.

use crate::traces;
use seekwell_recordings::info::Summary;
use seekwell_replay::{Plan, ReplayError};
use seekwell_trace::Trace;
use seekwell_trace::path::is_below;

/// Folders of programs, libraries and settings, which stay where they are.
const OF_THE_SYSTEM: [&str; 13] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/run", "/sbin",
    "/sys", "/usr",
];
/// Smallest share of the time in calls for which a folder is the one that the load is about.
const MOST: f64 = 0.5;

/// The plan of a trace and its folder: the asked one, else that with most of the load's time in calls.
pub(crate) fn chosen(
    trace: &Trace,
    summary: &Summary,
    only: Option<&String>,
) -> Result<(Option<String>, Plan), ReplayError> {
    let (walked, plan) = traces::chosen(trace, only)?;
    // Several trees were chosen when the load was recorded.
    let is_chosen = only.is_some() || trace.meta().initial.len() > 1;
    match busiest(summary, walked.as_deref()).filter(|_| !is_chosen) {
        Some(folder) => traces::chosen(trace, Some(&folder)),
        None => Ok((walked, plan)),
    }
}

/// The folders with files of the load that the summary names, and the time of calls in each.
fn of_the_load(summary: &Summary) -> Vec<(&str, u64)> {
    let all = summary.top_directories.iter();
    let of_load = all.filter(|share| {
        share.name.starts_with('/')
            && share.name != "/"
            && !OF_THE_SYSTEM.iter().any(|system| is_below(&share.name, system))
    });
    of_load.map(|share| (share.name.trim_end_matches('/'), share.time_ns)).collect()
}

fn time_below(folders: &[(&str, u64)], folder: &str) -> u64 {
    folders.iter().filter(|(name, _)| is_below(name, folder)).map(|(_, time_ns)| time_ns).sum()
}

/// The deepest folder with most of the load's time in calls, if the walked one has not half of it: a load
/// is often started elsewhere than where its files are.
fn busiest(summary: &Summary, walked: Option<&str>) -> Option<String> {
    let folders = of_the_load(summary);
    let all_ns: u64 = folders.iter().map(|(_, time_ns)| time_ns).sum();
    let is_enough = |folder: &str, share: f64| ratio(time_below(&folders, folder), all_ns) >= share;
    if all_ns == 0 || walked.is_some_and(|walked| is_enough(walked, MOST)) {
        return None;
    }
    let deepest = folders.iter().find(|(name, _)| is_enough(name, MOST));
    let &(mut folder, _) = deepest.or(folders.first())?;
    // Upwards to the folder that holds nearly all: the files of a load move together.
    while !is_enough(folder, 0.9) {
        folder =
            folder.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty())?;
    }
    Some(folder.to_owned())
}

/// A sentence about a folder with less than half of the time in calls.
pub(crate) fn sentence(summary: &Summary, plan: &Plan, only: Option<&str>) -> Option<String> {
    let only = only?;
    let inside_ns = plan.recorded().inside_ns.min(summary.in_calls_ns);
    let share = ratio(inside_ns, summary.in_calls_ns);
    (share < MOST).then(|| {
        let folders = of_the_load(summary);
        let other = folders.iter().find(|(name, _)| !is_below(name, only));
        let other = other.map(|(name, _)| format!(" such as {name}")).unwrap_or_default();
        format!(
            "The lab replays {} of the time in calls, that on files below {only}; the rest is \
             elsewhere{other}: choose the folder that would move with --only.",
            percent(inside_ns, summary.in_calls_ns)
        )
    })
}

#[allow(clippy::cast_precision_loss, reason = "a share")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A share as people read it.
#[allow(clippy::cast_precision_loss, reason = "shown in whole seconds and per cent")]
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests;
