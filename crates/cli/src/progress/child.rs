//! The screen as a process of its own: neither its end nor its slowness touches the run, and it
//! gives the terminal back when the run is killed, because its pipe ends.

use crate::screen::Before;
use serde::Serialize;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time that a screen has to end.
const ENDING: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// The state to send next, and the condition of the screen.
#[derive(Default)]
struct Slot {
    next: Option<String>,
    /// Nothing more comes.
    closed: bool,
    /// True once the screen has stopped reading.
    broken: bool,
}

/// A running screen.
pub struct ScreenProcess {
    child: Child,
    before: Before,
    shared: Arc<(Mutex<Slot>, Condvar)>,
    writer: Option<JoinHandle<()>>,
}

impl ScreenProcess {
    /// Starts this program again as the screen `command`.
    ///
    /// # Errors
    /// When there is no terminal or no process can be started.
    pub fn start(command: &str) -> io::Result<Self> {
        let before = Before::read()?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let shared = Arc::new((Mutex::new(Slot::default()), Condvar::new()));
        let pipe = child.stdin.take();
        let slot = Arc::clone(&shared);
        let writer = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
            if let Some(pipe) = pipe {
                write(pipe, &slot);
            }
        })?;
        Ok(Self { child, before, shared, writer: Some(writer) })
    }

    /// Sends a state and does not wait; `false` when the screen is no more.
    pub fn send(&self, state: &impl Serialize) -> bool {
        // A state is text and numbers: it always serialises.
        let Ok(text) = serde_json::to_string(state) else { return true };
        let (slot, changed) = &*self.shared;
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.next = Some(text);
        changed.notify_one();
        !slot.broken
    }

    /// Ends the screen and restores the terminal, even if the process died.
    pub fn finish(mut self) {
        {
            let (slot, changed) = &*self.shared;
            slot.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
            changed.notify_one();
        }
        let begun = Instant::now();
        let clean = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.success(),
                Ok(None) if begun.elapsed() < ENDING => std::thread::sleep(POLL),
                _ => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    break false;
                }
            }
        };
        if !clean {
            self.before.restore();
        }
        // The pipe is broken now at the latest.
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Sends the latest state and skips older ones that were not read yet.
fn write(mut pipe: ChildStdin, shared: &(Mutex<Slot>, Condvar)) {
    let (slot, changed) = shared;
    loop {
        let text = {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            while slot.next.is_none() && !slot.closed {
                slot = changed.wait(slot).unwrap_or_else(PoisonError::into_inner);
            }
            match slot.next.take() {
                Some(text) => text,
                None => return,
            }
        };
        if pipe.write_all(text.as_bytes()).and_then(|()| pipe.write_all(b"\n")).is_err() {
            slot.lock().unwrap_or_else(PoisonError::into_inner).broken = true;
            return;
        }
    }
}
