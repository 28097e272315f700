//! `seek` beside fio: direct random reads on a raw device.

use crate::fio::{accesses_per_second, fio};
use crate::place::Place;
use crate::{Asked, Group, Row, Side, Sides};
use seekwell_model::field::{Value, Values};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use seekwell_workload::{BenchTarget, bench};

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "seek-fio",
            ours: "bench seek DEVICE --count 50000 --size 16KiB",
            original: "fio 3.33 --rw=randread --bs=16k --direct=1 --norandommap --ioengine=psync",
            metric: "accesses/s, by the mean latency",
            note: "",
            asked: Asked::Within,
        },
        Row {
            name: "seek-fio-4k",
            ours: "bench seek DEVICE --count 50000 --size 4KiB",
            original: "fio 3.33 --rw=randread --bs=4k --direct=1 --norandommap --ioengine=psync",
            metric: "accesses/s, by the mean latency",
            note: OWN_TIME,
            asked: Asked::SameOrder,
        },
    ],
    tool: "fio",
    turns: 2,
    sides: |place| Box::new(Seek { place }),
};

/// Reason why accesses of 4 KiB to memory do not agree.
pub const OWN_TIME: &str = "an access takes 4 µs here, so the programs' own work between two clock \
                            readings shows; the row of 16 KiB makes the same calls, each three \
                            times as long";

/// Accesses of a run.
pub const COUNT: u64 = 50_000;

/// Bytes of an access, in the order of the rows.
pub const SIZES: [Bytes; 2] = [Bytes::kib(16), Bytes::kib(4)];

struct Seek<'p> {
    place: &'p Place,
}

/// Parameters of a kind, from fields.
pub fn params(kind: &str, fields: &[(&'static str, Value)]) -> WorkloadParams {
    let mut values = Values::default();
    for (name, value) in fields {
        values.set(name, value.clone());
    }
    workload_kind(kind).unwrap().params(&values).unwrap()
}

/// One bench whose single step is compared by the mean of its latencies.
pub fn accesses(params: &WorkloadParams, target: BenchTarget<'_>, round: u64) -> Side {
    let result = bench(params, target, round, None).unwrap();
    let step = &result.steps[0];
    let mean_ns = step.latency_ns.unwrap().mean;
    Side { value: 1e9 / mean_ns, ops: step.ops, bytes: step.metrics["app_bytes"] as u64 }
}

/// Our accesses of each of [`SIZES`] over the whole device.
pub fn ours(place: &Place, round: u64) -> Vec<Side> {
    let side = |size: &Bytes| {
        let count = Value::Integer(place.amount(COUNT));
        let params = params("seek", &[("count", count), ("size", Value::Size(*size))]);
        let target = BenchTarget { path: &place.device, writable: None, length: None };
        accesses(&params, target, round)
    };
    SIZES.iter().map(side).collect()
}

impl Sides for Seek<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        ours(self.place, round)
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let side = |size: &Bytes| {
            accesses_per_second(&fio(&[
                "--ioengine=psync".to_owned(),
                "--rw=randread".to_owned(),
                format!("--bs={}", size.0),
                "--direct=1".to_owned(),
                "--norandommap".to_owned(),
                "--readonly".to_owned(),
                format!("--io_size={}", self.place.amount(COUNT) * size.0),
                format!("--randseed={}", round + 1),
                format!("--filename={}", self.place.device.display()),
            ]))
        };
        SIZES.iter().map(side).collect()
    }
}
