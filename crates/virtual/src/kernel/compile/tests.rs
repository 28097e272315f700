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
    let said = error.to_string();
    assert!(said.starts_with("make all failed; see "), "{said}");
    assert!(said.contains("reason") && said.contains("first"), "{said}");
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
    assert!(error.to_string().starts_with("the patch 0001-x.patch does not apply"), "{error}");
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
    assert!(error.to_string().starts_with("the patch "), "{error}");
}

/// A source with the headers that every file of a kernel gets, and with those that many include.
fn source_with_headers() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    write_compiler(top.path()).unwrap();
    let write = |name: &str, text: &str| {
        let path = top.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for name in ["compiler-version", "kconfig", "compiler_types"] {
        write(&format!("include/linux/{name}.h"), "");
    }
    // Refuses to be read twice, as that of a kernel does.
    let once = "#ifdef READ\n#error twice\n#endif\n#define READ\n";
    write("include/linux/compiler-version.h", once);
    for line in recipe::COMPILER[1].1.lines().filter(|line| line.starts_with("#include")) {
        let name = line.trim_start_matches("#include <").trim_end_matches('>');
        write(&format!("include/{name}"), "#pragma once\n");
    }
    let header = "#pragma once\n#ifdef WIDE\n#define WIDTH \"wide\"\n#else\n#define WIDTH \"narrow\"\n#endif\n\
                  #define NAMED KBUILD_MODNAME\n#define pr_fmt(text) text\n";
    write("include/linux/fs.h", header);
    write(
        "fs/a.c",
        "#include <linux/fs.h>\nconst char *width = WIDTH;\nconst char *name = NAMED;\n",
    );
    write("fs/b.c", "#define WIDE\n#include <linux/fs.h>\nconst char *width = WIDTH;\n");
    write(
        "fs/c.c",
        "#define pr_fmt(text) \"c\" text\n#include <linux/fs.h>\nconst char *name = pr_fmt(\"!\");\n",
    );
    write("fs/d.c", "struct super_block;\nint slow = sizeof(READ_NOWHERE);\n");
    write("mm/e.c", "#include <linux/fs.h>\nconst char *width = WIDTH;\n");
    write("arch/f.c", "int other;\n");
    top
}

/// Compiles a file as the build of a kernel does, and returns what the object holds, or the compiler's words.
fn compile_file(top: &Path, source: &str, more: &[&str]) -> Result<String, String> {
    let object = source.replace(".c", ".o");
    let includes = ["compiler-version", "kconfig", "compiler_types"]
        .map(|name| ["-include".to_owned(), format!("./include/linux/{name}.h")]);
    let output = Command::new("./seekwell-headers/gcc")
        .current_dir(top)
        .args([&format!("-Wp,-MMD,{object}.d"), "-I./include"])
        .args(includes.as_flattened())
        .args(["-O2", "-DKBUILD_MODNAME=\"one\"", "-D__KBUILD_MODNAME=kmod_one"])
        .args(more)
        .args(["-c", "-o", &object, source])
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let object = std::fs::read(top.join(object)).unwrap();
    Ok(String::from_utf8_lossy(&object).into_owned())
}

#[test]
fn common_headers_are_compiled_once_and_change_no_file() {
    if Command::new("gcc").arg("--version").output().is_err() {
        return seekwell_testing::skip("common_headers_are_compiled_once", "gcc is not installed");
    }
    let top = source_with_headers();
    let a = compile_file(top.path(), "fs/a.c", &[]).unwrap();
    assert!(a.contains("one\0") && a.contains("narrow\0"));
    assert!(top.path().join("seekwell-headers/common.h.gch").is_file());
    let b = compile_file(top.path(), "fs/b.c", &[]).unwrap();
    assert!(b.contains("wide\0"), "by a macro before the header");
    assert!(compile_file(top.path(), "fs/c.c", &[]).unwrap().contains("c!\0"));
    let error = compile_file(top.path(), "fs/d.c", &[]).unwrap_err();
    assert!(error.contains("READ_NOWHERE"), "{error}");
    // A macro of the command line that the header asks for.
    assert!(compile_file(top.path(), "mm/e.c", &["-DWIDE"]).unwrap().contains("wide\0"));
    compile_file(top.path(), "arch/f.c", &[]).unwrap();
    let log = std::fs::read_to_string(top.path().join("seekwell-headers/log")).unwrap();
    let expected = "common fs/a.c\nplain fs/b.c\ncommon fs/c.c\nplain fs/d.c\nplain mm/e.c\n";
    assert_eq!(log, expected);
    for object in ["fs/a.o", "fs/c.o"] {
        let depends = std::fs::read_to_string(top.path().join(format!("{object}.d"))).unwrap();
        let files = depends.split_whitespace().skip(1).filter(|word| *word != "\\");
        for file in files {
            assert!(top.path().join(file).exists(), "the build reads {file}");
        }
    }
}
