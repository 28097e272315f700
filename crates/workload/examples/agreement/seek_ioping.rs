//! `seek` beside `ioping -R`: direct random reads of 4 KiB over the first 64 MiB of a raw device.

use crate::place::Place;
use crate::seek_fio::{accesses, params};
use crate::{Group, Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::WorkloadParams;
use std::process::Command;

pub const GROUP: Group = Group {
    rows: &[Row {
        name: "seek-ioping",
        ours: "bench seek DEVICE --count 100000 --file-size 64MiB",
        original: "ioping -R -D -C -B -w 0 -c 100001 DEVICE",
        metric: "accesses/s, by the mean latency",
        note: "with `-C` ioping leaves out the posix_fadvise(DONTNEED) that it calls before every \
               read, also with direct I/O (seen with strace): both sides then make one pread",
        exact: true,
    }],
    tool: "ioping",
    turns: 2,
    sides: |place| Box::new(Seek { place }),
};

const COUNT: u64 = 100_000;
const SPAN: Bytes = Bytes::mib(64);

struct Seek<'p> {
    place: &'p Place,
}

impl Sides for Seek<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let fields =
            [("count", Value::Integer(self.place.amount(COUNT))), ("file_size", Value::Size(SPAN))];
        let params = params("seek", &fields);
        assert!(matches!(&params, WorkloadParams::Io(io) if io.file_size == Some(SPAN)));
        let target = seekwell_workload::BenchTarget {
            path: &self.place.device,
            writable: None,
            length: Some(SPAN),
        };
        vec![accesses(&params, target, round)]
    }

    fn original(&mut self, _round: u64) -> Vec<Side> {
        let output = Command::new(seekwell_testing::tool("ioping").unwrap())
            .args(["-R", "-D", "-C", "-B", "-w", "0", "-c"])
            // The first request only warms up and is not counted.
            .arg((self.place.amount(COUNT) + 1).to_string())
            .arg(&self.place.device)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Requests, their time in ns, operations per second, bytes per second, and more. The time is
        // the sum of the latencies, not what passed.
        let words: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let (ops, ns) = (words[0] as u64, words[1]);
        vec![Side { value: ops as f64 * 1e9 / ns, ops, bytes: ops * 4096 }]
    }
}
