//! `chunk` beside the reference program: the whole at once, and a character at a time.

use crate::place::Place;
use crate::reference::{compile, numbers};
use crate::seek_fio::params;
use crate::{Row, Side, Sides};
use seekwell_model::field::Value;
use seekwell_model::units::Bytes;
use seekwell_workload::{BenchTarget, bench};
use std::path::PathBuf;

pub const WHOLE: Row = Row {
    name: "chunk-whole",
    ours: "bench chunk DIRECTORY --size 16MiB --repeats 20, step chunk-whole",
    original: "`reference/chunk.c`, second number",
    tool: Some("cc"),
    metric: "MB/s",
    note: "",
    exact: true,
    sides: |place| sides(place, true),
};

pub const CHARACTERS: Row = Row {
    name: "chunk-characters",
    ours: "bench chunk DIRECTORY --size 16MiB, step chunk-characters",
    original: "`reference/chunk.c`, first number",
    tool: Some("cc"),
    metric: "MB/s",
    note: "what is compared is how fast two languages put a character into a buffer: putc takes and \
           gives a lock for each of them, Rust does not; both then write the same 4 KiB at a time",
    exact: false,
    sides: |place| sides(place, false),
};

const SIZE: u64 = 16 << 20;
const REPEATS: u64 = 20;

fn sides(place: &Place, whole: bool) -> Box<dyn Sides + '_> {
    Box::new(Chunk { place, program: compile(place, "chunk"), whole })
}

struct Chunk<'p> {
    place: &'p Place,
    program: PathBuf,
    whole: bool,
}

impl Chunk<'_> {
    fn repeats(&self) -> u64 {
        self.place.amount(REPEATS)
    }

    fn side(&self, ns: f64) -> Side {
        let bytes = if self.whole { SIZE * self.repeats() * 2 } else { SIZE };
        let ops = if self.whole { self.repeats() * 2 } else { SIZE };
        Side { value: bytes as f64 * 1e3 / ns, ops, bytes }
    }
}

impl Sides for Chunk<'_> {
    fn ours(&mut self, round: u64) -> Side {
        let fields =
            [("size", Value::Size(Bytes(SIZE))), ("repeats", Value::Integer(self.repeats()))];
        let target = BenchTarget { path: &self.place.directory, writable: None, length: None };
        let result = bench(&params("chunk", &fields), target, round, None).unwrap();
        let step = &result.steps[usize::from(self.whole)];
        let side = self.side(step.elapsed_ns as f64);
        // What was done, not what was asked for.
        Side { ops: step.ops, bytes: step.metrics["app_bytes"] as u64, ..side }
    }

    fn original(&mut self, _round: u64) -> Side {
        let file = self.place.directory.join("chunk.c.data");
        let words = [file.display().to_string(), SIZE.to_string(), self.repeats().to_string()];
        let told = numbers(&self.program, &words);
        // As ours does: the next run begins with everything on the device and no file.
        rustix::fs::syncfs(std::fs::File::open(&self.place.directory).unwrap()).unwrap();
        std::fs::remove_file(&file).unwrap();
        self.side(told[usize::from(self.whole)] as f64)
    }
}
