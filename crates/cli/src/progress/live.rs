//! The live screen of a run: its own process, which reads states on standard input and the
//! counters of the devices from the kernel.

mod devices;
mod view;

use super::state::State;
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use devices::Devices;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Time between two samples of the devices, and between two drawings when nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// Time between two checks for states, keys and signals.
const LOOK: Duration = Duration::from_millis(200);

/// Draws until the run ends, `q`, or the end of the terminal.
///
/// # Errors
/// When standard error is no terminal.
pub fn run() -> Result<Exit, Failure> {
    let gone = |error: std::io::Error| Failure::Error(format!("the terminal is gone: {error}"));
    let stop = signals()?;
    let states = states();
    let mut screen = Screen::open().map_err(gone)?;
    let mut shown = Shown::new();
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if let Some('q' | 'Q' | '\u{1b}') = screen.key(LOOK) {
            break;
        }
        let Ok(changed) = shown.take(&states) else { break };
        let ticked = Instant::now() >= due;
        if ticked {
            shown.devices.sample(&shown.state);
            due = Instant::now() + TICK;
        }
        if changed || ticked {
            screen.draw(|frame| view::draw(frame, &shown)).map_err(gone)?;
        }
    }
    Ok(Exit::Done)
}

/// Content of the screen.
struct Shown {
    state: State,
    /// Start of the run, or of its continuation.
    started: Instant,
    /// Start of the running trial, without its image.
    since: Instant,
    devices: Devices,
}

impl Shown {
    fn new() -> Self {
        let now = Instant::now();
        Self { state: State::default(), started: now, since: now, devices: Devices::default() }
    }

    /// Takes the latest state; whether there was one. An error when the run is over.
    fn take(&mut self, states: &Receiver<State>) -> Result<bool, ()> {
        let mut changed = false;
        loop {
            match states.try_recv() {
                Ok(state) => {
                    if state.current.trial != self.state.current.trial {
                        self.since = Instant::now();
                        self.devices.new_trial();
                    }
                    if self.state.image.is_some() && state.image.is_none() {
                        self.since = Instant::now();
                    }
                    self.state = state;
                    changed = true;
                }
                Err(TryRecvError::Empty) => return Ok(changed),
                Err(TryRecvError::Disconnected) => return Err(()),
            }
        }
    }
}

/// Reads states in a thread; the channel ends with the pipe.
pub(super) fn states<T: DeserializeOwned + Send + 'static>() -> Receiver<T> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdin()).lines().map_while(Result::ok) {
            // What cannot be read is repeated by the next state.
            if let Ok(state) = serde_json::from_str(&line)
                && sender.send(state).is_err()
            {
                return;
            }
        }
    });
    receiver
}

/// Ctrl-C is for the run; SIGTERM and the end of the terminal end the screen. In the background,
/// after the run was killed, the terminal must still be given back.
pub(super) fn signals() -> Result<Arc<AtomicBool>, Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    let heard = Arc::new(AtomicBool::new(false));
    let wrong = |error| Failure::Error(format!("cannot listen for signals: {error}"));
    for (signal, flag) in [(SIGHUP, &stop), (SIGTERM, &stop), (SIGINT, &heard), (SIGQUIT, &heard)] {
        signal_hook::flag::register(signal, Arc::clone(flag)).map_err(wrong)?;
    }
    // SAFETY: both calls only touch the set given, which lives on this stack, and the signal mask
    // of this thread; threads that are started later inherit it.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
    Ok(stop)
}
