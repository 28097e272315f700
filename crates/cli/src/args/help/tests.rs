use super::*;

/// Paths of all commands that are not hidden.
fn paths() -> Vec<Vec<String>> {
    fn below(command: &Command, path: &[String], all: &mut Vec<Vec<String>>) {
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = [path, &[one.get_name().to_owned()]].concat();
            below(one, &path, all);
            all.push(path);
        }
    }
    let mut all = vec![vec![]];
    below(&command(), &[], &mut all);
    all
}

fn shown(all: Command, path: &[String], width: usize) -> String {
    let words = ["seekwell".to_owned()].into_iter().chain(path.iter().cloned());
    let asked = all.term_width(width).try_get_matches_from(words.chain(["--help".to_owned()]));
    asked.unwrap_err().to_string()
}

/// Lines of a text that are too long and have a place to break.
fn wide(text: &str, width: usize) -> Option<&str> {
    text.lines().find(|line| line.chars().count() > width && line.trim().contains(' '))
}

#[test]
fn the_help_of_the_program_fits_a_screen_and_has_every_command_in_a_group() {
    let text = shown(command(), &[], 80);
    assert!(text.lines().count() <= 23, "{}\n{text}", text.lines().count());
    assert_eq!(wide(&text, 80), None);
    let all = command();
    let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    assert!(listed.len() <= 18, "{}", listed.len());
    for command in all.get_subcommands().filter(|one| !one.is_hide_set()) {
        let name = command.get_name();
        assert!(listed.contains(&name) || name == "completions", "{name} is in no group");
    }
    for name in listed {
        let about = all.find_subcommand(name).and_then(Command::get_about).unwrap().to_string();
        assert!(text.contains(&format!("{name:<8} {about}\n")), "{name}\n{text}");
    }
}

#[test]
fn every_help_has_at_most_40_lines_and_fits_80_100_and_120_columns() {
    let mut wrong = Vec::new();
    for path in paths() {
        for width in [80, 100, 120] {
            let text = shown(command(), &path, width);
            let lines = text.lines().count();
            if let Some(wide) = wide(&text, width) {
                wrong.push(format!("{path:?} has in {width} columns: {wide}"));
            }
            if lines > 40 {
                wrong.push(format!("{path:?} has in {width} columns {lines} lines:\n{text}"));
            }
        }
        if let Some(wide) = wide(&whole(&path).to_string(), 120) {
            wrong.push(format!("{path:?} has: {wide}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_whole_help_has_every_option_and_the_short_one_says_so() {
    let run = ["run".to_owned()];
    let (short, whole) = (shown(command(), &run, 80), whole(&run).to_string());
    assert!(short.contains("more options: seekwell help run"), "{short}");
    for option in ["--bring", "--cpu"] {
        assert!(whole.contains(option) && !short.contains(option), "{option}\n{short}\n{whole}");
    }
    for option in ["--resume", "--output", "--device", "--json"] {
        assert!(short.contains(option), "{option}\n{short}");
    }
    assert!(super::whole(&["nonsense".to_owned()]).to_string().contains("nonsense"));
}

/// Commands that moved keep their old names, because scripts use them.
#[test]
fn commands_that_moved_are_understood_by_both_names() {
    for (old, new, rest) in [
        ("verify", "file verify", "a.seekwell"),
        ("repair", "file repair", "a.seekwell"),
        ("extract", "file extract", "a.html"),
        ("merge", "file merge", "a b -o c"),
        ("probe", "device probe", "/dev/sdb"),
        ("replicate", "device replicate", "--quick"),
        ("calibrate", "kernel calibrate", "--layers"),
        ("cuts", "kernel cuts", "--fs ext4,xfs --options nobarrier"),
    ] {
        for name in [old, new] {
            let line = format!("seekwell {name} {rest}");
            let parsed = command().try_get_matches_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
        let all = command();
        assert!(all.find_subcommand(old).unwrap().is_hide_set(), "{old} is listed");
    }
}

#[test]
fn prose_is_one_line_and_lists_stay() {
    let text = "Examples:\n  a  b\n  c\n\none\ntwo\n\nthree\n    four\nfive";
    assert_eq!(flowing(text), "Examples:\n  a  b\n  c\n\none two\n\nthree\n    four\nfive");
}
