//! The findings for people.

use std::fmt::Write as _;

use super::{Accuracy, Findings, Interval, WriteCache, Writes};

/// Findings and accuracy as text, a line each.
#[must_use]
pub fn summary(findings: &Findings, accuracy: &Accuracy) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<22}{value}");
    };
    let turn = findings.turn_ns;
    line(
        "rotation",
        format!("{:.2} rpm ({:.2} to {:.2})", 60e9 / turn.value, 60e9 / turn.high, 60e9 / turn.low),
    );
    let tracks =
        |index: usize| findings.zones.get(index).map_or(0.0, |z| z.sectors_per_track.value);
    let last = findings.zones.len().saturating_sub(1);
    line(
        "zones",
        format!("{}, {} to {} sectors a track", findings.zones.len(), tracks(0), tracks(last)),
    );
    let heads =
        findings.tracks.heads.map_or("not told apart".to_owned(), |heads| heads.to_string());
    line("heads", heads);
    line(
        "skew",
        format!(
            "{} sectors to the next track, {} to the next cylinder",
            findings.tracks.track_skew_sectors.value, findings.tracks.cylinder_skew_sectors.value
        ),
    );
    line("read without seek", between_us(findings.media_ns));
    if let Some(found) = findings.head_switch_ns {
        line("head switch", between_us(found));
    }
    for point in &findings.seeks {
        if point.cylinders.is_power_of_two() || Some(point) == findings.seeks.last() {
            line(&format!("seek {} cylinders", point.cylinders), between_us(point.ns));
        }
    }
    let buffer = &findings.buffer;
    match (buffer.hit_ns, buffer.mb_per_s) {
        (Some(hit), Some(rate)) => {
            line("command", between_us(hit));
            line("bus", format!("{:.0} MB/s ({:.0} to {:.0})", rate.value, rate.low, rate.high));
        }
        (Some(hit), None) => {
            line("command", between_us(hit));
            line("bus", "too fast to tell apart from the command".to_owned());
        }
        (None, _) => line("command", "not told apart: the buffer served no read".to_owned()),
    }
    line("read-ahead", format!("{:.0} KiB", buffer.read_ahead_sectors.value / 2.0));
    line("segments", format!("{:.0} to {:.0}", buffer.segments.low, buffer.segments.high));
    line("size of a segment", format!("{:.0} KiB", buffer.segment_sectors.value / 2.0));
    if let Some([low, high]) = findings.window {
        line("sorted reads", format!("{low} to {high}"));
    }
    match &findings.writes {
        Some(writes) => text.push_str(&of_writes(writes)),
        None => text.push_str("writes                not probed\n"),
    }
    of_classes(&mut text, accuracy);
    text
}

/// Comparison of the withheld requests, a line for each class.
pub(super) fn of_classes(text: &mut String, accuracy: &Accuracy) {
    for class in &accuracy.classes {
        let doubt = if class.is_believed() { "" } else { "  ! do not believe this class" };
        let _ = writeln!(
            text,
            "withheld: {} at depth {}: device {:.2} ms, file {:.2} ms, demerit {:.1} %{doubt}",
            class.name,
            class.depth,
            class.device_ns / 1e6,
            class.model_ns / 1e6,
            class.demerit * 100.0
        );
    }
}

/// Findings of the writes, a line each.
fn of_writes(writes: &Writes) -> String {
    let mut lines = vec![("write", between_us(writes.write_ns))];
    match &writes.cache {
        None => lines.push(("write cache", "off or absent".to_owned())),
        Some(cache) => lines.extend(of_cache(cache)),
    }
    lines.push(("settling of a write", between_us(writes.settle_ns)));
    lines.iter().map(|(name, value)| format!("{name:<22}{value}\n")).collect()
}

fn of_cache(cache: &WriteCache) -> Vec<(&'static str, String)> {
    let kib = |sectors: f64| sectors / 2.0;
    let Interval { value, low, high } = cache.sectors;
    let runs = cache.runs.map_or(String::new(), |runs| format!(", at most {runs} runs"));
    let ms = |found: Interval| {
        let Interval { value, low, high } = found;
        format!("{:.2} ms ({:.2} to {:.2})", value / 1e6, low / 1e6, high / 1e6)
    };
    let mut lines = vec![(
        "write cache",
        format!("{:.0} KiB ({:.0} to {:.0}){runs}", kib(value), kib(low), kib(high)),
    )];
    for drain in &cache.drains {
        let Interval { value, low, high } = drain.per_second;
        let rate = format!("{value:.0}/s ({low:.0} to {high:.0}) at depth {}", drain.depth);
        lines.push(("random writes", rate));
    }
    lines.push(("flush, cache empty", between_us(cache.empty_flush_ns)));
    lines.push(("flush, constant", ms(cache.flush.constant_ns)));
    lines.push(("flush, each write", ms(cache.flush.slope_ns)));
    if let Some(Interval { value, low, high }) = cache.run_sectors {
        let [value, low, high] = [value, low, high].map(kib);
        lines.push(("written at once", format!("{value:.0} KiB ({low:.0} to {high:.0})")));
    }
    lines.push(("sorted writes", format!("{} to {}", cache.window[0], cache.window[1])));
    lines
}

pub(super) fn between_us(found: Interval) -> String {
    format!("{:.0} us ({:.0} to {:.0})", found.value / 1e3, found.low / 1e3, found.high / 1e3)
}
