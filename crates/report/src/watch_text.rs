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

/// Columns of the time of a sample.
const TIME: usize = 8;

/// Width of each column of [`iostat_columns`], then of the four of block events.
const WIDTHS: [usize; 17] = [8, 10, 8, 8, 8, 8, 10, 8, 8, 8, 7, 7, 6, 7, 7, 6, 5];

/// Columns of [`iostat_columns`] and of block events in the order in which a narrow terminal gives them
/// up, the last one first.
const ORDER: [usize; 17] = [12, 0, 5, 1, 6, 3, 8, 11, 14, 4, 9, 13, 15, 16, 10, 2, 7];

/// Indices of the columns with these widths that fit `room`, each with a blank before it, in their own
/// order: `%util`, rates and latencies before sizes, merges and flushes.
#[must_use]
pub fn columns_that_fit(widths: &[usize], room: usize) -> Vec<usize> {
    let mut used = 0;
    let mut fitting: Vec<usize> = ORDER
        .into_iter()
        .filter(|column| *column < widths.len())
        .take_while(|column| {
            used += widths[*column] + 1;
            used <= room
        })
        .collect();
    fitting.sort_unstable();
    fitting
}

/// Cells that fit in `columns`, or all of them.
fn line(time: &str, cells: &[String], columns: Option<usize>) -> String {
    // A blank less before the time, so that the queue has its place in 80 columns.
    let (time_width, room) = columns.map_or((TIME, usize::MAX), |columns| (TIME - 1, columns));
    let mut line = format!("{time:>time_width$}");
    for column in columns_that_fit(&WIDTHS[..cells.len()], room.saturating_sub(time_width)) {
        line.push_str(&format!(" {:>width$}", cells[column], width = WIDTHS[column]));
    }
    line
}

/// The titles of [`watch_line`] in a terminal of `columns`, or all of them; the last four exist only with
/// block events.
#[must_use]
pub fn watch_header(with_events: bool, columns: Option<usize>) -> String {
    let titles = iostat_columns(&Sample::default()).map(|(title, _)| title.to_owned());
    let events = ["p50_us", "p99_us", "depth", "seq%"].map(str::to_owned);
    let events = events.into_iter().filter(|_| with_events);
    line("time_s", &titles.into_iter().chain(events).collect::<Vec<_>>(), columns)
}

/// A sample in one line of a terminal of `columns`, or whole; time in seconds since watching began.
#[must_use]
pub fn watch_line(
    sample: &Sample,
    latency: Option<&WatchedLatency>,
    columns: Option<usize>,
) -> String {
    let mut cells: Vec<String> =
        iostat_columns(sample).into_iter().map(|(_, value)| value).collect();
    if let Some(latency) = latency {
        let micros = |value: Option<u64>| {
            value.map_or("-".to_owned(), |value| format!("{:.0}", value as f64 / 1e3))
        };
        let share = latency.sequential;
        cells.extend([
            micros(latency.p50_ns),
            micros(latency.p99_ns),
            latency.most_in_flight.to_string(),
            share.map_or("-".to_owned(), |share| format!("{:.0}", share * 100.0)),
        ]);
    }
    line(&format!("{:.1}", sample.at_ns as f64 / 1e9), &cells, columns)
}

#[cfg(test)]
mod tests;
