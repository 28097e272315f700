//! Takes every file of `labs/replicate` into the program, so that adding a study is adding files.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("../../labs/replicate").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            println!("cargo::rerun-if-changed={}", path.display());
            names.push(path);
        }
    }
    names.sort();
    let mut text = String::from("&[\n");
    for path in &names {
        let name = path.file_name().unwrap_or_default().display().to_string();
        text.push_str(&format!("({name:?}, include_str!({:?})),\n", path.display().to_string()));
    }
    text.push_str("]\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("files.rs"), text)
}
