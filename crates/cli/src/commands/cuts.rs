//! `seekwell kernel cuts`: a bounded search for synced data that a filesystem loses.

use crate::args::CutsArgs;
use crate::failure::{Exit, Failure};
use crate::{machine, terminal};
use seekwell_report::loss_bound;
use seekwell_session::{AskedCuts, FoundCuts, Session};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Searches each filesystem, and prints what was found and how to repeat it.
///
/// # Errors
/// When a filesystem cannot be made here, a guest fails, or the search is stopped.
pub fn run(session: &Session, arguments: &CutsArgs) -> Result<Exit, Failure> {
    let stop = machine::stop_on_interrupt()?;
    let mut exit = Exit::Done;
    for filesystem in &arguments.fs {
        let asked = AskedCuts {
            filesystem: filesystem.clone(),
            mount: arguments.options.clone(),
            mkfs: arguments.mkfs.clone(),
            model: arguments.model.clone(),
            operations: arguments.ops,
            most: arguments.most,
            seed: arguments.seed,
            jobs: arguments.jobs,
            kernel: arguments.kernel.clone(),
            until_lost: arguments.until_lost,
            stop: Arc::clone(&stop),
        };
        let found = session.cuts(&asked, &mut |cuts, lost, all| {
            terminal::talk(&format!(
                "{filesystem}: {cuts} of {all} power cuts, {lost} with a loss"
            ));
        })?;
        if found.lost > 0 {
            exit = Exit::ThresholdFailed;
        }
        terminal::data(&terminal::harmless(&text(filesystem, &found)));
    }
    Ok(exit)
}

/// The result in words; with a loss, its smallest case as calls, C program and lab.
fn text(filesystem: &str, found: &FoundCuts) -> String {
    let FoundCuts { space, cuts, lost, first, case, keeps_all } = found;
    let Some(case) = case else {
        let bound = if cuts == space { String::new() } else { loss_bound(*cuts) };
        let keeps = match keeps_all {
            true => {
                ". The device has no volatile cache, so that no power cut takes what it acknowledged: another \
                     --model asks more of the filesystem"
            }
            false => "",
        };
        return format!(
            "{filesystem}: nothing synced was lost in {cuts} power cuts{bound} ({space} sequences in all){keeps}"
        );
    };
    let first = first.map_or_else(String::new, |first| format!(", the first was number {first}"));
    let kind = match case.is_minimal {
        true => "smallest case",
        false => "case, which needs the sequences before it (in the lab)",
    };
    format!(
        "{filesystem}: {lost} of {cuts} power cuts lost synced data or damaged the filesystem{first} ({space} sequences in all)\n\
         {kind}: {}\n{}\n\nAs a C program:\n\n{}\nAs a lab, for seekwell run --place virtual:\n\n{}",
        case.calls, case.text, case.program, case.lab
    )
}
