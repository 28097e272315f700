//! `bonnie` beside bonnie++: small files in sequential order, and the block tests.

use crate::place::Place;
use crate::seek_fio::params;
use crate::{Row, Side, Sides, steps_of};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};

macro_rules! row {
    ($constant:ident, $name:literal, $test:literal, $metric:literal, $exact:literal, $note:literal) => {
        pub const $constant: Row = Row {
            name: $name,
            ours: concat!("bench bonnie, step ", $test),
            original: "bonnie++ 2.00a -u root -r 0",
            tool: Some("bonnie++"),
            metric: $metric,
            note: $note,
            exact: $exact,
            sides: |place| Box::new(Bonnie { place, test: $test }),
        };
    };
}

row!(
    CREATE,
    "bonnie-create",
    "seq_create",
    "files/s",
    false,
    "it is to be at least as fast: 1.0 × or more; bonnie++ syncs every filesystem of the machine, \
     bench only that of the directory"
);
row!(STAT, "bonnie-stat", "seq_stat", "files/s", false, "it is to be at least as fast");
row!(DELETE, "bonnie-delete", "seq_del", "files/s", false, "it is to be at least as fast");
row!(BLOCK, "bonnie-put-block", "put_block", "MB/s", true, "");
row!(REWRITE, "bonnie-rewrite", "rewrite", "MB/s", true, "");
row!(READ, "bonnie-get-block", "get_block", "MB/s", true, "");
row!(
    PUTC,
    "bonnie-putc",
    "putc",
    "MB/s",
    false,
    "one system call per byte on both sides; bonnie++ 2 looks at two clocks for each, we at two"
);

/// bonnie++ counts files in units of 1024, and shows nothing for less than half a second.
const THOUSANDS: u64 = 128;
const MIB: u64 = 600;

struct Bonnie<'p> {
    place: &'p Place,
    test: &'static str,
}

/// Fields of its line of numbers, counted from 0.
fn field(test: &str) -> usize {
    match test {
        "putc" => 9,
        "put_block" => 11,
        "rewrite" => 13,
        "get_block" => 17,
        "seq_create" => 26,
        "seq_stat" => 28,
        _ => 30,
    }
}

impl Bonnie<'_> {
    fn on_files(&self) -> bool {
        self.test.starts_with("seq_")
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
    fn ours(&mut self, round: u64) -> Side {
        let tests = match self.test {
            "putc" => vec!["char"],
            _ if self.on_files() => vec!["files"],
            _ => vec!["block"],
        };
        let fields = [
            ("size", Value::Size(Bytes::mib(self.mib()))),
            ("files", Value::Integer(self.files())),
            ("tests", Value::List(tests.into_iter().map(str::to_owned).collect())),
        ];
        let target = BenchTarget { path: &self.place.directory, writable: None, length: None };
        let result = bench(&params("bonnie", &fields), target, round, None).unwrap();
        steps_of::sync(&self.place.directory);
        let step = result.steps.iter().find(|step| step.name == self.test).unwrap();
        let bytes = match self.test {
            "putc" => step.ops,
            _ if self.on_files() => 0,
            _ => step.ops * 8192,
        };
        self.side(step.elapsed_ns as f64, step.ops, bytes)
    }

    fn original(&mut self, round: u64) -> Side {
        let (size, files) = match self.test {
            _ if self.on_files() => (0, self.place.amount(THOUSANDS)),
            _ => (self.mib(), 0),
        };
        let (fast, directory) =
            (if self.test == "putc" { "" } else { "-f" }, self.place.directory.display());
        let command = format!(
            "bonnie++ -q -u root -r 0 -z {round} -d {directory} -s {size} -n {files} {fast} 2>/dev/null"
        );
        let (_, line) = steps_of::timed(&command);
        steps_of::sync(&self.place.directory);
        let told = line.trim().split(',').nth(field(self.test)).unwrap();
        // In less than half a second it tells nothing: then only the work is compared.
        let told: f64 = told.parse().unwrap_or(1.0);
        let (ops, bytes) = match self.test {
            _ if self.on_files() => (self.files(), 0),
            "putc" => (3 << 20, 3 << 20),
            _ => (self.mib() * 128, self.mib() << 20),
        };
        let value = if self.on_files() { told } else { told * 1024.0 / 1e6 };
        Side { value, ops, bytes }
    }
}
