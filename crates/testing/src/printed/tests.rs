use super::*;

fn echo(arguments: &[&str]) -> Result<String, String> {
    match arguments {
        ["fail"] => Err("it failed".to_owned()),
        _ => Ok(format!("{}\n\none\ntwo\n\nthree\n", arguments.join("+"))),
    }
}

#[test]
fn a_block_is_filled_again_and_what_is_around_it_stays() {
    let text = "# A\n<!-- printed: report a.seekwell -->\nold\n<!-- end -->\nafter\n";
    let wanted = "# A\n<!-- printed: report a.seekwell -->\n```text\nreport+a.seekwell\n\none\ntwo\n\nthree\n```\n<!-- end -->\nafter\n";
    assert_eq!(filled(text, &echo).unwrap(), wanted);
    assert_eq!(filled(wanted, &echo).unwrap(), wanted, "filled twice");
    assert_eq!(filled("no block\n", &echo).unwrap(), "no block\n");
}

#[test]
fn a_block_is_cut_between_paragraphs() {
    let of = |clauses: &str| {
        filled(&format!("<!-- printed: x{clauses} -->\n<!-- end -->\n"), &echo)
            .map(|text| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>())
    };
    let whole = ["```text", "x", "", "one", "two", "", "three", "```", END];
    assert_eq!(of("; 6 lines").unwrap(), whole);
    assert_eq!(of("; 5 lines").unwrap(), ["```text", "x", "", "one", "two", "```", END]);
    assert_eq!(of("; 3 lines").unwrap(), ["```text", "x", "```", END]);
    assert_eq!(of("; markdown; 1 lines").unwrap(), ["x", END]);
    let error = of("; odd").unwrap_err();
    assert_eq!(error, "line 1: unknown `odd`; use `N lines` or `markdown`");
}

#[test]
fn a_block_that_is_wrong_is_named_by_its_line() {
    let of = |text: &str| filled(text, &echo).unwrap_err();
    assert_eq!(of("a\n<!-- printed: x -->\n"), "line 2: a block without `<!-- end -->`");
    assert_eq!(of("<!-- printed: x\n<!-- end -->\n"), "line 1: a block begins without ` -->`");
    assert_eq!(of("<!-- printed: fail -->\n<!-- end -->\n"), "line 1: it failed");
}

#[test]
fn documents_are_found_below_their_folders_and_a_program_that_fails_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (root, scratch) = (folder.path().join("root"), folder.path().join("scratch"));
    for name in ["docs/how-to", "devices"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    std::fs::create_dir(&scratch).unwrap();
    std::fs::write(root.join("README.md"), "no block\n").unwrap();
    let block = "<!-- printed: %s -->\n<!-- end -->\n";
    std::fs::write(root.join("docs/how-to/one.md"), block).unwrap();
    let printer = |program: &'static str| Printer {
        root: &root,
        scratch: &scratch,
        program: match program {
            "printf" => &|| Command::new("printf"),
            _ => &|| Command::new("false"),
        },
    };
    let filled = "<!-- printed: %s -->\n```text\n\n```\n<!-- end -->\n".to_owned();
    let found = printer("printf").documents().unwrap();
    assert_eq!(found, [(PathBuf::from("docs/how-to/one.md"), filled)]);
    let error = printer("false").documents().unwrap_err();
    assert!(error.starts_with("docs/how-to/one.md: line 1: seekwell %s: "), "{error}");
}
