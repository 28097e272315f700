//! `iozone -I -i 2` beside fio with the same pattern: every record of a file once, in random order.

use crate::fio::{fio, operations_per_second};
use crate::place::Place;
use crate::seek_fio::params;
use crate::{Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};
use std::path::PathBuf;

pub const READ: Row = Row {
    name: "iozone-read",
    ours: "bench iozone DIRECTORY --tests 0,2 --size 64MiB --record 4KiB --direct, step random-read",
    original: "fio 3.33 --rw=randread --bs=4k --size=64m --direct=1 --ioengine=psync",
    tool: Some("fio"),
    metric: "operations/s",
    note: "",
    exact: true,
    sides: |place| sides(place, false),
};

pub const WRITE: Row = Row {
    name: "iozone-write",
    ours: "bench iozone DIRECTORY --tests 0,2 --size 64MiB --record 4KiB --direct, step random-write",
    original: "fio 3.33 --rw=randwrite --overwrite=1 --bs=4k --size=64m --direct=1 --ioengine=psync",
    tool: Some("fio"),
    metric: "operations/s",
    note: "",
    exact: true,
    sides: |place| sides(place, true),
};

const SIZE: u64 = 64 << 20;

fn sides(place: &Place, write: bool) -> Box<dyn Sides + '_> {
    Box::new(Iozone { place, write, file: place.random_file("iozone-fio.data", SIZE) })
}

struct Iozone<'p> {
    place: &'p Place,
    write: bool,
    file: PathBuf,
}

impl Sides for Iozone<'_> {
    fn ours(&mut self, round: u64) -> Side {
        let fields = [
            ("tests", Value::Integers(vec![0, 2])),
            ("size", Value::Size(Bytes(SIZE))),
            ("record", Value::Size(Bytes::kib(4))),
            ("cache", Value::Text("direct".to_owned())),
        ];
        let target = BenchTarget { path: &self.place.directory, writable: None, length: None };
        let result = bench(&params("iozone", &fields), target, round, None).unwrap();
        let name = if self.write { "random-write" } else { "random-read" };
        let step = result.steps.iter().find(|step| step.name == name).unwrap();
        Side { value: step.iops, ops: step.ops, bytes: step.metrics["app_bytes"] as u64 }
    }

    fn original(&mut self, round: u64) -> Side {
        let way = if self.write { "randwrite" } else { "randread" };
        operations_per_second(&fio(&[
            format!("--rw={way}"),
            "--overwrite=1".to_owned(),
            "--bs=4k".to_owned(),
            "--direct=1".to_owned(),
            format!("--size={SIZE}"),
            format!("--randseed={}", round + 1),
            format!("--filename={}", self.file.display()),
        ]))
    }
}
