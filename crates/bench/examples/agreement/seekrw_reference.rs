//! `seekrw` compared with the reference program: reads past the page cache from a file.

use crate::reference::{compile, numbers};
use crate::seek_fio::{SIZES, params};
use crate::{Asked, Group, Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};
use std::path::PathBuf;

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "seekrw-reference",
            ours: "bench seekrw FILE --cache direct --count 25000 --size 16KiB",
            original: "`reference/seekrw.c`",
            metric: "operations/s",
            note: "",
            asked: Asked::Within,
        },
        Row {
            name: "seekrw-reference-4k",
            ours: "bench seekrw FILE --cache direct --count 25000 --size 4KiB",
            original: "`reference/seekrw.c`",
            metric: "operations/s",
            note: "ours reads the clock for every access, for its histogram; the reference only at \
                   the start and the end. This shows when an access takes 4 µs",
            asked: Asked::SameOrder,
        },
    ],
    tool: "cc",
    turns: 2,
    sides: |place| {
        let file = place.text_file("seekrw.data", 64 << 20);
        Box::new(SeekRw { count: place.amount(COUNT), file, program: compile(place, "seekrw") })
    },
};

const COUNT: u64 = 25_000;

struct SeekRw {
    count: u64,
    file: PathBuf,
    program: PathBuf,
}

impl Sides for SeekRw {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let side = |size: &Bytes| {
            let fields = [
                ("count", Value::Integer(self.count)),
                ("size", Value::Size(*size)),
                ("cache", Value::Text("direct".to_owned())),
            ];
            let target = BenchTarget { path: &self.file, writable: None, length: None };
            let result = bench(&params("seekrw", &fields), target, round, None).unwrap();
            let step = &result.steps[0];
            Side { value: step.iops, ops: step.ops, bytes: step.metrics["app_bytes"] as u64 }
        };
        SIZES.iter().map(side).collect()
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let side = |size: &Bytes| {
            let file = self.file.display().to_string();
            let words = [file, self.count.to_string(), size.0.to_string(), "r".into(), "1".into()];
            let words = [&words[..], &[(round + 1).to_string()]].concat();
            let told = numbers(&self.program, &words);
            Side { value: told[0] as f64 * 1e9 / told[2] as f64, ops: told[0], bytes: told[1] }
        };
        SIZES.iter().map(side).collect()
    }
}
