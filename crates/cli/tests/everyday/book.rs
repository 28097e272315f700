//! The book hangs together: every page is in the summary, every link leads somewhere, every command
//! and lab that it names exists.

use super::{data, seekwell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Markdown files below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(pages(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            all.push(path);
        }
    }
    all
}

/// Targets of `[text](target)` outside of code blocks.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        let mut rest = line;
        while let Some(at) = rest.find("](").filter(|_| !code) {
            rest = &rest[at + 2..];
            let Some(end) = rest.find(')') else { break };
            links.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    links
}

#[test]
fn every_link_of_the_book_and_of_the_readme_leads_somewhere() {
    let mut files = pages(&root().join("docs"));
    files.push(root().join("README.md"));
    let mut broken = Vec::new();
    for file in &files {
        for link in links(&std::fs::read_to_string(file).unwrap()) {
            let target = link.split('#').next().unwrap();
            let elsewhere = link.contains("://");
            if !elsewhere && !target.is_empty() && !file.parent().unwrap().join(target).exists() {
                broken.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_of_the_how_to_is_in_the_summary() {
    let docs = root().join("docs");
    let summary: BTreeSet<String> =
        links(&std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap()).into_iter().collect();
    for page in pages(&docs.join("how-to")) {
        let name = page.strip_prefix(&docs).unwrap().display().to_string();
        assert!(summary.contains(&name), "{name} is not in docs/SUMMARY.md");
    }
    assert!(summary.contains("tutorial.md") && summary.contains("command-reference.md"));
}

/// The last column of each table names a kept run; for other questions there are labs.
#[test]
fn every_answer_names_a_run_or_a_lab_that_exists() {
    let page = std::fs::read_to_string(root().join("docs/answers.md")).unwrap();
    let mut seen = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let shown_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for path in shown_by.split('`').skip(1).step_by(2) {
            assert!(root().join("benches/runs").join(path).exists(), "{row}");
            seen += 1;
        }
    }
    for lab in page.split('`').filter(|code| code.starts_with("labs/")) {
        assert!(root().join(lab).exists(), "{lab}");
        seen += 1;
    }
    assert!(seen >= 26, "only {seen} runs and labs were found");
}

/// A line of a code block that calls the program is one that it understands: its command exists and
/// so do its flags.
#[test]
fn every_command_line_of_the_book_exists() {
    let directory = tempfile::tempdir().unwrap();
    let mut files = pages(&root().join("docs/how-to"));
    let pages = ["docs/tutorial.md", "docs/too-close.md", "docs/reading.md", "README.md"];
    files.extend(pages.map(|page| root().join(page)));
    let mut seen = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut code = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("```") {
                code = !code;
                continue;
            }
            let call = line.strip_prefix("sudo ").unwrap_or(line);
            let Some(call) = call.strip_prefix("seekwell ").filter(|_| code) else { continue };
            let call = call.split(" #").next().unwrap();
            let mut words = call.split_whitespace();
            let command = words.next().unwrap();
            let mut asked = vec!["help", command];
            if ["bench", "kernel", "trace", "device", "file"].contains(&command) {
                asked.extend(words.clone().next());
            }
            let output = seekwell(directory.path()).args(&asked).output().unwrap();
            assert!(output.status.success(), "{}: {line}", file.display());
            let help = data(&output);
            for flag in words.filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().unwrap();
                assert!(help.contains(flag), "{}: {flag} of: {line}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen >= 15, "only {seen} command lines were found");
}

/// Names of functions of this project's source.
fn functions(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, names);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
            names.extend(named.map(str::to_owned));
        }
    }
}

#[test]
fn every_test_that_the_figures_of_reliability_name_exists() {
    let folder = root().join("benches/runs/reliability");
    let text: String = ["figures.csv", "deaths.csv", "situations.csv", "mutants.csv"]
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .concat();
    let mut known = BTreeSet::new();
    functions(&root().join("crates"), &mut known);
    let is_test = |word: &&str| {
        word.matches('_').count() >= 3
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
    };
    let named: BTreeSet<&str> = text.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() >= 30, "{named:?}");
    for name in named {
        assert!(known.contains(name), "{} names {name}, which does not exist", folder.display());
    }
}
