//! A summary as text for the terminal.

use super::{ASYNCHRONOUS, OperationSummary, Share, Spread, Summary, Transfer, ratio};
use seekwell_trace::meta::{Mount, Unfinished};
use std::fmt::Write as _;

const UNKNOWN: &str = "-";
/// Meaning of losses for the numbers.
const WITH_LOSSES: &str = "Counts, bytes and times are lower bounds, times between calls upper bounds; of \
                           what was next to a lost event, order, sequence and files may be wrong";

/// The summary as text: three sentences, then tables. Lines are not wrapped.
#[must_use]
pub fn text(summary: &Summary) -> String {
    let mut out = String::new();
    for sentence in summary.sentences() {
        line(&mut out, &sentence);
    }
    line(&mut out, "");
    overview(&mut out, summary);
    classes(&mut out, summary);
    transfers(&mut out, summary);
    device(&mut out, summary);
    shares(&mut out, "file", &summary.top_files);
    shares(&mut out, "directory", &summary.top_directories);
    shares(&mut out, "process", &summary.top_processes);
    if !summary.mounts.is_empty() {
        line(&mut out, "In the container and outside");
        let pair = |mount: &Mount| format!("  {} is {}", mount.inside, mount.outside);
        summary.mounts.iter().for_each(|mount| line(&mut out, &pair(mount)));
        line(&mut out, "");
    }
    let lost = summary.losses.as_ref().map(|losses| format!("{losses}: lost. {WITH_LOSSES}"));
    // Missing segments and a missing end are gaps of an opened trace.
    let unfinished = in_progress(summary);
    let unfinished =
        unfinished.map(|calls| format!("calls that were in progress at the end: {calls}"));
    let gaps: Vec<&String> = lost.iter().chain(&unfinished).chain(&summary.gaps).collect();
    if !gaps.is_empty() {
        line(&mut out, "Not in the trace");
        gaps.iter().for_each(|gap| line(&mut out, &format!("  - {gap}")));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The calls in progress at the end; `None` without any.
pub(super) fn in_progress(summary: &Summary) -> Option<String> {
    let one = |one: &Unfinished| {
        let since = time(one.longest_ns);
        match one.count {
            1 => format!("{} for {since}", one.call),
            number => format!("{} {}, the first for {since}", count(number), one.call),
        }
    };
    let told: Vec<String> = summary.unfinished.iter().map(one).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}", text.trim_end());
}

fn overview(out: &mut String, summary: &Summary) {
    let rows = [
        ("length", time(summary.duration_ns)),
        (
            "calls",
            format!(
                "{} ({} failed), {} a second, {} in the busiest tenth of a second",
                count(summary.calls),
                count(summary.failed),
                count(rate(summary.calls, summary.duration_ns)),
                count(summary.peak_calls_per_tenth),
            ),
        ),
        ("active", activity(summary)),
        ("lost events", count(summary.lost)),
        ("unknown calls", count(summary.unknown_calls)),
        (
            "processes",
            format!("{} with {} threads", count(summary.processes), count(summary.threads)),
        ),
        ("files", count(summary.files)),
        ("created, removed", churn(summary)),
        (
            "time in calls",
            format!(
                "{} on files, {} elsewhere: pipes, sockets, locks, new processes, memory, /dev, /proc and /sys",
                time(summary.in_calls_ns),
                time(summary.elsewhere_ns),
            ),
        ),
        (
            "think time",
            time(
                summary
                    .thread_ns
                    .saturating_sub(summary.in_calls_ns)
                    .saturating_sub(summary.elsewhere_ns),
            ) + " between the calls of the threads",
        ),
        (
            "concurrency",
            match summary.calling_ns {
                0 => UNKNOWN.to_owned(),
                calling_ns => format!(
                    "{:.2} calls on files at a time while there are any",
                    ratio(summary.in_calls_ns, calling_ns)
                ),
            },
        ),
    ];
    for (name, value) in rows {
        line(out, &format!("{name:<18}{value}"));
    }
    sometimes(out, summary);
    line(out, "");
}

fn activity(summary: &Summary) -> String {
    let unrecorded = match summary.unrecorded_ns {
        0 => String::new(),
        ns => format!("; not recorded {}", time(ns)),
    };
    let ready = match summary.cpu_wait_ns {
        0 => String::new(),
        ns => format!(", waiting for a CPU {} of it", time(ns)),
    };
    format!("{}{ready}; asleep {}{unrecorded}", time(summary.active_ns), time(summary.idle_ns))
}

fn churn(summary: &Summary) -> String {
    let both = match summary.short_lived {
        0 => String::new(),
        both => format!(
            "; {} files were both, {} with 64 KiB at most",
            count(both),
            count(summary.short_lived_small)
        ),
    };
    format!("{}, {}{both}", count(summary.created), count(summary.removed))
}

/// Rows that not every load has.
fn sometimes(out: &mut String, summary: &Summary) {
    if summary.operations > 0 {
        let _ = writeln!(
            out,
            "{:<18}{} operations, {:.2} at a time while there are any",
            "asynchronous",
            count(summary.operations),
            ratio(summary.operations_ns, summary.in_flight_ns)
        );
    }
    if let Some(faults) = summary.faults.filter(|faults| faults.count > 0) {
        let _ = writeln!(
            out,
            "{:<18}{} in mapped files, {} to write; {} waited for their page, {}",
            "page faults",
            count(faults.count),
            count(faults.written),
            count(faults.slept),
            time(faults.slept_ns),
        );
    }
    if summary.known_before + summary.unknown_before > 0 {
        let _ = writeln!(
            out,
            "{:<18}{} files and directories known, {} perhaps overwritten or removed unseen",
            "before the start",
            count(summary.known_before),
            count(summary.unknown_before),
        );
    }
}

fn classes(out: &mut String, summary: &Summary) {
    if summary.classes.is_empty() && summary.elsewhere == 0 {
        return;
    }
    let _ = writeln!(
        out,
        "{:<13} {:>10} {:>7} {:>10} {:>7} {:>9} {:>8} {:>8}",
        "calls", "count", "failed", "time", "share", "p50", "p99", "max"
    );
    for class in &summary.classes {
        let share = if ASYNCHRONOUS.contains(&class.class) {
            UNKNOWN.to_owned()
        } else {
            percent(ratio(class.time_ns, summary.in_calls_ns))
        };
        let _ = writeln!(
            out,
            "{:<13} {:>10} {:>7} {:>10} {share:>7}{}",
            class.class,
            count(class.count),
            count(class.failed),
            time(class.time_ns),
            spread(class.durations, time),
        );
    }
    if summary.elsewhere > 0 {
        let (all, failed) = (count(summary.elsewhere), count(summary.elsewhere_failed));
        let time = time(summary.elsewhere_ns);
        line(out, &format!("{:<13} {all:>10} {failed:>7} {time:>10} {UNKNOWN:>7}", "elsewhere"));
    }
    line(out, "");
}

fn spread(of: Spread, form: fn(u64) -> String) -> String {
    let cell = |value: Option<u64>| value.map_or_else(|| UNKNOWN.to_owned(), form);
    format!(" {:>9} {:>8} {:>8}", cell(of.p50), cell(of.p99), cell(of.max))
}

fn transfers(out: &mut String, summary: &Summary) {
    let title = "data";
    let _ = writeln!(
        out,
        "{title:<8} {:>11} {:>9} {:>10} {:>7} {:>9} {:>8} {:>8}",
        "count", "bytes", "sequential", "aligned", "p50", "p99", "max"
    );
    for (name, of) in [("reads", &summary.reads), ("writes", &summary.writes)] {
        line(out, &transfer(name, of));
    }
    seeks(out, [("reads", summary.reads.seeks), ("writes", summary.writes.seeks)]);
    if let Some(mean) = summary.bytes_between_syncs {
        line(out, &format!("{:<18}{}", "written per sync", bytes(mean)));
    }
    line(out, "");
}

/// Distances of what is not sequential.
fn seeks(out: &mut String, rows: [(&str, Spread); 2]) {
    let told = rows.iter().filter_map(|(name, of)| {
        let (p50, p99) = (of.p50?, of.p99?);
        Some(format!("{name} {} at the median, {} at p99", bytes(p50), bytes(p99)))
    });
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        line(out, &format!("{:<18}{}", "seek distance", told.join("; ")));
    }
}

fn transfer(name: &str, of: &Transfer) -> String {
    let part = |part: u64| {
        if of.located == 0 { UNKNOWN.to_owned() } else { percent(ratio(part, of.located)) }
    };
    format!(
        "{name:<8} {:>11} {:>9} {:>10} {:>7}{}",
        count(of.count),
        bytes(of.bytes),
        part(of.sequential),
        part(of.aligned),
        spread(of.sizes, bytes),
    )
}

fn device(out: &mut String, summary: &Summary) {
    let Some(device) = &summary.device else { return };
    let busy = percent(ratio(device.busy_ns, summary.duration_ns));
    let during = percent(ratio(device.busy_in_calls_ns, summary.duration_ns));
    let _ = writeln!(
        out,
        "Block requests: a device is busy {busy} of the time, during calls on files {during}"
    );
    if device.others > 0 {
        let (others, moved) = (count(device.others), bytes(device.others_bytes));
        line(
            out,
            &format!("{others} others with {moved} are of other programs or devices, in no figure"),
        );
    }
    if device.operations.is_empty() {
        line(out, "");
        return;
    }
    let _ = writeln!(
        out,
        "{:<8} {:>11} {:>9} {:>10} {:>8} {:>9} {:>8} {:>8}",
        "requests", "count", "bytes", "sequential", "size p50", "p50", "p99", "max"
    );
    device.operations.iter().for_each(|of| line(out, &operation(of)));
    let of = |wanted: &str| {
        let found = device.operations.iter().find(|of| of.operation == wanted);
        found.map(|of| of.seeks).unwrap_or_default()
    };
    seeks(out, [("reads", of("read")), ("writes", of("write"))]);
    let depth = device.mean_depth.map_or_else(|| UNKNOWN.to_owned(), |depth| format!("{depth:.1}"));
    let _ = writeln!(
        out,
        "queue depth {depth} (mean when a request is issued, that one included), {} awaited by a process, \
         {} of metadata, {} synced to the device (FUA, flush)",
        count(device.sync),
        count(device.meta),
        count(device.forced),
    );
    line(out, "");
}

fn operation(of: &OperationSummary) -> String {
    format!(
        "{:<8} {:>11} {:>9} {:>10} {:>8}{}",
        of.operation,
        count(of.count),
        bytes(of.bytes),
        if of.bytes == 0 { UNKNOWN.to_owned() } else { percent(ratio(of.sequential, of.count)) },
        of.sizes.p50.map_or_else(|| UNKNOWN.to_owned(), bytes),
        spread(of.durations, time),
    )
}

fn shares(out: &mut String, title: &str, rows: &[Share]) {
    if rows.is_empty() {
        return;
    }
    line(out, &format!("{:>9} {:>11} {:>9}  {title}", "time", "calls", "bytes"));
    for row in rows {
        let (time, calls, bytes) = (time(row.time_ns), count(row.calls), bytes(row.bytes));
        line(out, &format!("{time:>9} {calls:>11} {bytes:>9}  {}", row.name));
    }
    line(out, "");
}

fn rate(events: u64, ns: u64) -> u64 {
    let per_second = u128::from(events) * 1_000_000_000 / u128::from(ns.max(1));
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

/// Three significant digits.
fn three(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A duration with its unit.
pub(crate) fn time(ns: u64) -> String {
    let seconds = ratio(ns, 1_000_000_000);
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} µs", three(seconds * 1e6)),
        1_000_000..1_000_000_000 => format!("{} ms", three(seconds * 1e3)),
        _ if seconds < 600.0 => format!("{} s", three(seconds)),
        _ => format!("{} min", three(seconds / 60.0)),
    }
}

/// A size with its unit, a power of 1024.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let found = units.into_iter().find(|(unit, _)| bytes >= *unit);
    match found {
        Some((unit, name)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((unit, name)) => format!("{} {name}", three(ratio(bytes, unit))),
        None => format!("{bytes} B"),
    }
}

/// A count with separators.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in per cent.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.01 => "<0.01 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
