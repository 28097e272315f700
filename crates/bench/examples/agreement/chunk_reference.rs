//! `chunk` compared with the reference program: the whole at once, and a character at a time.

use crate::place::Place;
use crate::reference::{compile, numbers};
use crate::seek_fio::params;
use crate::{Asked, Group, Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};
use std::path::PathBuf;

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "chunk-characters",
            ours: "bench chunk DIRECTORY --size 16MiB, step chunk-characters",
            original: "`reference/chunk.c`, first number",
            metric: "MB/s",
            note: "the row compares how fast two languages put a character into a buffer: putc \
                   takes and gives a lock for each of them, Rust does not; both then write the same \
                   4 KiB at a time",
            asked: Asked::SameOrder,
        },
        Row {
            name: "chunk-whole",
            ours: "bench chunk DIRECTORY --size 16MiB --repeats 20, step chunk-whole",
            original: "`reference/chunk.c`, second number",
            metric: "MB/s",
            note: "",
            asked: Asked::Within,
        },
    ],
    tool: "cc",
    turns: 4,
    sides: |place| Box::new(Chunk { place, program: compile(place, "chunk") }),
};

const SIZE: u64 = 16 << 20;
const REPEATS: u64 = 20;

struct Chunk<'p> {
    place: &'p Place,
    program: PathBuf,
}

impl Chunk<'_> {
    fn repeats(&self) -> u64 {
        self.place.amount(REPEATS)
    }

    fn sides(&self, ns: [u64; 2]) -> Vec<Side> {
        let whole = self.repeats() * 2;
        let side = |ns: u64, ops, bytes| Side { value: bytes as f64 * 1e3 / ns as f64, ops, bytes };
        vec![side(ns[0], SIZE, SIZE), side(ns[1], whole, SIZE * whole)]
    }
}

impl Sides for Chunk<'_> {
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let fields =
            [("size", Value::Size(Bytes(SIZE))), ("repeats", Value::Integer(self.repeats()))];
        let target = BenchTarget { path: &self.place.directory, writable: None, length: None };
        let result = bench(&params("chunk", &fields), target, round, None).unwrap();
        let [characters, whole] = &result.steps[..] else { panic!("two steps") };
        let mut sides = self.sides([characters.elapsed_ns, whole.elapsed_ns]);
        for (side, step) in sides.iter_mut().zip(&result.steps) {
            // What was done, not what was asked for.
            (side.ops, side.bytes) = (step.ops, step.metrics["app_bytes"] as u64);
        }
        sides
    }

    fn original(&mut self, _round: u64) -> Vec<Side> {
        let file = self.place.directory.join("chunk.c.data");
        let words = [file.display().to_string(), SIZE.to_string(), self.repeats().to_string()];
        let told = numbers(&self.program, &words);
        // As ours does: the next run begins with everything on the device and no file.
        rustix::fs::syncfs(std::fs::File::open(&self.place.directory).unwrap()).unwrap();
        std::fs::remove_file(&file).unwrap();
        self.sides([told[0], told[1]])
    }
}
