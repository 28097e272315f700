//! `seek` beside `ioping -R`: direct random reads of 4 KiB over the first 64 MiB of a raw device.

use crate::place::Place;
use crate::seek_fio::params;
use crate::{Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::WorkloadParams;
use std::process::Command;

pub const ROW: Row = Row {
    name: "seek-ioping",
    ours: "bench seek DEVICE --count 20000 --file-size 64MiB",
    original: "ioping -R -D -B -w 0 -c 20001 DEVICE",
    tool: Some("ioping"),
    metric: "operations/s",
    note: "",
    exact: true,
    sides: |place| Box::new(Seek { place }),
};

const COUNT: u64 = 20_000;
const SPAN: Bytes = Bytes::mib(64);

struct Seek<'p> {
    place: &'p Place,
}

impl Sides for Seek<'_> {
    fn ours(&mut self, round: u64) -> Side {
        let fields =
            [("count", Value::Integer(self.place.amount(COUNT))), ("file_size", Value::Size(SPAN))];
        let params = params("seek", &fields);
        assert!(matches!(&params, WorkloadParams::Io(io) if io.file_size == Some(SPAN)));
        let target = seekwell_workload::BenchTarget {
            path: &self.place.device,
            writable: None,
            length: Some(SPAN),
        };
        let result = seekwell_workload::bench(&params, target, round, None).unwrap();
        let step = &result.steps[0];
        Side { value: step.iops, ops: step.ops, bytes: step.metrics["app_bytes"] as u64 }
    }

    fn original(&mut self, _round: u64) -> Side {
        let output = Command::new(seekwell_testing::tool("ioping").unwrap())
            .args(["-R", "-D", "-B", "-w", "0", "-c"])
            // The first request only warms up and is not counted.
            .arg((self.place.amount(COUNT) + 1).to_string())
            .arg(&self.place.device)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Requests, their time in ns, operations per second, bytes per second, and more.
        let words: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        Side { value: words[2], ops: words[0] as u64, bytes: words[0] as u64 * 4096 }
    }
}
