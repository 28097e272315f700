//! `seek` beside fio: direct random reads of 4 KiB on a raw device.

use crate::fio::{accesses_per_second, fio};
use crate::place::Place;
use crate::{Group, Row, Side, Sides};
use seekwell_model::field::{Value, Values};
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use seekwell_workload::{BenchTarget, bench};

pub const GROUP: Group = Group {
    rows: &[Row {
        name: "seek-fio",
        ours: "bench seek DEVICE --count 100000",
        original: "fio 3.33 --rw=randread --bs=4k --direct=1 --norandommap --ioengine=psync",
        metric: "accesses/s, by the mean latency",
        note: "operations per second are another matter on a device this fast: between two of them \
               fio spends about a tenth of their time on itself (`benches/runs/engine`)",
        exact: true,
    }],
    tool: "fio",
    turns: 2,
    sides: |place| Box::new(Seek { place }),
};

const COUNT: u64 = 100_000;

struct Seek<'p> {
    place: &'p Place,
}

/// Parameters of a kind, from fields.
pub fn params(kind: &str, fields: &[(&'static str, Value)]) -> WorkloadParams {
    let mut values = Values::default();
    for (name, value) in fields {
        values.set(name, value.clone());
    }
    (workload_kind(kind).unwrap().build)(&values).unwrap()
}

/// One bench whose single step is compared by its operations per second.
pub fn operations(params: &WorkloadParams, target: &std::path::Path, round: u64) -> Side {
    let target = BenchTarget { path: target, writable: None, length: None };
    let result = bench(params, target, round, None).unwrap();
    let step = &result.steps[0];
    let bytes = step.metrics["app_bytes"] as u64;
    Side { value: step.iops, ops: step.ops, bytes }
}

/// The same, compared by the mean of its latencies.
pub fn accesses(params: &WorkloadParams, target: BenchTarget<'_>, round: u64) -> Side {
    let result = bench(params, target, round, None).unwrap();
    let step = &result.steps[0];
    let mean_ns = step.latency_ns.unwrap().mean;
    Side { value: 1e9 / mean_ns, ops: step.ops, bytes: step.metrics["app_bytes"] as u64 }
}

impl Sides for Seek<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let params = params("seek", &[("count", Value::Integer(self.place.amount(COUNT)))]);
        let target = BenchTarget { path: &self.place.device, writable: None, length: None };
        vec![accesses(&params, target, round)]
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let flags = [
            "--ioengine=psync".to_owned(),
            "--rw=randread".to_owned(),
            "--bs=4k".to_owned(),
            "--direct=1".to_owned(),
            "--norandommap".to_owned(),
            "--readonly".to_owned(),
            format!("--io_size={}", self.place.amount(COUNT) * 4096),
            format!("--randseed={}", round + 1),
            format!("--filename={}", self.place.device.display()),
        ];
        vec![accesses_per_second(&fio(&flags))]
    }
}
