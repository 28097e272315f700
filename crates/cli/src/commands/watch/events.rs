//! The block events of a watched device, which the kernel may be slow to give: where many processes
//! make and remove tracing instances, opening one takes seconds. The counters do not wait for it.

use seekwell_model::record::BlockEvent;
use seekwell_observe::ObserveError;
use seekwell_observe::block_events::{self, BlockEventOptions, BlockEventStream};
use seekwell_observe::watched::Watched;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// Longest time that the first line waits for the events; they usually arrive in a tenth of it.
const PATIENCE: Duration = Duration::from_millis(500);

type Open = (BlockEventStream, Receiver<Vec<BlockEvent>>);

/// The stream, or why there is none.
pub enum Events {
    None(String),
    Opening(Receiver<Result<Open, ObserveError>>),
    Open(Open),
}

impl Events {
    /// Begins to open the stream.
    pub fn open(watched: &Watched, origin_ns: u64) -> Self {
        let name = block_events::watcher_name(std::process::id());
        let options = BlockEventOptions::new(name, watched.disk, origin_ns);
        let (sender, receiver) = channel();
        // Whoever stopped watching in the meantime has hung up: the stream then ends with the
        // message, and what a killed process leaves is removed by the next command.
        let opened = std::thread::Builder::new().name("open-events".to_owned()).spawn(move || {
            let _ = sender.send(BlockEventStream::start_live(&options));
        });
        match opened {
            Ok(_) => Self::Opening(receiver),
            Err(error) => Self::None(format!("counters only: {error}")),
        }
    }

    /// Waits a little for the stream.
    pub fn wait(&mut self) {
        if let Self::Opening(receiver) = self
            && let Ok(opened) = receiver.recv_timeout(PATIENCE)
        {
            *self = Self::of(opened);
        }
    }

    fn of(opened: Result<Open, ObserveError>) -> Self {
        match opened {
            Ok(open) => Self::Open(open),
            Err(error) => Self::None(format!("counters only: {error}")),
        }
    }

    /// Returns the reason why there are counters only.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::None(reason) => Some(reason.clone()),
            Self::Opening(_) => {
                Some("counters only, until the kernel has opened its events".to_owned())
            }
            Self::Open(_) => None,
        }
    }

    /// Returns the events since the last call; `None` if events are not available.
    pub fn batch(&mut self) -> Option<Vec<BlockEvent>> {
        if let Self::Opening(receiver) = self {
            match receiver.try_recv() {
                Ok(opened) => *self = Self::of(opened),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => *self = Self::None("counters only".to_owned()),
            }
        }
        match self {
            Self::Open((_, receiver)) => Some(receiver.try_iter().flatten().collect()),
            Self::None(_) | Self::Opening(_) => None,
        }
    }

    /// Ends the stream and tells how many events were lost. One that is still being opened is
    /// waited for, so that nothing of it stays.
    pub fn stop(self) -> u64 {
        let open = match self {
            Self::Open(open) => Some(open),
            Self::Opening(receiver) => receiver.recv().ok().and_then(Result::ok),
            Self::None(_) => None,
        };
        open.and_then(|(stream, _)| stream.stop().ok()).map_or(0, |events| events.lost)
    }
}
