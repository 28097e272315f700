//! What is made from the definitions of the arguments is complete and committed.

use super::{data, seekwell, talk};
use std::path::Path;
use std::process::Command;

/// Visible commands, as the program's own help lists them: after the group, in a column of their own.
fn commands() -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let help = data(&seekwell(directory.path()).arg("--help").output().unwrap());
    let listed = help.lines().skip(2).take_while(|line| !line.is_empty());
    let word = |line: &str| line.get(12..)?.split(' ').next().map(str::to_owned);
    let mut all: Vec<String> = listed.filter_map(word).collect();
    all.push("completions".to_owned());
    all
}

#[test]
fn every_command_opens_its_help_with_examples() {
    let directory = tempfile::tempdir().unwrap();
    let all = commands();
    for name in ["run", "watch", "compare", "init", "bench"] {
        assert!(all.iter().any(|one| one == name), "{name} is missing in {all:?}");
    }
    for name in &[
        "doctor", "init", "plan", "run", "report", "watch", "compare", "claim", "release", "bench",
        "completions",
    ] {
        let help = data(&seekwell(directory.path()).args([*name, "--help"]).output().unwrap());
        if *name == "bench" {
            // Its own list of the kinds of workloads comes first.
            assert!(help.contains("Examples:") && help.contains("seekwell bench seek"), "{help}");
            continue;
        }
        let examples = help.find("Examples:").unwrap_or_else(|| panic!("{name}:\n{help}"));
        assert!(examples < help.find("Usage:").unwrap(), "{name}:\n{help}");
        let own = format!("seekwell {name}");
        assert!(help.contains(&own), "{help}");
    }
}

#[test]
fn the_command_reference_is_what_the_definitions_say() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path()).args(["documents", "--reference"]).output().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command-reference.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        data(&output) == committed,
        "docs/command-reference.md is out of date: cargo xtask docs"
    );
    for name in commands() {
        assert!(committed.contains(&format!("`seekwell {name}`")), "{name} is missing");
    }
}

#[test]
fn man_pages_and_completions_are_written_below_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path()).args(["documents", "share"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let share = directory.path().join("share");
    for name in commands() {
        let page = std::fs::read_to_string(share.join(format!("man/man1/seekwell-{name}.1")));
        assert!(page.unwrap().contains(".SH NAME"), "{name}");
    }
    let main = std::fs::read_to_string(share.join("man/man1/seekwell.1")).unwrap();
    assert!(main.contains("Examples:"), "{main}");
    for (path, word) in [
        ("bash-completion/completions/seekwell", "complete -F _seekwell"),
        ("zsh/site-functions/_seekwell", "#compdef seekwell"),
        ("fish/vendor_completions.d/seekwell.fish", "complete -c seekwell"),
    ] {
        let text = std::fs::read_to_string(share.join(path)).unwrap();
        assert!(text.contains(word), "{path}");
        assert!(!text.contains("guardian"), "{path} offers a hidden command");
    }
    check_with_bash(&share.join("bash-completion/completions/seekwell"));
}

/// The shell itself completes `seekwell com`.
fn check_with_bash(completions: &Path) {
    let Some(bash) = seekwell_testing::tool("bash") else {
        return seekwell_testing::skip("check_with_bash", "bash is not installed");
    };
    let script = "source \"$1\"; COMP_WORDS=(seekwell com); COMP_CWORD=1; \
                  _seekwell seekwell com seekwell; echo \"${COMPREPLY[@]}\"";
    let output = Command::new(bash).args(["-c", script, "bash"]).arg(completions).output().unwrap();
    assert_eq!(data(&output).trim(), "compare completions", "{}", talk(&output));
}
