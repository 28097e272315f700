//! `mail` beside GNU tar, `wc -c` and `rm`: the same archive, the same files.

use crate::place::Place;
use crate::seek_fio::params;
use crate::{Group, Row, Side, Sides, steps_of};
use seekwell_model::field::Value;
use seekwell_workload::StepOutcome;
use std::path::PathBuf;

pub const GROUP: Group = Group {
    rows: &[
        Row {
            name: "mail-unpack",
            ours: "mail, tar = ARCHIVE, step unpack",
            original: "tar -x -f ARCHIVE",
            metric: "files/s",
            note: "tar also sets owner, mode and times of every file, and archives are read in \
                   blocks of 10 KiB",
            exact: false,
        },
        Row {
            name: "mail-read",
            ours: "mail, counter = \"pipe\", step read_directory",
            original: "tar -c -f - FOLDER into wc -c",
            metric: "files/s",
            note: "tar also writes a header for every file and looks at each file twice",
            exact: false,
        },
        Row {
            name: "mail-remove",
            ours: "mail, step remove",
            original: "rm -r FOLDER",
            metric: "files/s",
            note: "",
            exact: true,
        },
    ],
    tool: "tar",
    turns: 2,
    sides,
};

const FILES: u64 = 20_000;

struct Mail<'p> {
    place: &'p Place,
    archive: PathBuf,
    files: u64,
    bytes: u64,
}

fn sides(place: &Place) -> Box<dyn Sides + '_> {
    let files = place.amount(FILES);
    let made = params("mail", &[("files", Value::Integer(files)), ("spread", Value::Number(0.5))]);
    let mut steps = steps_of::of(&made);
    let unpacked = steps_of::run(&mut steps, "unpack", place, 1);
    let archive = place.folder.join("mail.tar");
    let tree = place.directory.join("mail");
    steps_of::timed(&format!("tar -c -f {} -C {} .", archive.display(), tree.display()));
    std::fs::remove_dir_all(&tree).unwrap();
    steps_of::sync(&place.directory);
    Box::new(Mail { place, archive, files, bytes: unpacked.app_bytes_written })
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
    fn ours(&mut self, round: u64) -> Vec<Side> {
        let archive = Value::Text(self.archive.display().to_string());
        let fields = [
            ("tar", archive),
            ("counter", Value::Text("pipe".to_owned())),
            ("steps", Value::List(["read_directory", "remove"].map(str::to_owned).to_vec())),
        ];
        let mut steps = steps_of::of(&params("mail", &fields));
        let unpacked = steps_of::run(&mut steps, "unpack", self.place, round);
        steps_of::sync(&self.place.directory);
        let read = steps_of::run(&mut steps, "read_directory", self.place, round);
        let removed = steps_of::run(&mut steps, "remove", self.place, round);
        steps_of::sync(&self.place.directory);
        let side = |step: &StepOutcome, bytes| Side {
            ops: step.ops,
            bytes,
            ..self.side(step.elapsed_ns as f64)
        };
        vec![
            side(&unpacked, unpacked.app_bytes_written),
            side(&read, read.app_bytes_read),
            side(&removed, self.bytes),
        ]
    }

    fn original(&mut self, _round: u64) -> Vec<Side> {
        let folder = self.place.directory.join("tar");
        std::fs::create_dir(&folder).unwrap();
        let (archive, shown) = (self.archive.display(), folder.display());
        let (unpack_ns, _) = steps_of::timed(&format!("tar -x -f {archive} -C {shown}"));
        steps_of::sync(&self.place.directory);
        let (read_ns, counted) =
            steps_of::timed(&format!("tar -c -f - {shown} 2>/dev/null | wc -c"));
        assert!(counted.trim().parse::<u64>().unwrap() >= self.bytes);
        let (remove_ns, _) = steps_of::timed(&format!("rm -r {shown}"));
        steps_of::sync(&self.place.directory);
        [unpack_ns, read_ns, remove_ns].map(|ns| self.side(ns)).to_vec()
    }
}
