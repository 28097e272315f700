//! Raw values: a row for each run of a program or a replay, and one for each recording.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read as _, Write as _};
use std::path::Path;

const HEAD: &str = "program,from,on,cache,pair,side,elapsed_s,inside_s,fidelity";

/// A run's times.
#[derive(Clone, Debug)]
pub struct Sample {
    pub program: String,
    /// Filesystem of the recording.
    pub from: String,
    /// Filesystem of the run.
    pub on: String,
    /// `cold` or `warm`.
    pub cache: String,
    pub pair: u32,
    /// `recorded`, `program`, `replay`, `again` (the program once more) or `asap`.
    pub side: String,
    pub elapsed_s: f64,
    /// Time inside of calls; `None` for the program, which is not traced.
    pub inside_s: Option<f64>,
    /// Share of the recorded calls with the recorded result; of replays.
    pub fidelity: Option<f64>,
}

/// Reads raw values; a name that ends in `.gz` is that of compressed ones.
pub fn read(path: &Path) -> Vec<Sample> {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    if path.extension().is_some_and(|end| end == "gz") {
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text).unwrap();
    }
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEAD), "{}", path.display());
    lines.map(sample).collect()
}

fn sample(line: &str) -> Sample {
    let cells: Vec<&str> = line.split(',').collect();
    let word = |at: usize| cells[at].to_owned();
    Sample {
        program: word(0),
        from: word(1),
        on: word(2),
        cache: word(3),
        pair: cells[4].parse().unwrap(),
        side: word(5),
        elapsed_s: cells[6].parse().unwrap(),
        inside_s: cells[7].parse().ok(),
        fidelity: cells[8].parse().ok(),
    }
}

/// Writes the raw values of all runs so far.
pub fn write(path: &Path, samples: &[Sample]) {
    let mut text = format!("{HEAD}\n");
    for one in samples {
        let Sample { program, from, on, cache, pair, side, elapsed_s, .. } = one;
        let inside = one.inside_s.map(|inside| format!("{inside:.5}")).unwrap_or_default();
        let fidelity = one.fidelity.map(|share| format!("{share:.4}")).unwrap_or_default();
        text += &format!(
            "{program},{from},{on},{cache},{pair},{side},{elapsed_s:.5},{inside},{fidelity}\n"
        );
    }
    let file = std::fs::File::create(path).unwrap();
    if path.extension().is_some_and(|end| end == "gz") {
        let mut packed = GzEncoder::new(file, Compression::best());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap();
    } else {
        (&file).write_all(text.as_bytes()).unwrap();
    }
}
