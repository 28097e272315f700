//! A real guest, if a lab kernel is there.
use seekwell_virtual::instant::Instant;
use seekwell_virtual::*;
use std::path::{Path, PathBuf};

#[test]
fn boots() {
    let kernel = PathBuf::from(std::env::var("SEEKWELL_TEST_KERNEL").unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let settings = Settings {
        cpu: std::env::var("CPU").ok().map(|c| c.parse().unwrap()),
        ..Settings::new(scratch.path())
    };
    let builder = RootBuilder::new(Path::new(env!("CARGO_BIN_EXE_seekwell-test-guest"))).unwrap();
    let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
    let root = builder.build(keeping).unwrap();
    let disks = vec![DiskSetup::empty("data", Box::new(Instant::new(1 << 20)), &settings)];
    let command: Vec<String> =
        std::env::var("CMD").unwrap_or("echo".into()).split(' ').map(Into::into).collect();
    let command = [vec!["/seekwell".to_string()], command].concat();
    let trial = Trial { kernel: &kernel, root: &root, disks, command, input: b"hello", settings };
    let outcome =
        run(trial, &mut |bytes| println!("said {:?}", String::from_utf8_lossy(bytes))).unwrap();
    println!("{outcome:#?}");
}
