//! Writes a run file that was never run, to measure reports of many trials.
//!
//! usage: `made_run FILE STACKS ROUNDS SAMPLES OPERATIONS`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for measurements")]

#[path = "../../cli/tests/page/made.rs"]
mod made;

use made::{Wanted, make};
use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words[index].parse::<u32>().expect("a number");
    let kinds = ["ext4", "xfs", "btrfs", "f2fs", "ext2", "ext3", "jfs", "nilfs2"];
    let label = |index: u32| {
        let kind = kinds[index as usize % kinds.len()];
        format!("{kind}-{}/bfq", index as usize / kinds.len())
    };
    let wanted = Wanted {
        texts: (0..number(1)).map(label).collect(),
        workloads: vec![(4, 64)],
        rounds: number(2),
        samples: number(3),
        operations: u64::from(number(4)),
        single: false,
    };
    make(Path::new(&words[0]), &wanted);
}
