//! `seekwell clients`: shared storage under many clients in step, and one of these clients.

use crate::args::{ClientArgs, ClientsArgs};
use crate::failure::{Exit, Failure};
use crate::machine::stop_on_interrupt;
use crate::terminal;
use seekwell_session::{Session, clients_in_step};

/// Measures shared storage and prints the figures.
///
/// # Errors
/// When a client or the storage fails, or on an interrupt.
pub fn run(session: &Session, arguments: &ClientsArgs) -> Result<Exit, Failure> {
    let plan = arguments.plan();
    if plan.files == 0 && plan.block.0 == 0 {
        return Err(Failure::Usage("nothing to do: give --files or --block".to_owned()));
    }
    let launch = arguments.launch();
    let stop = stop_on_interrupt()?;
    let (machine, storage, say) = (session.machine(), &arguments.storage, &mut terminal::talk);
    let phases = clients_in_step(machine, storage, &plan, &launch, &stop, say)?;
    if arguments.json {
        terminal::data(&format!("{:#}", seekwell_report::clients_json(&plan, &phases)));
    } else {
        terminal::data(&seekwell_report::clients_text(&plan, &phases, terminal::width()));
    }
    Ok(Exit::Done)
}

/// Runs one client.
///
/// # Errors
/// When it has no rank, another client fails or is lost, or the storage fails.
pub fn client(arguments: &ClientArgs) -> Result<Exit, Failure> {
    let of_slurm = || std::env::var("SLURM_PROCID").ok()?.parse().ok();
    let rank = arguments.rank.or_else(of_slurm);
    let rank = rank.ok_or_else(|| Failure::Usage("a client needs --rank, or srun".to_owned()))?;
    seekwell_session::client(&arguments.folder, rank)?;
    Ok(Exit::Done)
}
