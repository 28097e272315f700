//! Parts of documents that the program prints, so that no figure of a kept run can drift.
//!
//! In any Markdown file of [`FOLDERS`]:
//!
//! ```text
//! <!-- printed: report benches/runs/replicate/004-mail-quick.seekwell; 24 lines -->
//! <!-- end -->
//! ```
//!
//! is filled with what `seekwell report …` prints, fenced as text. `24 lines` keeps the first paragraphs that fit into
//! 24 lines; `markdown` leaves out the fence. [`PAGES`] are printed as a whole.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

#[cfg(test)]
mod tests;

/// Files and folders with documents.
const FOLDERS: [&str; 3] = ["README.md", "docs", "devices"];

/// Pages in `docs` that the program writes itself, and the arguments before `--markdown PAGE`.
const PAGES: [(&str, &[&str]); 1] = [(
    "replications.md",
    &["replicate", "--kept", "--ranges", "--output", "benches/runs/replicate"],
)];

const START: &str = "<!-- printed: ";
const START_END: &str = " -->";
const END: &str = "<!-- end -->";

/// Prints documents.
pub struct Printer<'a> {
    /// Root of the tree.
    pub root: &'a Path,
    /// Empty folder for pages.
    pub scratch: &'a Path,
    /// The program, without arguments.
    pub program: &'a dyn Fn() -> Command,
}

impl Printer<'_> {
    /// Returns every document that is printed in part or whole: its path from the root, and its text today.
    ///
    /// # Errors
    /// The faulty block or file, or the program's failure.
    pub fn documents(&self) -> Result<Vec<(PathBuf, String)>, String> {
        let mut documents = Vec::new();
        for path in self.markdown()? {
            let text = read(&self.root.join(&path))?;
            if PAGES.iter().any(|(name, _)| page(name.as_ref()) == path) {
                continue;
            }
            if text.lines().any(|line| line.starts_with(START)) {
                let filled = filled(&text, &|arguments| self.run(arguments));
                let wrong = |problem| format!("{}: {problem}", path.display());
                documents.push((path.clone(), filled.map_err(wrong)?));
            }
        }
        for (name, arguments) in PAGES {
            let scratch = self.scratch.join(name).display().to_string();
            self.run(&[arguments, &["--markdown", &scratch]].concat())?;
        }
        // A page brings its pictures and tables along.
        for entry in entries(self.scratch)? {
            let name = entry.file_name().unwrap_or_default();
            documents.push((page(name), read(&entry)?));
        }
        documents.sort();
        Ok(documents)
    }

    fn markdown(&self) -> Result<Vec<PathBuf>, String> {
        let mut open: Vec<PathBuf> = FOLDERS.map(|name| self.root.join(name)).to_vec();
        let mut found = Vec::new();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(entries(&path)?);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.strip_prefix(self.root).unwrap_or(&path).to_owned());
            }
        }
        Ok(found)
    }

    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = (self.program)();
        command.current_dir(self.root).args(arguments);
        command.env("NO_COLOR", "1").env("TERM", "dumb").env_remove("COLUMNS");
        let ran = command.output().map_err(|error| format!("cannot run the program: {error}"))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(format!("seekwell {}: {}", arguments.join(" "), said.trim()));
        }
        String::from_utf8(ran.stdout)
            .map_err(|_| format!("seekwell {} prints no text", arguments.join(" ")))
    }
}

/// Path of a page, or of a picture or table that belongs to it.
fn page(name: &OsStr) -> PathBuf {
    Path::new("docs").join(name)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(wrong)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(wrong)).collect()
}

/// The text with each block filled by what `run` prints for its arguments.
fn filled(text: &str, run: &dyn Fn(&[&str]) -> Result<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(asked) = line.strip_prefix(START) else { continue };
        let number = number + 1;
        let Some(asked) = asked.strip_suffix(START_END) else {
            return Err(format!("line {number}: a block begins without `{START_END}`"));
        };
        if !lines.any(|(_, line)| line == END) {
            return Err(format!("line {number}: a block without `{END}`"));
        }
        let printed = block(asked, run).map_err(|problem| format!("line {number}: {problem}"))?;
        out.push_str(&printed);
        out.push_str(END);
        out.push('\n');
    }
    Ok(out)
}

fn block(asked: &str, run: &dyn Fn(&[&str]) -> Result<String, String>) -> Result<String, String> {
    let mut parts = asked.split("; ");
    let arguments: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
    let (mut most, mut fence) = (usize::MAX, true);
    for part in parts {
        match part.strip_suffix(" lines").map(str::parse) {
            Some(Ok(lines)) => most = lines,
            _ if part == "markdown" => fence = false,
            _ => return Err(format!("unknown `{part}`; use `N lines` or `markdown`")),
        }
    }
    let printed = run(&arguments)?;
    let printed = first_paragraphs(printed.trim_end(), most);
    Ok(if fence { format!("```text\n{printed}\n```\n") } else { format!("{printed}\n") })
}

/// Returns the first paragraphs that fit into `most` lines; a longer first one is cut there.
fn first_paragraphs(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= most {
        return text.to_owned();
    }
    let blank = (1..=most).rev().find(|end| lines[*end].trim().is_empty());
    lines[..blank.unwrap_or(most)].join("\n").trim_end().to_owned()
}
