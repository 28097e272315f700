//! `sweep` beside fio: random reads at four block sizes of a raw device, the time of all together.

use crate::fio::{accesses_per_second, fio};
use crate::place::Place;
use crate::seek_fio::params;
use crate::{Asked, Group, Row, Side, Sides};
use seekwell_model::bench::BenchStep;
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};

pub const GROUP: Group = Group {
    rows: &[Row {
        name: "sweep-fio",
        ours: "bench sweep DEVICE --sizes 4KiB,16KiB,64KiB,1MiB --count 1000",
        original: "fio 3.33, one randread job after the other at each size",
        metric: "accesses/s over all sizes, by the sum of their latencies",
        note: "the largest size takes most of the time, so the row says little about small sizes; the seek \
                   rows cover them",
        asked: Asked::Within,
    }],
    tool: "fio",
    turns: 2,
    sides: |place| Box::new(Sweep { place }),
};

const SIZES: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 1 << 20];
const COUNT: u64 = 1_000;

struct Sweep<'p> {
    place: &'p Place,
}

impl Sides for Sweep<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let sizes = SIZES.map(Bytes).to_vec();
        let params = params(
            "sweep",
            &[("count", Value::Integer(self.place.amount(COUNT))), ("sizes", Value::Sizes(sizes))],
        );
        let target = BenchTarget { path: &self.place.device, writable: None, length: None };
        let result = bench(&params, target, round, None).unwrap();
        let ops = result.steps.iter().map(|step| step.ops).sum();
        let latencies_ns = |step: &BenchStep| step.latency_ns.unwrap().mean * step.ops as f64;
        let ns: f64 = result.steps.iter().map(latencies_ns).sum();
        let bytes = result.steps.iter().map(|step| step.metrics["app_bytes"] as u64).sum();
        vec![Side { value: ops as f64 * 1e9 / ns, ops, bytes }]
    }

    fn original(&mut self, round: u64) -> Vec<Side> {
        let mut side = Side { value: 0.0, ops: 0, bytes: 0 };
        let mut ns = 0.0;
        for size in SIZES {
            let told = fio(&[
                "--ioengine=psync".to_owned(),
                "--rw=randread".to_owned(),
                format!("--bs={size}"),
                "--direct=1".to_owned(),
                "--norandommap".to_owned(),
                "--readonly".to_owned(),
                format!("--io_size={}", self.place.amount(COUNT) * size),
                format!("--randseed={}", round + 1),
                format!("--filename={}", self.place.device.display()),
            ]);
            let found = accesses_per_second(&told);
            side.ops += found.ops;
            side.bytes += found.bytes;
            ns += found.ops as f64 * 1e9 / found.value;
        }
        side.value = side.ops as f64 * 1e9 / ns;
        vec![side]
    }
}
