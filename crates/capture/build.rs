//! Compiles the eBPF programs with clang. Without a clang that knows the target the object is
//! empty, and `capture` says so when it is called.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "bpf/capture.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let object = out.join("capture.bpf.o");
    let versions = (11..=22).rev().map(|version| format!("clang-{version}"));
    let names = std::iter::once("clang".to_owned()).chain(versions);
    let compiled = names.into_iter().any(|clang| compile(&clang, &object));
    if !compiled {
        // Looks again when a program was installed.
        println!("cargo:rerun-if-changed=/usr/bin");
        println!(
            "cargo:warning=clang with the bpf target not found: this build has no `seekwell capture`"
        );
        if let Err(error) = std::fs::write(&object, b"") {
            println!("cargo:warning=cannot write {}: {error}", object.display());
        }
    }
}

fn compile(clang: &str, object: &Path) -> bool {
    let arguments = ["-target", "bpf", "-mcpu=v3", "-O2", "-Wall", "-Wextra", "-Werror", "-c"];
    let mut command = Command::new(clang);
    command.args(arguments).arg(SOURCE).arg("-o").arg(object);
    match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            text.lines().take(5).for_each(|line| println!("cargo:warning={clang}: {line}"));
            false
        }
        Err(_) => false,
    }
}
