//! Observations of a watched device so far.

use seekwell_model::record::{BlockEvent, Sample};
use seekwell_observe::requests::{Picture, Request, Tracker};
use seekwell_observe::watched::Watched;
use seekwell_report::WatchedLatency;
use seekwell_stats::Histogram;
use std::collections::{BTreeMap, VecDeque};

/// Requests that the seek picture shows.
const SHOWN: usize = 8_000;
/// Events kept for a recording: about 100 MB.
const MOST_EVENTS: usize = 4_000_000;

/// Samples, and where there are events, requests.
pub struct Seen {
    pub watched: Watched,
    /// Reason why there are counters only.
    pub note: Option<String>,
    pub samples: Vec<Sample>,
    /// The requests of the last interval; `None` where there are no events.
    pub picture: Option<Picture>,
    /// The latest requests.
    pub requests: VecDeque<Request>,
    /// Latencies of everything so far, by operation.
    pub latencies: BTreeMap<&'static str, Histogram>,
    /// For a recording.
    pub events: Option<Vec<BlockEvent>>,
    /// Events that no longer fitted.
    pub over_limit: u64,
    tracker: Tracker,
}

impl Seen {
    pub fn new(watched: Watched, keep_events: bool) -> Self {
        Self {
            watched,
            note: None,
            samples: Vec::new(),
            picture: None,
            requests: VecDeque::new(),
            latencies: BTreeMap::new(),
            events: keep_events.then(Vec::new),
            over_limit: 0,
            tracker: Tracker::default(),
        }
    }

    /// Takes an interval in: its columns, and its events where there are some at all.
    pub fn add(&mut self, sample: Sample, batch: Option<Vec<BlockEvent>>) {
        self.samples.push(sample);
        let Some(batch) = batch else { return };
        let mut own: Vec<BlockEvent> = batch
            .into_iter()
            .filter(|event| self.watched.holds(event.sector, event.sectors))
            .collect();
        for event in &mut own {
            // As the device itself counts, not its disk.
            event.sector = event.sector.saturating_sub(self.watched.sectors.0);
        }
        if let Some(kept) = &mut self.events {
            let room = MOST_EVENTS.saturating_sub(kept.len());
            self.over_limit += own.len().saturating_sub(room) as u64;
            kept.extend(own.iter().take(room));
        }
        let done = self.tracker.feed(own);
        for request in &done {
            let histogram = self.latencies.entry(word(request.operation)).or_default();
            histogram.record(request.latency_ns);
        }
        self.picture = Some(Picture::of(&done));
        self.requests.extend(done);
        let surplus = self.requests.len().saturating_sub(SHOWN);
        self.requests.drain(..surplus);
    }

    /// Device, size, model, and the data that are not available.
    pub fn title(&self) -> String {
        let watched = &self.watched;
        let mut title =
            format!("{}  {:.1} GB", watched.kernel_name, watched.size_bytes as f64 / 1e9);
        for word in [&watched.model, &watched.firmware].into_iter().flatten() {
            title.push_str("  ");
            title.push_str(word);
        }
        match &self.note {
            Some(note) => title + "  (" + note + ")",
            None => title,
        }
    }

    fn latency(&self) -> Option<WatchedLatency> {
        self.picture.as_ref().map(|picture| WatchedLatency {
            p50_ns: picture.latency_p50_ns,
            p99_ns: picture.latency_p99_ns,
            most_in_flight: picture.most_in_flight,
            sequential: picture.sequential,
        })
    }

    /// The last interval as a line of a terminal of `columns`, or whole.
    pub fn line(&self, columns: Option<usize>) -> String {
        let sample = self.samples.last().copied().unwrap_or_default();
        seekwell_report::watch_line(&sample, self.latency().as_ref(), columns)
    }

    /// The last interval as a line of JSON: the columns by iostat's names, and below `events` what
    /// the requests looked like, `null` where there are none.
    pub fn json(&self) -> String {
        let events = self.latency().map(|latency| {
            serde_json::json!({
                "latency_p50_ns": latency.p50_ns,
                "latency_p99_ns": latency.p99_ns,
                "most_in_flight": latency.most_in_flight,
                "sequential": latency.sequential,
            })
        });
        let mut value = serde_json::to_value(self.samples.last()).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.insert("device".to_owned(), self.watched.kernel_name.clone().into());
            object.insert("events".to_owned(), events.unwrap_or_default());
        }
        value.to_string()
    }
}

fn word(operation: char) -> &'static str {
    match operation {
        'R' => "read",
        'W' => "write",
        'D' => "discard",
        'F' => "flush",
        _ => "other",
    }
}
