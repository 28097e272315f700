//! The findings for people.

use std::fmt::{Display, Write as _};

use seekwell_device::withheld::depths;

use super::tape::CUT;
use super::{Accuracy, Buffer, Findings, FoundZone, Interval, Stage, Tracks, WriteCache, Writes};

/// Name and value of a finding.
pub(super) type Line = (String, String);

pub(super) fn line(name: &str, value: String) -> Line {
    (name.to_owned(), value)
}

/// Findings and accuracy as text, a line each.
#[must_use]
pub fn summary(findings: &Findings, accuracy: &Accuracy) -> String {
    let mut lines = of_rotation(findings.turn_ns);
    lines.extend(of_zones(&findings.zones));
    lines.extend(of_tracks(&findings.tracks));
    lines.extend(of_seeks(findings));
    lines.extend(of_buffer(&findings.buffer));
    lines.extend(of_window(findings.window));
    match &findings.writes {
        Some(writes) => lines.extend(of_writes(writes)),
        None => lines.push(line("writes", "not probed".to_owned())),
    }
    lines.extend(of_unreached(&findings.unreached));
    written(&lines, accuracy)
}

/// Lines of a summary, with those of the accuracy.
pub(super) fn written<N: Display>(lines: &[(N, String)], accuracy: &Accuracy) -> String {
    let mut text: String =
        lines.iter().map(|(name, value)| format!("{name:<22}{value}\n")).collect();
    of_classes(&mut text, accuracy);
    text
}

pub(super) fn of_rotation(turn: Interval) -> Vec<Line> {
    let [value, low, high] = [turn.value, turn.high, turn.low].map(|ns| 60e9 / ns);
    vec![line("rotation", format!("{value:.2} rpm ({low:.2} to {high:.2})"))]
}

pub(super) fn of_zones(zones: &[FoundZone]) -> Vec<Line> {
    let sectors = |zone: Option<&FoundZone>| zone.map_or(0.0, |z| z.sectors_per_track.value);
    let [first, last] = [zones.first(), zones.last()].map(sectors);
    vec![line("zones", format!("{}, {first} to {last} sectors a track", zones.len()))]
}

pub(super) fn of_tracks(tracks: &Tracks) -> Vec<Line> {
    let heads = tracks.heads.map_or("not told apart".to_owned(), |heads| heads.to_string());
    let skew = format!(
        "{} sectors to the next track, {} to the next cylinder",
        tracks.track_skew_sectors.value, tracks.cylinder_skew_sectors.value
    );
    vec![line("heads", heads), line("skew", skew)]
}

pub(super) fn of_seeks(findings: &Findings) -> Vec<Line> {
    let mut lines = vec![line("read without seek", between_us(findings.media_ns))];
    lines.extend(findings.head_switch_ns.map(|found| line("head switch", between_us(found))));
    for point in &findings.seeks {
        if point.cylinders.is_power_of_two() || Some(point) == findings.seeks.last() {
            lines.push(line(&format!("seek {} cylinders", point.cylinders), between_us(point.ns)));
        }
    }
    lines
}

pub(super) fn of_buffer(buffer: &Buffer) -> Vec<Line> {
    let no_hit = || "not told apart: the buffer served no read".to_owned();
    let mut lines = vec![line("command", buffer.hit_ns.map_or_else(no_hit, between_us))];
    if buffer.hit_ns.is_some() {
        let too_fast = || "too fast to tell apart from the command".to_owned();
        let rate = buffer.mb_per_s.map_or_else(too_fast, |rate| within(rate, 1.0, 0, " MB/s"));
        lines.push(line("bus", rate));
    }
    lines.push(line("read-ahead", format!("{:.0} KiB", buffer.read_ahead_sectors.value / 2.0)));
    let Interval { low, high, .. } = buffer.segments;
    lines.push(line("segments", format!("{low:.0} to {high:.0}")));
    lines.push(line("size of a segment", format!("{:.0} KiB", buffer.segment_sectors.value / 2.0)));
    lines
}

/// Experiments for which the time was too short.
pub(super) fn of_unreached(unreached: &[Stage]) -> Vec<Line> {
    let names: Vec<&str> = unreached.iter().map(|stage| stage.name()).collect();
    let (seeks, others): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| **name == Stage::Seeks.name());
    let late = "the time was over";
    let seeks = (!seeks.is_empty()).then(|| line("seek curve", format!("wide intervals: {late}")));
    let others = (!others.is_empty()).then(|| format!("{}: {late}", others.join(", ")));
    seeks.into_iter().chain(others.map(|others| line("not measured", others))).collect()
}

pub(super) fn of_window(window: Option<[u32; 2]>) -> Vec<Line> {
    window.map(|[low, high]| line("sorted reads", format!("{low} to {high}"))).into_iter().collect()
}

/// Share of the measurements that was withheld, and the comparison of the classes, a line each.
fn of_classes(text: &mut String, accuracy: &Accuracy) {
    let _ = writeln!(text, "withheld: {}", accuracy.share());
    for class in &accuracy.classes {
        let doubt = if class.is_believed() { "" } else { "  ! do not believe this class" };
        let _ = writeln!(
            text,
            "withheld: {} at {}: device {:.2} ms, file {:.2} ms, demerit {:.1} %{doubt}",
            class.name,
            depths(class.name, class.depth),
            class.device_ns / 1e6,
            class.model_ns / 1e6,
            class.demerit * 100.0
        );
    }
    if accuracy.is_cut {
        let _ = writeln!(text, "withheld: {CUT}");
    }
}

/// Findings of the writes, a line each.
pub(super) fn of_writes(writes: &Writes) -> Vec<Line> {
    let mut lines = vec![line("write", between_us(writes.write_ns))];
    match &writes.cache {
        None => lines.push(line("write cache", "off or absent".to_owned())),
        Some(cache) => lines.extend(of_cache(cache)),
    }
    lines.push(line("settling of a write", between_us(writes.settle_ns)));
    lines
}

fn of_cache(cache: &WriteCache) -> Vec<Line> {
    let kib = |found: Interval| within(found, 2.0, 0, " KiB");
    let ms = |found: Interval| within(found, 1e6, 2, " ms");
    let runs = cache.runs.map_or(String::new(), |runs| format!(", at most {runs} runs"));
    let mut lines = vec![line("write cache", kib(cache.sectors) + &runs)];
    for drain in &cache.drains {
        let rate = within(drain.per_second, 1.0, 0, "/s");
        lines.push(line("random writes", format!("{rate} at depth {}", drain.depth)));
    }
    lines.push(line("flush, cache empty", between_us(cache.empty_flush_ns)));
    lines.push(line("flush, constant", ms(cache.flush.constant_ns)));
    lines.push(line("flush, each write", ms(cache.flush.slope_ns)));
    lines.extend(cache.run_sectors.map(|found| line("written at once", kib(found))));
    lines.push(line("sorted writes", format!("{} to {}", cache.window[0], cache.window[1])));
    lines
}

pub(super) fn between_us(found: Interval) -> String {
    within(found, 1e3, 0, " us")
}

/// A quantity with its bounds and the size of its unit.
pub(super) fn within(found: Interval, unit: f64, digits: usize, name: &str) -> String {
    let Interval { value, low, high } = found.map(|number| number / unit);
    format!("{value:.digits$}{name} ({low:.digits$} to {high:.digits$})")
}
