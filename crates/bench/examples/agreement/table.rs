//! The table of agreement, from the raw values.

use crate::{Asked, FEWEST, Found, GROUPS, Row, Side};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "# Agreement with the originals

Each kind of workload is compared with a well-known program on the same stack in memory. Devices are
zram devices: 256 MiB of words that compress by half, so a read of 4 KiB takes a few microseconds
of the reading thread, and two more with ext4. (With a loop device, whose worker is another
thread, the same runs scatter five times as much.) bonnie's blocks are in tmpfs, because zram takes
longer for random bytes than for those of bonnie++. `benches/runs/engine` compares the engine with fio
on the fastest devices.

Runs alternate (ours, original, original, ours), pinned to one CPU, until the interval of the paired
ratio is within ±5 %: at least 10 and at most 100 pairs, or until the row's time limit. The ratio is ours relative to
the original's, with a 95 % interval over the pairs. Stopping at a narrow interval makes it slightly
less certain than 95 %. In every pair both sides did the same number of operations and bytes, or the
row says so. If an original does not report its own count, the requested one is used.

The longer an access takes, the closer the ratio of any two programs is to 1. Rows of 16 KiB and more
show that both make the same calls on the same data. Rows of 4 KiB show the programs' own cost at 4 µs
per access.

Made by `make agreement`, which also writes the raw values to `benches/runs/agreement/`.

";

/// Writes the table of every row whose raw values are in the folder.
pub fn write(table: &Path, folder: Option<&Path>) {
    let mut text = HEAD.to_owned();
    text.push_str(
        "| row | Seekwell | original | compared | ratio | interval | pairs | within ±5 % |\n",
    );
    text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    let mut notes = String::new();
    for row in GROUPS.iter().flat_map(|group| group.rows) {
        let found = folder.and_then(|folder| read(row, folder));
        let Some(found) = found else {
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {} | not measured | | | |",
                row.name, row.ours, row.original, row.metric
            );
            continue;
        };
        let (ratio, interval) = found.ratio().map_or((String::new(), String::new()), |found| {
            (format!("{:.3}", found.1), format!("{:.3} to {:.3}", found.0, found.2))
        });
        let verdict = verdict(&found);
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {ratio} | {interval} | {} | {verdict} |",
            row.name,
            row.ours,
            row.original,
            row.metric,
            found.pairs.len()
        );
        if !row.note.is_empty() {
            let _ = writeln!(notes, "- **{}**: {}", row.name, row.note);
        }
    }
    if !notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        text.push_str(&notes);
    }
    std::fs::write(table, text).unwrap();
}

/// Returns the agreement of a row with its requirement, in words.
fn verdict(found: &Found) -> &'static str {
    if !found.same_work() {
        return "not the same work";
    }
    let Some((low, _, high)) = found.ratio().filter(|_| found.pairs.len() as u64 >= FEWEST) else {
        return "too few pairs to say";
    };
    match found.row.asked {
        Asked::AtLeast if low >= 1.0 => "yes, faster",
        Asked::AtLeast if high >= 1.0 => "no difference; required: at least as fast",
        Asked::AtLeast => "no, slower",
        _ if found.agrees() => "yes",
        Asked::Within => "no",
        Asked::SameOrder => "no; required: the same order of magnitude",
    }
}

/// The pairs of a row that are in the folder.
pub fn read(row: &'static Row, folder: &Path) -> Option<Found> {
    let text = std::fs::read_to_string(folder.join(format!("{}.csv", row.name))).ok()?;
    let side = |value: &str, ops: &str, bytes: &str| Side {
        value: value.parse().unwrap(),
        ops: ops.parse().unwrap(),
        bytes: bytes.parse().unwrap(),
    };
    let pairs = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (side(cells[2], cells[4], cells[6]), side(cells[3], cells[5], cells[7]))
    });
    Some(Found { row, pairs: pairs.collect() })
}
