use super::*;
use crate::kernel::{KernelSet, KernelSource};

#[test]
fn an_option_that_did_not_take_is_found() {
    let wanted = "# a comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x\"\n";
    let config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x\"\n";
    assert_eq!(missing_option(wanted, config), None);
    assert_eq!(missing_option(wanted, "CONFIG_A=y\nCONFIG_C=\"x\"\n"), None, "unknown is off too");
    let switched_on = "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=\"x\"\n";
    assert_eq!(missing_option(wanted, switched_on).unwrap(), "# CONFIG_B is not set");
    assert_eq!(missing_option(wanted, "CONFIG_C=\"x\"\n").unwrap(), "CONFIG_A=y");
}

#[test]
fn only_lines_of_the_compiler_count() {
    assert!(is_compilation("  CC      fs/ext4/inode.o"));
    assert!(is_compilation("  AS      arch/x86/lib/memcpy_64.o"));
    assert!(!is_compilation("  LD      vmlinux"));
    assert!(!is_compilation(""));
}

/// A tree whose `make` does as little as the test needs.
fn fake_tree(makefile: &str) -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    std::fs::write(top.path().join("Makefile"), makefile).unwrap();
    top
}

#[test]
fn a_step_that_fails_shows_the_end_of_its_log() {
    let top = fake_tree("all:\n\t@echo first; echo reason >&2; false\n");
    let log = top.path().join("log");
    File::create(&log).unwrap();
    let make = Make { tree: top.path(), log: &log };
    let mut heard = Vec::new();
    let error = make.run(&["all"], &mut |line| heard.push(line.to_owned())).unwrap_err();
    assert_eq!(heard, ["first"]);
    let KernelError::Step { step, end, .. } = error else { panic!("{error}") };
    assert_eq!(step, "make all");
    assert!(end.contains("reason") && end.contains("first"), "{end}");
}

#[test]
fn a_build_knows_nothing_of_this_machine() {
    let top = fake_tree("all:\n\t@/usr/bin/env\n");
    let log = top.path().join("log");
    File::create(&log).unwrap();
    let mut lines = Vec::new();
    Make { tree: top.path(), log: &log }
        .run(&["all"], &mut |line| lines.push(line.to_owned()))
        .unwrap();
    let has = |wanted: &str| lines.iter().any(|line| line == wanted);
    assert!(has("KBUILD_BUILD_HOST=seekwell") && has("LC_ALL=C") && has("TZ=UTC"));
    assert!(!lines.iter().any(|line| line.starts_with("HOME=") || line.starts_with("USER=")));
}

#[test]
fn a_patch_that_does_not_fit_is_named() {
    let top = tempfile::tempdir().unwrap();
    std::fs::write(top.path().join("file"), "one\n").unwrap();
    let text = "why\n\n--- a/file\n+++ b/file\n@@ -1 +1 @@\n-one\n+two\n";
    let patch = Patch { name: "0001-x.patch", text };
    apply(&patch, top.path()).unwrap();
    assert_eq!(std::fs::read_to_string(top.path().join("file")).unwrap(), "two\n");
    let error = apply(&patch, top.path()).unwrap_err();
    assert!(matches!(error, KernelError::Patch { name: "0001-x.patch", .. }), "{error}");
}

#[test]
fn patches_come_before_the_configuration_and_that_before_the_compiler() {
    let top = tempfile::tempdir().unwrap();
    let plan = KernelPlan {
        source: KernelSource::Directory(top.path().into()),
        set: KernelSet::Reduced,
        jobs: 1,
    };
    let mut steps = Vec::new();
    let log = top.path().join("log");
    let error = compile(&plan, top.path(), &log, &mut |step| steps.push(step)).unwrap_err();
    assert_eq!(steps, [Progress::Patching]);
    assert!(matches!(error, KernelError::Patch { .. }), "{error}");
}
