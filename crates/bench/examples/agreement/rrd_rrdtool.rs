//! `rrd` compared with one `rrdtool -` process that gets the same updates.

use crate::place::Place;
use crate::seek_fio::params;
use crate::{Asked, Group, Row, Side, Sides, steps_of};
use seekwell_model::field::Value;
use seekwell_model::units::Nanos;
use seekwell_workload::rrd::{UpdateText, definition, file_name, time_s};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "rrd-device-bytes",
            ours: "rrd --files 1000 --polls 3 --tenant-every 0s, bytes that the device was asked to \
                   write",
            original: "one `rrdtool -` (1.7.2) with the same 3000 updates",
            metric: "bytes per poll",
            note: "",
            asked: Asked::Within,
        },
        Row {
            name: "rrd-durable",
            ours: "rrd --files 1000 --polls 3 --tenant-every 0s, poll_durable",
            original: "one `rrdtool -` (1.7.2) with the same 3000 updates, each poll ended by syncfs",
            metric: "polls/s",
            note: "an update takes rrdtool 45 µs and Seekwell 39 µs; the calls on a file are the same, rrdtool \
                   also reads and answers a command",
            asked: Asked::SameOrder,
        },
    ],
    tool: "rrdtool",
    turns: 1,
    sides: |place| Box::new(Rrd { place }),
};

const FILES: u64 = 1_000;
const POLLS: u64 = 3;

struct Rrd<'p> {
    place: &'p Place,
}

impl Rrd<'_> {
    fn files(&self) -> u64 {
        self.place.amount(FILES)
    }

    /// Commands for rrdtool in one poll.
    fn commands(&self, folder: &Path, text: &mut UpdateText, poll: u64) -> String {
        let mut commands = String::new();
        for file in 0..self.files() {
            let path = folder.join(file_name(file));
            let values = text.values(file, poll).join(":");
            // Writing to a string cannot fail.
            let _ = writeln!(commands, "update {} {}:{values}", path.display(), time_s(poll));
        }
        commands
    }

    fn sides(&self, ns: f64, device_bytes: u64, ops: u64) -> Vec<Side> {
        let polls = POLLS as f64;
        let side = |value| Side { value, ops, bytes: 0 };
        vec![side(device_bytes as f64 / polls), side(polls * 1e9 / ns)]
    }
}

impl Sides for Rrd<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let fields = [
            ("files", Value::Integer(self.files())),
            ("polls", Value::Integer(POLLS)),
            ("tenant_every", Value::Duration(Nanos(0))),
        ];
        let mut steps = steps_of::of(&params("rrd", &fields));
        steps_of::run(&mut steps, "create", self.place, round);
        steps_of::sync(&self.place.directory);
        let before = steps_of::written_bytes(&self.place.directory_device);
        let polled = steps_of::run(&mut steps, "poll", self.place, round);
        let written = steps_of::written_bytes(&self.place.directory_device) - before;
        std::fs::remove_dir_all(self.place.directory.join("rra")).unwrap();
        steps_of::sync(&self.place.directory);
        self.sides(polled.elapsed_ns as f64, written, polled.ops)
    }

    fn original(&mut self, _round: u64) -> Vec<Side> {
        let folder = self.place.directory.join("rra");
        std::fs::create_dir(&folder).unwrap();
        let content = definition(2).new_file(time_s(0) - time_s(0) % 300 - 300);
        for file in 0..self.files() {
            std::fs::write(folder.join(file_name(file)), &content).unwrap();
        }
        steps_of::sync(&self.place.directory);
        let mut text = UpdateText::new(2);
        let polls: Vec<String> =
            (0..POLLS).map(|poll| self.commands(&folder, &mut text, poll)).collect();
        let before = steps_of::written_bytes(&self.place.directory_device);
        let said = self.place.folder.join("rrdtool.said");
        let mut rrdtool = Command::new("rrdtool")
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let mut commands = rrdtool.stdin.take().unwrap();
        let mut answers = Answers { file: File::open(&said).unwrap(), text: String::new() };
        // It is there once it answers: loading its libraries takes as long as a poll.
        writeln!(commands, "pwd").unwrap();
        answers.wait_for(1);
        let begin = Instant::now();
        for (poll, wanted) in (1..).zip(polls) {
            // All at once: waiting for each answer would measure how fast two processes take turns.
            commands.write_all(wanted.as_bytes()).unwrap();
            answers.wait_for(1 + poll * self.files());
            steps_of::sync(&self.place.directory);
        }
        let ns = begin.elapsed().as_nanos() as f64;
        let updates = answers.count() - 1;
        drop(commands);
        assert!(rrdtool.wait().unwrap().success());
        let written = steps_of::written_bytes(&self.place.directory_device) - before;
        std::fs::remove_dir_all(&folder).unwrap();
        steps_of::sync(&self.place.directory);
        self.sides(ns, written, updates)
    }
}

/// Output of rrdtool, in a file: no process waits for its next line, so none is woken for each line and
/// interrupts it.
struct Answers {
    file: File,
    text: String,
}

impl Answers {
    /// Updates that were carried out, and `pwd`.
    fn count(&self) -> u64 {
        self.text.lines().filter(|line| line.starts_with("OK ")).count() as u64
    }

    /// Waits until so many commands were carried out, on another CPU than the one that works.
    fn wait_for(&mut self, count: u64) {
        let wait = || {
            crate::place::leave_to_others();
            loop {
                self.file.read_to_string(&mut self.text).unwrap();
                assert!(!self.text.contains("ERROR"), "{}", self.text);
                if self.count() >= count {
                    return;
                }
                // A poll takes two hundred times as long.
                std::thread::sleep(Duration::from_micros(200));
            }
        };
        std::thread::scope(|scope| scope.spawn(wait).join()).unwrap();
    }
}
