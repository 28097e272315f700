//! `seekwell claim` and `release`: the only door to a real disk.

use crate::args::{ClaimArgs, ReleaseArgs};
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::claim::{self, ClaimCard, Contents};
use seekwell_session::Machine;
use std::io::{BufRead, IsTerminal, stdin};

/// Shows what would be destroyed, asks for the serial's tail, and keeps the claim.
///
/// # Errors
/// A refusal when the device is in use or the answer is wrong.
pub fn claim(machine: &Machine, arguments: &ClaimArgs) -> Result<Exit, Failure> {
    let system = &machine.system;
    let card = claim::describe(system, &arguments.device, None)
        .map_err(|error| Failure::from_host(&error))?;
    terminal::talk(&terminal::harmless(&text(&card)));
    if let Some(refusal) = &card.refusal {
        return Err(Failure::from_refusal(refusal));
    }
    let answer = answer(arguments, &card)?;
    claim::confirm(system, &machine.claims(), &card, &answer)
        .map_err(|error| Failure::from_host(&error))?;
    terminal::talk(&format!(
        "claimed: labs may now destroy everything on {}; undo it with: seekwell release {}",
        arguments.device.display(),
        arguments.device.display()
    ));
    Ok(Exit::Done)
}

fn answer(arguments: &ClaimArgs, card: &ClaimCard) -> Result<String, Failure> {
    if let Some(text) = &arguments.confirm {
        return Ok(text.clone());
    }
    if !stdin().is_terminal() {
        return Err(Failure::Usage(
            "a claim must be confirmed and there is no terminal; confirm it with --confirm TEXT"
                .to_owned(),
        ));
    }
    terminal::talk(&format!("To allow this, type {}:", card.question()));
    let mut line = String::new();
    stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::Error(format!("cannot read the answer: {error}")))?;
    Ok(line.trim().to_owned())
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
    if arguments.restore {
        return restore(machine, arguments);
    }
    let released = claim::release(&machine.system, &machine.claims(), &arguments.device)
        .map_err(|error| Failure::from_host(&error))?;
    match released {
        Some(_) => terminal::talk(&format!("released {}", arguments.device.display())),
        None => terminal::talk(&format!("{} was not claimed", arguments.device.display())),
    }
    Ok(Exit::Done)
}

/// Takes a claim back and restores what was there before, as far as that is safe.
fn restore(machine: &Machine, arguments: &ReleaseArgs) -> Result<Exit, Failure> {
    let (system, claims) = (&machine.system, machine.claims());
    let contents = claim::release_and_restore(system, &claims, &arguments.device)
        .map_err(|error| Failure::from_host(&error))?;
    let device = arguments.device.display();
    terminal::talk(&match contents {
        None => format!("{device} was not claimed"),
        Some(Contents::AsBefore(0)) => {
            format!("released {device}; its partition table and signatures were unchanged")
        }
        Some(Contents::AsBefore(_)) => {
            format!("released {device}; its partition table and signatures are restored")
        }
        Some(Contents::Overwritten(copy)) => format!(
            "released {device}; it was written since the claim, so nothing was restored; a copy of \
             its first and last MiB from before the claim is in {}",
            copy.display()
        ),
        Some(Contents::NoCopy) => {
            format!("released {device}; an earlier version claimed it and kept no copy")
        }
    });
    Ok(Exit::Done)
}
