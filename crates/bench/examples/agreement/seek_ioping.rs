//! `seek` beside `ioping -R`: direct random reads over a whole raw device.

use crate::place::Place;
use crate::seek_fio::{COUNT, SIZES, ours};
use crate::{Asked, Group, Row, Side, Sides};
use seekwell_model::units::Bytes;
use std::process::Command;

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "seek-ioping",
            ours: "bench seek DEVICE --count 50000 --size 16KiB",
            original: "ioping -R -D -C -B -s 16k -w 0 -c 50001 DEVICE",
            metric: "accesses/s, by the mean latency",
            note: "with `-C` ioping leaves out the posix_fadvise(DONTNEED) that it calls before \
                   every read, also with direct I/O: both sides then call pread once",
            asked: Asked::Within,
        },
        Row {
            name: "seek-ioping-4k",
            ours: "bench seek DEVICE --count 50000 --size 4KiB",
            original: "ioping -R -D -C -B -s 4k -w 0 -c 50001 DEVICE",
            metric: "accesses/s, by the mean latency",
            note: "",
            asked: Asked::SameOrder,
        },
    ],
    tool: "ioping",
    turns: 2,
    sides: |place| Box::new(Seek { place }),
};

struct Seek<'p> {
    place: &'p Place,
}

impl Sides for Seek<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        ours(self.place, round)
    }

    fn original(&mut self, _round: u64) -> Vec<Side> {
        SIZES.iter().map(|size| ioping(self.place, *size)).collect()
    }
}

fn ioping(place: &Place, size: Bytes) -> Side {
    let output = Command::new(seekwell_testing::tool("ioping").unwrap())
        .args(["-R", "-D", "-C", "-B", "-w", "0", "-s", &size.0.to_string(), "-c"])
        // The first request only warms up and is not counted.
        .arg((place.amount(COUNT) + 1).to_string())
        .arg(&place.device)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Requests, their time in ns, operations per second, bytes per second, and more. The time is
    // the sum of the latencies, not what passed.
    let words: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let (ops, ns) = (words[0] as u64, words[1]);
    Side { value: ops as f64 * 1e9 / ns, ops, bytes: ops * size.0 }
}
