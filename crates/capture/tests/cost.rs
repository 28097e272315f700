//! The table of what a capture costs is that of the kept runs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "common/cost_table.rs"]
mod cost_table;

use cost_table::{DOCUMENT, kept, median, replaced, rows, short, workspace};

#[test]
fn the_document_has_the_table_of_the_kept_runs() {
    let rows = rows(&kept());
    assert!(rows.len() >= 2, "no row is kept");
    let document = std::fs::read_to_string(workspace().join(DOCUMENT)).unwrap();
    let made = replaced(&document, &short(&rows));
    assert_eq!(document, made, "make capture-cost, or its last command, makes the table");
}

#[test]
fn a_side_is_compared_with_the_one_next_to_it() {
    // In two files, of which the second begins with round 0 again.
    let text = "0,untar-traced,3,3,9,10,0,50,4,0.001\n0,untar,2,2,,,,,,\n\
                0,untar,4,4,,,,,,\n0,untar-traced,8,8,9,10,0,50,4,0.003\n0,reads-traced,1,1,1,1,0,1,1,1\n";
    let table = short(&rows(text));
    assert!(
        table.contains("in memory, the worst case | 1.75 times the CPU time (1.50 to 2.00) |"),
        "{table}"
    );
    assert!(table.contains("its paths | 200000 ns (100000 to 300000) |"), "{table}");
    assert!(!table.contains("reads of 4 KiB") && !table.contains("do nothing"), "{table}");
}

#[test]
fn a_call_is_compared_with_a_pair_that_does_nothing_of_its_round() {
    let text = "0,reads,1,1,,,,,,\n0,reads-traced,1,1.4,9,1000,0,50,4,0.1\n\
                0,empty,1,1,,,,,,\n0,empty-traced,1,1.1,,1000,,,,\n\
                1,reads,1,1,,,,,,\n1,reads-traced,1,1.6,9,1000,0,50,4,0.1\n\
                1,empty-traced,1,1.2,,1000,,,,\n1,empty,1,1,,,,,,\n\
                2,empty-traced,1,1.9,,1000,,,,\n2,empty,1,1,,,,,,\n";
    let table = short(&rows(text));
    let empty = "do nothing, for comparison | 200000 ns (100000 to 900000) |";
    assert!(table.contains(empty), "{table}");
    assert!(table.contains("over that | 3.5 times (3.0 to 4.0) |"), "{table}");
}

#[test]
fn the_interval_of_a_median_holds_it() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[2.0]), Some((2.0, 2.0, 2.0)));
    let (middle, low, high) = median(&[1.0, 5.0, 2.0, 4.0, 3.0]).unwrap();
    assert_eq!(middle, 3.0);
    assert!(low < middle && middle < high, "{low} to {high}");
}
