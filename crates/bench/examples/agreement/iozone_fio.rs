//! `iozone -I -i 2` beside fio with the same pattern: every record of a file once, in random order.

use crate::fio::{accesses_per_second, fio};
use crate::place::Place;
use crate::seek_fio::params;
use crate::{Asked, Group, Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};

/// The steps, in the order of the rows.
const WAYS: [(&str, &str); 2] = [("random-read", "randread"), ("random-write", "randwrite")];

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "iozone-read",
            ours: "bench iozone DIRECTORY --tests 0,2 --size 256MiB --record 64KiB --direct, step \
                   random-read",
            original: "fio 3.33 --rw=randread --bs=64k --size=256m --direct=1 --ioengine=sync",
            metric: "accesses/s, by the mean latency",
            note: "both move the position and read, two calls; fio's latency begins after the \
                   first of them, ours before it, as iozone's does",
            asked: Asked::Within,
        },
        Row {
            name: "iozone-write",
            ours: "bench iozone DIRECTORY --tests 0,2 --size 256MiB --record 64KiB --direct, step \
                   random-write",
            original: "fio 3.33 --rw=randwrite --refill_buffers --bs=64k --size=256m \
                       --direct=1 --ioengine=sync",
            metric: "accesses/s, by the mean latency",
            note: "as for reading",
            asked: Asked::Within,
        },
    ],
    tool: "fio",
    turns: 4,
    sides: |place| Box::new(Iozone { place }),
};

const SIZE: u64 = 256 << 20;
const RECORD: Bytes = Bytes::kib(64);

struct Iozone<'p> {
    place: &'p Place,
}

impl Sides for Iozone<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let fields = [
            ("tests", Value::Integers(vec![0, 2])),
            ("size", Value::Size(Bytes(SIZE))),
            ("record", Value::Size(RECORD)),
            ("cache", Value::Text("direct".to_owned())),
        ];
        let target = BenchTarget { path: &self.place.directory, writable: None, length: None };
        let result = bench(&params("iozone", &fields), target, round, None).unwrap();
        let side = |(name, _): &(&str, &str)| {
            let step = result.steps.iter().find(|step| step.name == *name).unwrap();
            let mean_ns = step.latency_ns.unwrap().mean;
            Side { value: 1e9 / mean_ns, ops: step.ops, bytes: step.metrics["app_bytes"] as u64 }
        };
        WAYS.iter().map(side).collect()
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let file = self.place.directory.join("iozone-fio.data");
        let run = |way: &str| {
            accesses_per_second(&fio(&[
                format!("--rw={way}"),
                "--refill_buffers".to_owned(),
                "--ioengine=sync".to_owned(),
                format!("--bs={}", RECORD.0),
                "--direct=1".to_owned(),
                format!("--size={SIZE}"),
                format!("--randseed={}", round + 1),
                format!("--filename={}", file.display()),
            ]))
        };
        // Written and written again, as test 0 of ours does it: the position of a file's pages in memory decides by a fifth how fast
        // they are read, so both sides read one that was just written.
        run("write");
        run("write");
        let sides = WAYS.iter().map(|(_, way)| run(way)).collect();
        std::fs::remove_file(&file).unwrap();
        sides
    }
}
