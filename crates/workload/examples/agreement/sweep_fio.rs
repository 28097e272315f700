//! `sweep` beside fio: random reads at four block sizes of a raw device, the time of all together.

use crate::fio::fio;
use crate::place::Place;
use crate::seek_fio::params;
use crate::{Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};

pub const ROW: Row = Row {
    name: "sweep-fio",
    ours: "bench sweep DEVICE --sizes 512B,4KiB,64KiB,1MiB --count 4000",
    original: "fio 3.33, one randread job after the other (--stonewall) at each size",
    tool: Some("fio"),
    metric: "operations/s over all sizes, by the sum of their times",
    note: "",
    exact: true,
    sides: |place| Box::new(Sweep { place }),
};

const SIZES: [u64; 4] = [512, 4 << 10, 64 << 10, 1 << 20];
const COUNT: u64 = 4_000;

struct Sweep<'p> {
    place: &'p Place,
}

impl Sides for Sweep<'_> {
    fn ours(&mut self, round: u64) -> Side {
        let sizes = SIZES.map(Bytes).to_vec();
        let params = params(
            "sweep",
            &[("count", Value::Integer(self.place.amount(COUNT))), ("sizes", Value::Sizes(sizes))],
        );
        let target = BenchTarget { path: &self.place.device, writable: None, length: None };
        let result = bench(&params, target, round, None).unwrap();
        let ops = result.steps.iter().map(|step| step.ops).sum();
        let ns: u64 = result.steps.iter().map(|step| step.elapsed_ns).sum();
        let bytes = result.steps.iter().map(|step| step.metrics["app_bytes"] as u64).sum();
        Side { value: ops as f64 * 1e9 / ns as f64, ops, bytes }
    }

    fn original(&mut self, round: u64) -> Side {
        let mut side = Side { value: 0.0, ops: 0, bytes: 0 };
        let mut ns = 0.0;
        for size in SIZES {
            let told = fio(&[
                "--rw=randread".to_owned(),
                format!("--bs={size}"),
                "--direct=1".to_owned(),
                "--norandommap".to_owned(),
                "--readonly".to_owned(),
                format!("--io_size={}", self.place.amount(COUNT) * size),
                format!("--randseed={}", round + 1),
                format!("--filename={}", self.place.device.display()),
            ]);
            let read = &told["jobs"][0]["read"];
            let ops = read["total_ios"].as_u64().unwrap();
            side.ops += ops;
            side.bytes += read["io_bytes"].as_u64().unwrap();
            // Its run time is in whole milliseconds, of which some sizes take few; its mean latency
            // is not.
            ns += read["lat_ns"]["mean"].as_f64().unwrap() * ops as f64;
        }
        side.value = side.ops as f64 * 1e9 / ns;
        side
    }
}
