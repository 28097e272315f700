use super::*;
use std::process::Command;

const CALLS: &str = "mkdir A; creat A/foo; write A/foo 0 4096; allocate A/foo 4096 4096; reserve A/foo 8192 4096; \
    punch A/foo 0 512; link A/foo A/bar; truncate A/foo 5000; rename A/bar new; mkdir B; rmdir B; creat B; unlink B; \
    fsync A/foo; fdatasync new";

#[test]
fn the_program_compiles_and_makes_the_calls() {
    let test = "the_program_compiles_and_makes_the_calls";
    let Some(compiler) = seekwell_testing::tool("cc") else {
        return seekwell_testing::skip(test, "needs a C compiler");
    };
    let calls: Vec<Call> = CALLS.split("; ").map(|call| call.trim().parse().unwrap()).collect();
    // The test waits for its end, and others use the same machine.
    let text = program("a case */ of ext4", &calls).replace("pause();", "");
    assert!(text.starts_with("/* a case  of ext4\n"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let (source, built) = (folder.path().join("case.c"), folder.path().join("case"));
    std::fs::write(&source, text).unwrap();
    let arguments = ["-Wall", "-Wextra", "-Werror", "-o"];
    let status = Command::new(compiler).args(arguments).args([&built, &source]).status().unwrap();
    assert!(status.success());
    let output = Command::new(&built).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"cut the power now\n");
    let data = std::fs::read(folder.path().join("new")).unwrap();
    assert_eq!((data.len(), data[511], data[512], data[4096]), (5000, 0, 3, 0));
    assert!(!folder.path().join("B").exists());
}
