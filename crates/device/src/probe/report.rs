//! The findings for people.

use std::fmt::Write as _;

use super::{Accuracy, Findings, Interval};

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
    text
}

fn between_us(found: Interval) -> String {
    format!("{:.0} us ({:.0} to {:.0})", found.value / 1e3, found.low / 1e3, found.high / 1e3)
}
