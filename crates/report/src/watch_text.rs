//! A watched device as text, one line per interval.

use seekwell_model::record::Sample;

/// Latencies of the requests of an interval, from the block event stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WatchedLatency {
    /// Median from issue to completion in ns; `None` without requests.
    pub p50_ns: Option<u64>,
    /// 99th percentile in ns.
    pub p99_ns: Option<u64>,
    /// Most requests that the device had at once.
    pub most_in_flight: u32,
    /// Share of requests that began where the one before ended.
    pub sequential: Option<f64>,
}

/// Title and value of every column of `iostat -x` for a sample, in its order; a dash stands for a
/// mean over no request.
#[must_use]
pub fn iostat_columns(sample: &Sample) -> [(&'static str, String); 13] {
    let number = |value: f64| {
        if value >= 99_999.5 { format!("{value:.0}") } else { format!("{value:.1}") }
    };
    let mean = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    let size = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    [
        ("r/s", number(sample.reads_per_s)),
        ("rkB/s", number(sample.read_kib_per_s)),
        ("rrqm/s", number(sample.reads_merged_per_s)),
        ("r_await", mean(sample.read_await_ms)),
        ("rareq-sz", size(sample.read_request_kib)),
        ("w/s", number(sample.writes_per_s)),
        ("wkB/s", number(sample.written_kib_per_s)),
        ("wrqm/s", number(sample.writes_merged_per_s)),
        ("w_await", mean(sample.write_await_ms)),
        ("wareq-sz", size(sample.write_request_kib)),
        ("f/s", sample.flushes_per_s.map_or("-".to_owned(), number)),
        ("aqu-sz", format!("{:.2}", sample.queue_size)),
        ("%util", number(sample.utilisation_percent)),
    ]
}

const WIDTHS: [usize; 13] = [8, 10, 8, 8, 8, 8, 10, 8, 8, 8, 7, 7, 6];

/// The titles of [`watch_line`]; the last four columns exist only with block events.
#[must_use]
pub fn watch_header(with_events: bool) -> String {
    let mut line = format!("{:>8}", "time_s");
    for ((title, _), width) in iostat_columns(&Sample::default()).iter().zip(WIDTHS) {
        line.push_str(&format!(" {title:>width$}"));
    }
    if with_events {
        line.push_str("  p50_us  p99_us  depth  seq%");
    }
    line
}

/// A sample in one line; time in seconds since watching began.
#[must_use]
pub fn watch_line(sample: &Sample, latency: Option<&WatchedLatency>) -> String {
    let mut line = format!("{:>8.1}", sample.at_ns as f64 / 1e9);
    for ((_, value), width) in iostat_columns(sample).iter().zip(WIDTHS) {
        line.push_str(&format!(" {value:>width$}"));
    }
    if let Some(latency) = latency {
        let micros = |value: Option<u64>| {
            value.map_or("-".to_owned(), |value| format!("{:.0}", value as f64 / 1e3))
        };
        let share = latency.sequential;
        line.push_str(&format!(
            " {:>7} {:>7} {:>6} {:>5}",
            micros(latency.p50_ns),
            micros(latency.p99_ns),
            latency.most_in_flight,
            share.map_or("-".to_owned(), |share| format!("{:.0}", share * 100.0)),
        ));
    }
    line
}

#[cfg(test)]
mod tests;
