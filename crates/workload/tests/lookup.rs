//! What `seekrw` says about finding blocks, against the arithmetic of indirect blocks and debugfs.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use seekwell_model::field::{Value, Values};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::workload_kind;
use seekwell_workload::{StepContext, steps};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(tool: &str, words: &[&str]) -> String {
    let output = Command::new(seekwell_testing::tool(tool).unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{tool} {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A filesystem with blocks of 1 KiB on a loop device; taken down when dropped.
struct Mounted {
    device: String,
    directory: PathBuf,
}

impl Mounted {
    fn make(folder: &Path, kind: &str) -> Self {
        let image = folder.join(format!("{kind}.image"));
        File::create(&image).unwrap().set_len(32 << 20).unwrap();
        let image = image.display().to_string();
        let device = run("losetup", &["--find", "--show", &image]).trim().to_owned();
        let directory = folder.join(kind);
        std::fs::create_dir(&directory).unwrap();
        let mounted = Self { device, directory };
        run("mkfs.ext4", &["-q", "-F", "-t", kind, "-b", "1024", &mounted.device]);
        run("mount", &[&mounted.device, &mounted.directory.display().to_string()]);
        mounted
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for (tool, words) in [
            ("umount", vec![self.directory.display().to_string()]),
            ("losetup", vec!["--detach".to_owned(), self.device.clone()]),
        ] {
            // A mount that was never made cannot be undone; the loop device must be.
            let _ = Command::new(seekwell_testing::tool(tool).unwrap()).args(words).status();
        }
    }
}

/// Indirect blocks of a file without holes on ext2 and ext3: twelve blocks are in the inode, then
/// one indirect block leads to `fan` of them, and a double one to `fan` indirect blocks.
fn indirect_blocks(blocks: u64, fan: u64) -> u64 {
    let beyond = blocks.saturating_sub(12);
    let single = u64::from(beyond > 0);
    let twice = beyond.saturating_sub(fan);
    single + u64::from(twice > 0) + twice.div_ceil(fan)
}

#[test]
fn pointer_blocks_are_those_of_the_arithmetic_and_of_debugfs() {
    let test = "pointer_blocks_are_those_of_the_arithmetic";
    let tools = ["losetup", "mkfs.ext4", "mount", "umount", "debugfs", "filefrag"];
    if !seekwell_testing::root() || !Path::new("/dev/loop-control").exists() {
        return seekwell_testing::skip(test, "needs root and loop devices");
    }
    if let Some(tool) = tools.iter().find(|tool| seekwell_testing::tool(tool).is_none()) {
        return seekwell_testing::skip(test, &format!("{tool} is not installed"));
    }
    let folder = tempfile::tempdir().unwrap();
    for kind in ["ext2", "ext3", "ext4"] {
        let mounted = Mounted::make(folder.path(), kind);
        let context = StepContext {
            directory: Some(&mounted.directory),
            device: Path::new(&mounted.device),
            device_file: None,
            raw: false,
            seed: 4,
            stop: None,
            device_bytes: 32 << 20,
            sector_bytes: 512,
            scratch: None,
            acknowledged: None,
        };
        let mut values = Values::default();
        values.set("file_size", Value::Size(Bytes::mib(3)));
        values.set("count", Value::Integer(200));
        let params = workload_kind("seekrw").unwrap().params(&values).unwrap();
        let mut found = Vec::new();
        for mut step in steps(&params) {
            found.push(step.run(&context).unwrap());
        }
        let direct = &found[1].metrics;
        let told = run("debugfs", &["-R", "stat seekrw.data", &mounted.device]);
        let by_debugfs = told.matches("IND)").count() as f64;
        if kind == "ext4" {
            assert_eq!(by_debugfs, 0.0);
            assert!(direct["pointer_blocks"] <= 1.0, "{direct:?}");
        } else {
            assert_eq!(direct["pointer_blocks"], indirect_blocks(3072, 256) as f64, "{kind}");
            assert_eq!(direct["pointer_blocks"], by_debugfs, "{kind}: {told}");
        }
        let file = mounted.directory.join("seekrw.data");
        let counted = run("filefrag", &[file.to_str().unwrap()]);
        let counted = counted.rsplit(": ").next().and_then(|rest| rest.split(' ').next());
        assert_eq!(counted, Some(direct["extents"].to_string().as_str()), "{kind}");
        // Every direct access reached the device; what is beyond that was metadata.
        let reads = direct["device_reads_per_op"] * 200.0;
        assert!((reads - 200.0 - direct["metadata_reads"]).abs() < 1e-6, "{kind}: {direct:?}");
    }
}

#[test]
fn the_arithmetic_is_that_of_the_manual_cases() {
    assert_eq!([12, 13, 268, 269, 524].map(|blocks| indirect_blocks(blocks, 256)), [0, 1, 1, 3, 3]);
    assert_eq!(indirect_blocks(525, 256), 4);
}
