//! Writes a run file that was never run, to measure reports of many trials.
//!
//! usage: `made_run FILE STACKS ROUNDS SAMPLES OPERATIONS [judged]`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for measurements")]

#[path = "../../cli/tests/page/made.rs"]
mod made;

use made::{Wanted, make};
use seekwell_runner::judge::prolong;
use seekwell_runner::records;
use seekwell_store::RunFile;
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
    let path = Path::new(&words[0]);
    make(path, &wanted);
    if words.get(5).is_some_and(|word| word == "judged") {
        let mut file = RunFile::open_for_append(path).unwrap();
        let plan = file.plan().unwrap();
        let outcomes = records::outcomes(&plan, file.records().unwrap());
        file.set_verdict(&prolong::judged(&plan, &outcomes)).unwrap();
    }
}
