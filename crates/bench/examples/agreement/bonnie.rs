//! `bonnie` beside bonnie++: small files in sequential order, single characters, and the block
//! tests.
//!
//! Its times are taken from the words that it says before and after each test: it tells no result
//! of a test that took less than half a second.

use crate::place::Place;
use crate::seek_fio::params;
use crate::{Asked, Group, Row, Side, Sides, steps_of};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ORIGINAL: &str = "bonnie++ 2.00a -u root -r 0";

/// A test: our step, the words of bonnie++ before it.
type Test = (&'static str, &'static str);

const FILE_TESTS: [Test; 3] = [
    ("seq_create", "Create files in sequential order"),
    ("seq_stat", "Stat files in sequential order"),
    ("seq_del", "Delete files in sequential order"),
];
const CHARACTER_TESTS: [Test; 1] = [("putc", "Writing a byte at a time")];
const BLOCK_TESTS: [Test; 3] = [
    ("put_block", "Writing intelligently"),
    ("rewrite", "Rewriting"),
    ("get_block", "Reading intelligently"),
];

const fn row(name: &'static str, ours: &'static str, note: &'static str, asked: Asked) -> Row {
    Row { name, ours, original: ORIGINAL, metric: "files/s", note, asked }
}

pub const FILES: Group = Group {
    rows: &[
        row(
            "bonnie-create",
            "bench bonnie, step seq_create",
            "bonnie++ syncs every filesystem of the machine, bench only that of the directory",
            Asked::AtLeast,
        ),
        row("bonnie-stat", "bench bonnie, step seq_stat", "", Asked::AtLeast),
        row("bonnie-delete", "bench bonnie, step seq_del", "", Asked::AtLeast),
    ],
    tool: "bonnie++",
    turns: 1,
    sides: |place| Box::new(Bonnie { place, tests: &FILE_TESTS }),
};

pub const CHARACTERS: Group = Group {
    rows: &[Row {
        metric: "MB/s",
        ..row(
            "bonnie-putc",
            "bench bonnie, step putc",
            "one system call of half a microsecond per byte on both sides; ours reads the clock \
             before and after each and counts it in a histogram, bonnie++ keeps only the longest",
            Asked::SameOrder,
        )
    }],
    tool: "bonnie++",
    turns: 1,
    sides: |place| Box::new(Bonnie { place, tests: &CHARACTER_TESTS }),
};

pub const BLOCKS: Group = Group {
    rows: &[
        Row {
            metric: "MB/s",
            ..row(
                "bonnie-put-block",
                "bench bonnie --compressible 100, step put_block",
                "",
                Asked::Within,
            )
        },
        Row {
            metric: "MB/s",
            ..row(
                "bonnie-rewrite",
                "bench bonnie --compressible 100, step rewrite",
                "",
                Asked::Within,
            )
        },
        Row {
            metric: "MB/s",
            ..row(
                "bonnie-get-block",
                "bench bonnie --compressible 100, step get_block",
                "",
                Asked::Within,
            )
        },
    ],
    tool: "bonnie++",
    turns: 3,
    sides: |place| Box::new(Bonnie { place, tests: &BLOCK_TESTS }),
};

/// bonnie++ counts files in units of 1024.
const THOUSANDS: u64 = 64;
const MIB: u64 = 300;

struct Bonnie<'p> {
    place: &'p Place,
    tests: &'static [Test],
}

impl Bonnie<'_> {
    fn on_files(&self) -> bool {
        self.tests == FILE_TESTS
    }

    fn on_characters(&self) -> bool {
        self.tests == CHARACTER_TESTS
    }

    /// Files on ext4; blocks in tmpfs, where it does not matter what they hold: zram takes longer
    /// for ours, of which 8 bytes in a page stay random, than for those of bonnie++.
    fn directory(&self) -> &Path {
        if self.tests == BLOCK_TESTS { &self.place.folder } else { &self.place.large_directory }
    }

    fn files(&self) -> u64 {
        1024 * self.place.amount(THOUSANDS)
    }

    fn mib(&self) -> u64 {
        self.place.amount(MIB)
    }

    fn side(&self, ns: f64, ops: u64, bytes: u64) -> Side {
        let value = if self.on_files() { ops as f64 * 1e9 / ns } else { bytes as f64 * 1e3 / ns };
        Side { value, ops, bytes }
    }
}

impl Sides for Bonnie<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let tests = match (self.on_files(), self.on_characters()) {
            (true, _) => "files",
            (_, true) => "char",
            _ => "block",
        };
        let fields = [
            ("size", Value::Size(Bytes::mib(self.mib()))),
            ("files", Value::Integer(self.files())),
            ("tests", Value::List(vec![tests.to_owned()])),
            // What bonnie++ writes is of one byte for the most part.
            ("compressible", Value::Integer(100)),
        ];
        let directory = self.directory();
        let target = BenchTarget { path: directory, writable: None, length: None };
        let result = bench(&params("bonnie", &fields), target, round, None).unwrap();
        steps_of::sync(directory);
        let side = |(name, _): &Test| {
            let step = result.steps.iter().find(|step| step.name == *name).unwrap();
            let bytes = match *name {
                "putc" => step.ops,
                _ if self.on_files() => 0,
                _ => step.ops * 8192,
            };
            self.side(step.elapsed_ns as f64, step.ops, bytes)
        };
        self.tests.iter().map(side).collect()
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let (size, files) = match self.on_files() {
            true => (0, self.place.amount(THOUSANDS)),
            false => (self.mib(), 0),
        };
        let mut command = Command::new(seekwell_testing::tool("bonnie++").unwrap());
        command.args(["-u", "root", "-r", "0", "-z"]).arg(round.to_string());
        command.arg("-d").arg(self.directory());
        command.args(["-s", &size.to_string(), "-n", &files.to_string()]);
        if !self.on_characters() {
            command.arg("-f");
        }
        let took_ns = phases(&mut command);
        steps_of::sync(self.directory());
        let side = |(name, words): &Test| {
            let (ops, bytes) = match *name {
                "putc" => (3 << 20, 3 << 20),
                _ if self.on_files() => (self.files(), 0),
                _ => (self.mib() * 128, self.mib() << 20),
            };
            self.side(took_ns[*words], ops, bytes)
        };
        self.tests.iter().map(side).collect()
    }
}

/// Runs bonnie++; gives the time in ns from each of its announcements to the `done` behind it. It
/// is read on another CPU, so that each word is seen when it is said.
fn phases(command: &mut Command) -> BTreeMap<String, f64> {
    let mut bonnie =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut words = bonnie.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        crate::place::leave_to_others();
        let (mut text, mut part) = (String::new(), [0; 256]);
        let mut running: Option<(String, Instant)> = None;
        let mut found = BTreeMap::new();
        loop {
            let length = words.read(&mut part).unwrap();
            let now = Instant::now();
            if length == 0 {
                return found;
            }
            text.push_str(&String::from_utf8_lossy(&part[..length]));
            // One announcement or its end at a time, as a rule: they are written without a buffer.
            while let Some((before, after)) =
                text.split_once(if running.is_some() { "done" } else { "..." })
            {
                running = match running {
                    Some((name, begun)) => {
                        found.insert(name, now.duration_since(begun).as_nanos() as f64);
                        None
                    }
                    None => Some((before.lines().last().unwrap_or_default().to_owned(), now)),
                };
                text = after.to_owned();
            }
        }
    });
    let found = reader.join().unwrap();
    assert!(bonnie.wait().unwrap().success());
    found
}
