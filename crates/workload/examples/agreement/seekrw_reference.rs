//! `seekrw` beside the reference program: reads of 4 KiB past the page cache from a file.

use crate::reference::{compile, numbers};
use crate::seek_fio::{operations, params};
use crate::{Group, Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use std::path::PathBuf;

pub const GROUP: Group = Group {
    rows: &[Row {
        name: "seekrw-reference",
        ours: "bench seekrw FILE --cache direct --count 50000 --size 4KiB",
        original: "`reference/seekrw.c`",
        metric: "operations/s",
        note: "ours takes the time of every access for its histogram, the reference that of all",
        exact: true,
    }],
    tool: "cc",
    turns: 2,
    sides: |place| {
        let file = place.text_file("seekrw.data", 64 << 20);
        Box::new(SeekRw { count: place.amount(COUNT), file, program: compile(place, "seekrw") })
    },
};

const COUNT: u64 = 50_000;
const LENGTH: u64 = 4096;

struct SeekRw {
    count: u64,
    file: PathBuf,
    program: PathBuf,
}

impl Sides for SeekRw {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let fields = [
            ("count", Value::Integer(self.count)),
            ("size", Value::Size(Bytes(LENGTH))),
            ("cache", Value::Text("direct".to_owned())),
        ];
        vec![operations(&params("seekrw", &fields), &self.file, round)]
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let file = self.file.display().to_string();
        let words = [file, self.count.to_string(), LENGTH.to_string(), "r".into(), "1".into()];
        let words = [&words[..], &[(round + 1).to_string()]].concat();
        let told = numbers(&self.program, &words);
        vec![Side { value: told[0] as f64 * 1e9 / told[2] as f64, ops: told[0], bytes: told[1] }]
    }
}
