//! `seekwell claim` and `release`: the only door to a real disk.

use crate::args::{ClaimArgs, ReleaseArgs};
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::claim::{self, ClaimCard, Contents};
use seekwell_host::export;
use seekwell_host::export::claim::{self as export_claim, ExportCard};
use seekwell_session::Machine;
use std::io::{BufRead, IsTerminal, stdin};
use std::path::Path;

/// Shows what would be destroyed, asks for the serial's tail, and keeps the claim.
///
/// # Errors
/// A refusal when the device is in use or the answer is wrong.
pub fn claim(machine: &Machine, arguments: &ClaimArgs) -> Result<Exit, Failure> {
    if let Some(from) = of_server(&arguments.device) {
        return claim_export(from, arguments);
    }
    let system = &machine.system;
    let card = claim::describe(system, &arguments.device, None)?;
    terminal::talk(&terminal::harmless(&text(&card)));
    if let Some(refusal) = &card.refusal {
        return Err(Failure::from_error(refusal));
    }
    let answer = answer(arguments, &card.question())?;
    claim::confirm(system, &machine.claims(), &card, &answer)?;
    terminal::talk(&format!(
        "claimed: labs may now destroy everything on {}; undo it with: seekwell release {}",
        arguments.device.display(),
        arguments.device.display()
    ));
    Ok(Exit::Done)
}

fn answer(arguments: &ClaimArgs, question: &str) -> Result<String, Failure> {
    if let Some(text) = &arguments.confirm {
        return Ok(text.clone());
    }
    if !stdin().is_terminal() {
        return Err(Failure::Usage(
            "a claim must be confirmed and there is no terminal; confirm it with --confirm TEXT"
                .to_owned(),
        ));
    }
    terminal::talk(&format!("To allow this, type {question}:"));
    let mut line = String::new();
    stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::Error(format!("cannot read the answer: {error}")))?;
    Ok(line.trim().to_owned())
}

/// The directory of a server that the argument names; `None` for a path of this machine.
fn of_server(device: &Path) -> Option<&str> {
    device.to_str().filter(|text| export::is_export(text))
}

/// Shows what is in the directory of a server, asks for its name, and puts the claim into it.
fn claim_export(from: &str, arguments: &ClaimArgs) -> Result<Exit, Failure> {
    let card = ExportCard::of(from)?;
    let claimed =
        card.claim.as_ref().map_or("no".to_owned(), |claim| format!("on {}", claim.machine));
    terminal::talk(&terminal::harmless(&format!(
        "Labs that name this directory make directories in it, and remove those only.\n  directory  {from}\n  server     {}\n  content    {}\n  claimed    {claimed}",
        card.server(),
        card.content(),
    )));
    if let Some(refusal) = card.refusal() {
        return Err(refusal.into());
    }
    let answer = answer(arguments, &format!("the name '{}'", terminal::harmless(card.word())))?;
    card.confirm(&answer)?;
    terminal::talk(&format!("claimed {from}; undo it with: seekwell release {from}"));
    Ok(Exit::Done)
}

fn release_export(from: &str, arguments: &ReleaseArgs) -> Result<Exit, Failure> {
    if arguments.restore {
        let text = "nothing in the directory of a server is restored; leave --restore out";
        return Err(Failure::Usage(text.to_owned()));
    }
    terminal::talk(&match export_claim::release(from)? {
        Some(_) => format!("released {from}"),
        None => format!("{from} was not claimed"),
    });
    Ok(Exit::Done)
}

/// Facts that a user must see before allowing Seekwell to destroy everything on a device.
fn text(card: &ClaimCard) -> String {
    let list =
        |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join("; ") };
    let stable =
        card.stable_path.as_ref().map_or("none".to_owned(), |path| path.display().to_string());
    format!(
        "Everything on this device will be destroyed by the labs that name it.\n  device      {}\n  what it is  {}\n  size        {}\n  stable path {stable}\n  signatures  {}\n  mounted     {}",
        card.target.display(),
        card.identity,
        card.identity.size,
        list(&card.signatures),
        list(&card.mounts),
    )
}

/// Takes a claim back.
///
/// # Errors
/// When the claim cannot be removed, or the contents cannot be restored.
pub fn release(machine: &Machine, arguments: &ReleaseArgs) -> Result<Exit, Failure> {
    if let Some(from) = of_server(&arguments.device) {
        return release_export(from, arguments);
    }
    if arguments.restore {
        return restore(machine, arguments);
    }
    let device = arguments.device.display();
    terminal::talk(&match claim::release(&machine.system, &machine.claims(), &arguments.device)? {
        Some(_) => format!("released {device}"),
        None => format!("{device} was not claimed"),
    });
    Ok(Exit::Done)
}

/// Takes a claim back and restores what was there before, as far as that is safe.
fn restore(machine: &Machine, arguments: &ReleaseArgs) -> Result<Exit, Failure> {
    let (system, claims) = (&machine.system, machine.claims());
    let contents = claim::release_and_restore(system, &claims, &arguments.device)?;
    let device = arguments.device.display();
    terminal::talk(&match contents {
        None => format!("{device} was not claimed"),
        Some(Contents::Unchanged) => format!(
            "released {device}; its partition table and signatures are as they were, so nothing \
             was written"
        ),
        Some(Contents::Restored) => format!(
            "released {device}; its partition table and signatures are restored; data that trials \
             overwrote is lost"
        ),
        Some(Contents::Overwritten(copy)) => format!(
            "released {device}; something other than a trial may have written to it, so nothing \
             was restored; a copy of its first and last MiB from before the claim is in {}",
            copy.display()
        ),
        Some(Contents::NoCopy) => {
            format!("released {device}; an earlier version claimed it and kept no copy")
        }
    });
    Ok(Exit::Done)
}
