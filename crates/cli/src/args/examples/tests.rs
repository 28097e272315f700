use crate::args::command;

/// Commands that somebody types, those of `bench` with its name before theirs.
fn typed() -> Vec<String> {
    let mut names = vec!["seekwell".to_owned()];
    for one in command().get_subcommands().filter(|one| !one.is_hide_set()) {
        names.push(one.get_name().to_owned());
        if one.get_name() == "bench" {
            names.extend(one.get_subcommands().map(|kind| format!("bench {}", kind.get_name())));
        }
    }
    names.retain(|name| !name.ends_with("help"));
    names
}

#[test]
fn every_command_has_examples() {
    let without: Vec<String> =
        typed().into_iter().filter(|name| super::of(name).is_none()).collect();
    assert_eq!(without, Vec::<String>::new());
}

/// An example that its own program does not take would be worse than none.
#[test]
fn every_example_is_a_command_line_that_is_taken() {
    let mut seen = 0;
    for (_, text) in super::entries() {
        // A backslash continues a command in the next line.
        let text: String = text.split("\\\n").map(str::trim_start).collect();
        for line in text.lines().filter_map(|line| line.strip_prefix("  ")) {
            let line = line.strip_prefix("sudo ").unwrap_or(line);
            if !line.starts_with("seekwell ") {
                continue;
            }
            let typed = line.split("  ").next().unwrap_or(line);
            let typed = typed.split(['|', '>']).next().unwrap_or(typed);
            let parsed = command().try_get_matches_from(typed.split_whitespace());
            assert!(parsed.is_ok(), "{line}\n{}", parsed.unwrap_err());
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn every_line_of_a_list_fits_80_columns() {
    let lines = super::entries().flat_map(|(_, text)| text.lines());
    let wide: Vec<&str> =
        lines.filter(|line| line.starts_with(' ') && line.chars().count() > 80).collect();
    assert_eq!(wide, Vec::<&str>::new());
}
