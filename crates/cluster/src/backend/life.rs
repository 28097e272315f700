//! The heartbeat of a session. It has its own thread: a scheduler that does not answer, or a slow disk of the run file, must
//! not make the session seem dead to its workers.

use crate::error::ClusterError;
use crate::pace;
use crate::spool::Spool;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time in which a heartbeat may fail; workers are patient for longer.
const MOST_FAILING: Duration = Duration::from_secs(20);

/// A session that shows that it lives until this is dropped.
pub(super) struct Life {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    workers: AtomicU32,
    error: Mutex<Option<ClusterError>>,
}

impl Life {
    /// Begins with a heartbeat.
    pub(super) fn begin(spool: &Spool) -> Result<Self, ClusterError> {
        spool.beat_session(1, 0)?;
        let shared = Arc::new(Shared::default());
        let thread = std::thread::spawn({
            let (shared, spool) = (shared.clone(), spool.clone());
            move || shared.beat(&spool, pace::BEAT, MOST_FAILING)
        });
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Tells the number of workers, with which they beat more slowly; the error of a folder that cannot be written.
    pub(super) fn with(&self, workers: u32) -> Result<(), ClusterError> {
        self.shared.workers.store(workers, Ordering::Relaxed);
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }
}

impl Shared {
    fn beat(&self, spool: &Spool, pause: Duration, most_failing: Duration) {
        let (mut count, mut last) = (1, Instant::now());
        loop {
            std::thread::park_timeout(pause);
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            count += 1;
            match spool.beat_session(count, self.workers.load(Ordering::Relaxed)) {
                Ok(()) => last = Instant::now(),
                Err(error) if last.elapsed() > most_failing => {
                    *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                // A server that does not answer for a moment.
                Err(_) => {}
            }
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // One that panicked has nothing left to end.
            let _ = thread.join();
        }
    }
}
