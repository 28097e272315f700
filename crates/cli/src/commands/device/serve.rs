//! `seekwell device serve`: a modelled device as a block device, in real time.

use crate::args::DeviceServeArgs;
use crate::failure::Failure;
use crate::{stop, terminal};
use seekwell_session::{Floor, Report, Served, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

const POLL: Duration = Duration::from_millis(50);

/// Wait for the loop device to become free before anything is said.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves a device until the user ends it or its server dies.
///
/// # Errors
/// When it cannot be served, the server died, or a setting of the loop device cannot be put back.
pub(super) fn run(session: &Session, arguments: &DeviceServeArgs) -> Result<(), Failure> {
    let wish = stop::flag()?;
    // A wrong name is said before anything is measured.
    let title = session.device(&arguments.name)?.title().to_owned();
    let floor = session.floor()?;
    let mut served = session.serve_device(&arguments.name, arguments.seed)?;
    terminal::talk(&format!("serving {title}, {} bytes, contents zero", served.size().0));
    terminal::talk(&of_floor(floor));
    for warning in served.warnings() {
        terminal::talk(&format!("warning: {}", warning.text));
    }
    terminal::talk("end it with Ctrl-C; its contents are lost then");
    terminal::data(&format!("{}\n", served.path().display()));
    while !wish.load(Ordering::Relaxed) && !served.has_ended() {
        sleep(POLL);
    }
    if !served.has_ended() {
        wait_for_users(&mut served, &wish);
    }
    terminal::talk(&of_report(&served.end()?));
    Ok(())
}

/// Lets the device go and waits until it is unused, or for another wish to end.
fn wait_for_users(served: &mut Served, wish: &AtomicBool) {
    served.release();
    wish.store(false, Ordering::Relaxed);
    let (mut waited, mut said) = (Duration::ZERO, false);
    while !served.has_ended() && !wish.load(Ordering::Relaxed) {
        sleep(POLL);
        waited += POLL;
        if waited >= PATIENCE && !said {
            said = true;
            terminal::talk(&format!(
                "{} is still in use: unmount it or end the programs that use it. Ctrl-C again removes it now; they get I/O errors",
                served.path().display()
            ));
        }
    }
}

fn of_floor(floor: Floor) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "serving adds about {:.0} us to a request after a pause (median; p99 {:.0} us) and {:.0} us to one right after \
         another; measured with 4 KiB reads that the model answers at once",
        us(floor.median_ns),
        us(floor.p99_ns),
        us(floor.together_ns)
    )
}

fn of_report(report: &Report) -> String {
    let us =
        |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.0}", ns as f64 / 1e3));
    format!(
        "{} requests; later than the model says by {} us (median), {} us (p99), {} us (max)",
        report.requests,
        us(report.late_median_ns),
        us(report.late_p99_ns),
        us(report.late_max_ns)
    )
}
