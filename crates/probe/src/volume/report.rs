//! The findings of a volume for people.

use super::super::believed::Accuracy;
use super::super::report::{Line, between_us, line, within, written};
use super::{Paced, PacedWrites, Volume};

/// Findings and accuracy as text, a line each.
#[must_use]
pub fn volume_summary(volume: &Volume, accuracy: &Accuracy) -> String {
    let mut lines = of_reads(&volume.reads);
    lines.extend(volume.writes.iter().flat_map(of_writes));
    written(&lines, accuracy)
}

fn of_bytes(paced: &Paced) -> String {
    match paced.limit_mb_per_s() {
        Some(limit) => within(limit, 1.0, 0, " MB/s"),
        None => format!("none below {:.0} MB/s", paced.mb_per_s.value),
    }
}

pub(super) fn of_reads(reads: &Paced) -> Vec<Line> {
    vec![
        line("kind", "volume with a limit of requests".to_owned()),
        line("read", between_us(reads.single_ns)),
        line("limit, reads", within(reads.per_second, 1.0, 0, " /s")),
        line("limit, bytes read", of_bytes(reads)),
    ]
}

pub(super) fn of_writes(writes: &PacedWrites) -> Vec<Line> {
    vec![
        line("write", between_us(writes.paced.single_ns)),
        line("limit, writes", within(writes.paced.per_second, 1.0, 0, " /s")),
        line("limit, bytes written", of_bytes(&writes.paced)),
        line("flush of one write", between_us(writes.flush_ns)),
    ]
}
