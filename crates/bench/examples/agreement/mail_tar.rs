//! `mail` next to GNU tar, `wc -c` and `rm`: the same files.

use crate::place::Place;
use crate::seek_fio::params;
use crate::{Asked, Group, Row, Side, Sides, steps_of};
use seekwell_model::field::Value;
use seekwell_workload::StepOutcome;
use std::path::PathBuf;

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "mail-read",
            ours: "mail, counter = \"pipe\", step read_directory",
            original: "tar -c -f - FOLDER into wc -c",
            metric: "bytes/s that the counter takes",
            note: "tar's include headers and padding, 4 % of them",
            asked: Asked::Within,
        },
        Row {
            name: "mail-remove",
            ours: "mail, step remove",
            original: "rm -r FOLDER",
            metric: "files/s",
            note: "",
            asked: Asked::Within,
        },
    ],
    tool: "tar",
    turns: 2,
    sides,
};

/// In thousandths of the 1,075,962 files of the published archive, with its sizes.
const SCALE_PERMILLE: u64 = 20;

/// Ours sets times, but neither owner nor mode.
const AS_OURS: &str = "--no-same-owner --no-same-permissions";

struct Mail<'p> {
    place: &'p Place,
    scale: f64,
    archive: PathBuf,
    files: u64,
    bytes: u64,
}

fn sides(place: &Place) -> Box<dyn Sides + '_> {
    let scale = place.amount(SCALE_PERMILLE) as f64 / 1000.0;
    let made = params("mail", &[("scale", Value::Number(scale))]);
    let mut steps = steps_of::of(&made);
    let unpacked = steps_of::run(&mut steps, "unpack", place, 1);
    let archive = place.folder.join("mail.tar");
    let tree = place.directory.join("mail");
    steps_of::timed(&format!("tar -c -f {} -C {} .", archive.display(), tree.display()));
    std::fs::remove_dir_all(&tree).unwrap();
    steps_of::sync(&place.directory);
    let files = unpacked.ops;
    Box::new(Mail { place, scale, archive, files, bytes: unpacked.app_bytes_written })
}

impl Mail<'_> {
    fn side(&self, ns: f64) -> Side {
        Side { value: self.files as f64 * 1e9 / ns, ops: self.files, bytes: self.bytes }
    }
}

impl Drop for Mail<'_> {
    fn drop(&mut self) {
        // The next row makes its own.
        let _ = std::fs::remove_file(&self.archive);
    }
}

impl Sides for Mail<'_> {
    fn ours(&mut self, _round: u64) -> Vec<Side> {
        let fields = [
            ("scale", Value::Number(self.scale)),
            ("counter", Value::Text("pipe".to_owned())),
            ("steps", Value::List(["read_directory", "remove"].map(str::to_owned).to_vec())),
        ];
        let mut steps = steps_of::of(&params("mail", &fields));
        steps_of::run(&mut steps, "unpack", self.place, 1);
        steps_of::sync(&self.place.directory);
        let read = steps_of::run(&mut steps, "read_directory", self.place, 1);
        let removed = steps_of::run(&mut steps, "remove", self.place, 1);
        steps_of::sync(&self.place.directory);
        let side = |step: &StepOutcome, bytes| Side {
            ops: step.ops,
            bytes,
            ..self.side(step.elapsed_ns as f64)
        };
        let counted = read.app_bytes_read as f64;
        vec![
            Side {
                value: counted * 1e9 / read.elapsed_ns as f64,
                ..side(&read, read.app_bytes_read)
            },
            side(&removed, self.bytes),
        ]
    }

    fn original(&mut self, _round: u64) -> Vec<Side> {
        let folder = self.place.directory.join("tar");
        std::fs::create_dir(&folder).unwrap();
        let (archive, shown) = (self.archive.display(), folder.display());
        steps_of::timed(&format!("tar -x {AS_OURS} -f {archive} -C {shown}"));
        steps_of::sync(&self.place.directory);
        let (read_ns, counted) =
            steps_of::timed(&format!("tar -c -f - {shown} 2>/dev/null | wc -c"));
        let counted: f64 = counted.trim().parse().unwrap();
        assert!(counted >= self.bytes as f64);
        let (remove_ns, _) = steps_of::timed(&format!("rm -r {shown}"));
        steps_of::sync(&self.place.directory);
        let [read, remove] = [read_ns, remove_ns].map(|ns| self.side(ns));
        vec![Side { value: counted * 1e9 / read_ns, ..read }, remove]
    }
}
