//! The files of a checkout: what git tracks or would track, so that build output and ignored files
//! stay out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

#[cfg(test)]
mod tests;

/// Folders without source, skipped where there is no git to ask.
const OUTPUT_FOLDERS: [&str; 3] = [".git", "target", "node_modules"];

/// All text files of a tree, by their path from the root, with `/` between the parts.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads every text file below `root`; files that are not UTF-8 are left out.
    ///
    /// # Errors
    ///
    /// When git fails in a checkout, or a file cannot be read.
    pub fn read(root: &Path) -> Result<Self> {
        let paths = if root.join(".git").exists() { tracked(root)? } else { walk(root, "")? };
        let mut files = BTreeMap::new();
        for path in paths {
            let whole = root.join(&path);
            // A file deleted but not yet committed is still listed; a link has its text elsewhere.
            if !whole.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
                continue;
            }
            let bytes = fs::read(&whole).with_context(|| format!("cannot read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.insert(path, text);
            }
        }
        Ok(Self { files })
    }

    /// Path and text of every file, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file, if it is there.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

impl FromIterator<(String, String)> for Tree {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(files: T) -> Self {
        Self { files: files.into_iter().collect() }
    }
}

fn tracked(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot run git to list the files of the checkout")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let listed = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(String::from).collect())
}

fn walk(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let entries = fs::read_dir(root.join(folder))
        .with_context(|| format!("cannot list {}", root.join(folder).display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file name is not UTF-8")?;
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if !OUTPUT_FOLDERS.contains(&name.as_str()) {
            paths.extend(walk(root, &path)?);
        }
    }
    Ok(paths)
}
