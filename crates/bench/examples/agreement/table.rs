//! The table of agreement, from the raw values.

use crate::{Asked, FEWEST, Found, GROUPS, Row, Side};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "# Agreement with the originals

Each kind of workload is compared with a well-known program on the same stack in memory (zram; bonnie's
blocks in tmpfs). Runs alternate, pinned to one CPU, until the interval of the paired ratio is within ±5 %:
10 to 100 pairs, or the row's time limit. The ratio is ours relative to the original's, with a 95 % interval;
stopping at a narrow one makes it slightly less certain. Both sides did the same number of operations and
bytes, or the row says so. Rows of 16 KiB and more show that both make the same calls on the same data; rows
of 4 KiB, at 4 µs per access, show the programs' own cost.

`make agreement` writes this page and the raw values in `benches/runs/agreement/`.

";

/// Writes the table of every row whose raw values are in the folder.
pub fn write(table: &Path, folder: Option<&Path>) {
    let mut rows = String::from(
        "| row | Seekwell | original | compared | ratio | interval | pairs | within ±5 % |\n",
    );
    rows.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    let (mut notes, mut agreeing, mut measured) = (String::new(), 0, 0);
    for row in GROUPS.iter().flat_map(|group| group.rows) {
        let found = folder.and_then(|folder| read(row, folder));
        let Some(found) = found else {
            let _ = writeln!(
                rows,
                "| {} | `{}` | {} | {} | not measured | | | |",
                row.name, row.ours, row.original, row.metric
            );
            continue;
        };
        let (ratio, interval) = found.ratio().map_or((String::new(), String::new()), |found| {
            (format!("{:.3}", found.1), format!("{:.3} to {:.3}", found.0, found.2))
        });
        let verdict = verdict(&found);
        measured += 1;
        agreeing += usize::from(verdict.starts_with("yes"));
        let _ = writeln!(
            rows,
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
    let text = format!(
        "{HEAD}**{agreeing} of {measured} rows agree.**\n\n\
         <details><summary>Rows</summary>\n\n{rows}\n</details>\n\n\
         <details><summary>Notes</summary>\n\n{notes}\n</details>\n"
    );
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
