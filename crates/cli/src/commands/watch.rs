//! `seekwell watch`: what a device does, now. Reads the kernel's counters and events; the device
//! itself is never opened.

mod events;
mod record;
mod seen;
mod view;

use crate::args::WatchArgs;
use crate::failure::{Exit, Failure};
use crate::screen::{self, Screen};
use crate::{stop, terminal};
use events::Events;
use record::Recorder;
use seekwell_model::units::Nanos;
use seekwell_observe::clock::monotonic_ns;
use seekwell_observe::timeline::{Live, TimelineOptions};
use seekwell_observe::watched::Watched;
use seekwell_session::Machine;
use seen::Seen;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Number of lines after which the titles are printed again.
const LINES_PER_TITLE: u64 = 20;
/// Time between two checks for keys and signals.
const LOOK: Duration = Duration::from_millis(100);

/// Watches a device until `--count` intervals passed, `q` or Ctrl-C.
///
/// # Errors
/// When it is no block device, or the recording cannot be written.
pub fn run(machine: &Machine, arguments: &WatchArgs) -> Result<Exit, Failure> {
    let watched = Watched::find(Path::new("/"), &arguments.device)?;
    let stop = stop::flag()?;
    let recorder = arguments
        .record
        .as_deref()
        .map(|path| Recorder::create(machine, path, &arguments.device, &watched))
        .transpose()?;
    let origin_ns = monotonic_ns();
    let mut watch = Watch::start(arguments, watched, origin_ns, recorder.is_some())?;
    let on_screen = !arguments.lines && !arguments.json && screen::possible();
    let looked = if on_screen {
        on_a_screen(&mut watch, arguments, &stop)
    } else {
        in_lines(&mut watch, arguments, &stop)
    };
    let (seen, lost) = watch.finish();
    if let Some(recorder) = recorder {
        recorder.finish(seen, lost, monotonic_ns().saturating_sub(origin_ns))?;
    }
    looked.map(|()| Exit::Done)
}

/// The counters, the events if they are available, and the measurements so far.
struct Watch {
    live: Live,
    events: Events,
    seen: Seen,
    interval: Duration,
    due_ns: u64,
}

impl Watch {
    fn start(
        arguments: &WatchArgs,
        watched: Watched,
        origin_ns: u64,
        keep_events: bool,
    ) -> Result<Self, Failure> {
        let interval = arguments.interval.to_duration();
        let mut events = match arguments.counters_only {
            true => Events::None("counters only, as requested".to_owned()),
            false => Events::open(&watched, origin_ns),
        };
        let options = TimelineOptions {
            root: "/".into(),
            device: watched.kernel_name.clone(),
            journal: None,
            interval,
            origin_ns,
        };
        let live = Live::start(&options)?;
        events.wait();
        let mut seen = Seen::new(watched, keep_events);
        seen.note = events.note();
        let due_ns = origin_ns + Nanos::from_duration(interval).0;
        Ok(Self { live, events, seen, interval, due_ns })
    }

    /// Time until the next interval ends.
    fn left(&self) -> Duration {
        Duration::from_nanos(self.due_ns.saturating_sub(monotonic_ns()))
    }

    /// Ends an interval; whether there is something new.
    fn next(&mut self) -> Result<bool, Failure> {
        let interval_ns = Nanos::from_duration(self.interval).0;
        // Missed intervals are skipped, not made up for.
        let missed = monotonic_ns().saturating_sub(self.due_ns) / interval_ns;
        self.due_ns += (missed + 1) * interval_ns;
        let batch = self.events.batch();
        self.seen.note = self.events.note();
        Ok(self.live.sample()?.map(|sample| self.seen.add(sample, batch)).is_some())
    }

    fn finish(self) -> (Seen, u64) {
        let lost = self.events.stop();
        (self.seen, lost)
    }
}

fn in_lines(watch: &mut Watch, arguments: &WatchArgs, stop: &AtomicBool) -> Result<(), Failure> {
    if !arguments.json {
        terminal::talk(&terminal::harmless(&watch.seen.title()));
    }
    let (mut lines, mut titled) = (0, None);
    while arguments.count.is_none_or(|count| lines < count) && !stop.load(Ordering::Relaxed) {
        let left = watch.left();
        if !left.is_zero() {
            std::thread::sleep(left.min(LOOK));
            continue;
        }
        if !watch.next()? {
            continue;
        }
        if arguments.json {
            terminal::data(&watch.seen.json());
        } else {
            let (with_events, columns) = (Some(watch.seen.picture.is_some()), terminal::columns());
            if lines.is_multiple_of(LINES_PER_TITLE) || with_events != titled {
                let header = seekwell_report::watch_header(with_events == Some(true), columns);
                terminal::data(&header);
                titled = with_events;
            }
            terminal::data(&watch.seen.line(columns));
        }
        lines += 1;
    }
    Ok(())
}

fn on_a_screen(watch: &mut Watch, arguments: &WatchArgs, stop: &AtomicBool) -> Result<(), Failure> {
    let lost = |error: std::io::Error| Failure::Error(format!("the terminal is gone: {error}"));
    let mut screen = Screen::open().map_err(lost)?;
    screen.draw(|frame| view::draw(frame, &watch.seen)).map_err(lost)?;
    let mut intervals = 0;
    while arguments.count.is_none_or(|count| intervals < count) && !stop.load(Ordering::Relaxed) {
        if let Some('q' | 'Q' | '\u{1b}') = screen.key(watch.left().min(LOOK)) {
            break;
        }
        if watch.left().is_zero() && watch.next()? {
            intervals += 1;
            screen.draw(|frame| view::draw(frame, &watch.seen)).map_err(lost)?;
        }
    }
    Ok(())
}
