//! The timeline and the block events of a trial.

use super::Part;
use super::attached::Attached;
use crate::context::Trial;
use crate::error::{Fault, TrialError};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_observe::block_events::{self, BlockEventOptions, BlockEventStream};
use seekwell_observe::timeline::{Timeline, TimelineOptions};
use std::path::{Path, PathBuf};

/// Observation of the devices while the stack is up.
#[derive(Debug)]
pub struct Observed {
    /// `None` if the filesystem is on no device of this machine.
    timeline: Option<Timeline>,
    events: Option<BlockEventStream>,
}

impl Observed {
    /// Starts the timeline.
    ///
    /// # Errors
    /// When the kernel has no counters for a device.
    pub fn start(trial: &Trial<'_, '_>, attached: &Attached) -> Result<Self, Fault> {
        let Some(data) = &attached.data else {
            return Ok(Self { timeline: None, events: None });
        };
        let options = TimelineOptions {
            root: PathBuf::from("/"),
            device: data.name().to_owned(),
            journal: attached.journal.as_ref().map(|journal| journal.name().to_owned()),
            interval: trial.request.settings.sample_interval.to_duration(),
            origin_ns: trial.origin_ns,
        };
        let timeline = Some(Timeline::start(&options)?);
        Ok(Self { timeline, events: None })
    }

    /// Starts the stream of block events if the lab asks for it.
    ///
    /// # Errors
    /// When tracefs is missing or refuses the stream.
    pub fn look_closer(&mut self, trial: &Trial<'_, '_>, attached: &Attached) -> Result<(), Fault> {
        let request = trial.request;
        let Some(data) = &attached.data else { return Ok(()) };
        if request.settings.block_events {
            let device = block_events::DeviceNumber::read(Path::new("/"), data.name())?;
            let instance = block_events::instance_name(&request.run, request.trial);
            // A killed agent that tried this trial before may have left one; mostly there is none.
            let _ = block_events::remove_instance(&instance);
            let options = BlockEventOptions::new(instance, device, trial.origin_ns);
            self.events = Some(BlockEventStream::start(&options)?);
        }
        Ok(())
    }
}

impl Part<Trial<'_, '_>> for Observed {
    type Error = TrialError;

    /// Puts everything that was seen into the record. What was lost is a warning.
    fn take_down(self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        let Self { timeline, events } = self;
        let record = &mut trial.record;
        if let Some(seen) = timeline.map(Timeline::stop) {
            record.timeline = seen.device;
            record.journal_timeline = seen.journal;
            record.warnings.extend(seen.warnings);
        }
        match events.map(BlockEventStream::stop) {
            None => {}
            Some(Ok(events)) => record.block_events = Some(events),
            Some(Err(error)) => {
                let text = format!("the block event stream was lost: {error}");
                record.add_warning(Warning::new(WarningCode::NoBlockEvents, text));
            }
        }
        Ok(())
    }
}
