//! Files that a program needs to run: its interpreter, and the libraries that its loader would
//! find.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};

#[cfg(test)]
mod tests;

/// Interpreter and libraries named by a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Loader or script interpreter.
    pub interpreter: Option<PathBuf>,
    /// Names of libraries.
    pub libraries: Vec<String>,
    /// Directories in which the program wants them looked for, before the system's.
    pub search: Vec<PathBuf>,
}

/// Reads what a program of this machine needs; a file that is no program needs nothing.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidData`] for an ELF file that cannot be read.
pub fn needs(path: &Path, bytes: &[u8]) -> io::Result<Needs> {
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let text = String::from_utf8_lossy(line);
        let interpreter = text.split_ascii_whitespace().next().map(PathBuf::from);
        return Ok(Needs { interpreter, ..Needs::default() });
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(Needs::default());
    }
    elf_needs(path, bytes).map_err(|error| {
        let message = format!("{} is not a program on this machine: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn elf_needs(path: &Path, bytes: &[u8]) -> Result<Needs, object::Error> {
    let file: ElfFile64<'_, Endianness> = ElfFile64::parse(bytes)?;
    let endian = file.endian();
    let mut found = Needs::default();
    for header in file.elf_header().program_headers(endian, bytes)? {
        let interpreter = header.interpreter(endian, bytes)?;
        found.interpreter = found.interpreter.or(interpreter.map(|name| PathBuf::from(text(name))));
    }
    let origin = path.parent().unwrap_or(Path::new("/"));
    let table = file.elf_dynamic_table()?;
    for entry in &table {
        let value = || table.string(entry).map(text);
        match entry.tag {
            DT_NEEDED => found.libraries.push(value()?),
            DT_RPATH | DT_RUNPATH => {
                found.search.extend(value()?.split(':').map(|part| expand(part, origin)));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `$ORIGIN` is the directory of the program.
fn expand(part: &str, origin: &Path) -> PathBuf {
    let origin = origin.display().to_string();
    PathBuf::from(part.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
}

/// The directories in which this machine's loader looks for libraries: those of its configuration,
/// then those built into it.
#[must_use]
pub fn system_directories() -> Vec<PathBuf> {
    let mut directories = Vec::new();
    read_configuration(Path::new("/etc/ld.so.conf"), &mut directories, 0);
    let built_in = [
        "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
        "/usr/lib",
    ];
    directories.extend(built_in.map(PathBuf::from));
    directories
}

/// Configurations that include one another are followed so deep.
const DEEPEST_INCLUDE: u32 = 4;

fn read_configuration(path: &Path, directories: &mut Vec<PathBuf>, depth: u32) {
    let Ok(text) = fs::read_to_string(path) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include") {
            Some(pattern) if depth < DEEPEST_INCLUDE => {
                let pattern = Path::new(pattern.trim());
                for included in included(pattern) {
                    read_configuration(&included, directories, depth + 1);
                }
            }
            Some(_) => {}
            None if line.starts_with('/') => directories.push(PathBuf::from(line)),
            None => {}
        }
    }
}

/// Files of an include line; only its last part may be a pattern, of the form `*.conf`.
fn included(pattern: &Path) -> Vec<PathBuf> {
    let directory = pattern.parent().unwrap_or(Path::new("/"));
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some(suffix) = name.strip_prefix('*') else { return vec![pattern.to_path_buf()] };
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        names.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    files.sort();
    files
}

/// The first file of that name in the directories.
#[must_use]
pub fn find_library(name: &str, search: &[PathBuf], system: &[PathBuf]) -> Option<PathBuf> {
    let directories = search.iter().chain(system);
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}
