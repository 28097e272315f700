use super::*;
use crate::fixture;
use pulldown_cmark::{Event, Options, Parser};

/// Kinds of the events in order, without texts; panics on markup that no report has.
fn structure(markdown: &str) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        let kind = match event {
            Event::Text(_) => "text".to_owned(),
            Event::Start(tag) => match tag {
                pulldown_cmark::Tag::Link { .. } | pulldown_cmark::Tag::Image { .. } => {
                    panic!("a link in {markdown}")
                }
                tag => format!("{:?}", tag.to_end()),
            },
            Event::End(tag) => format!("/{tag:?}"),
            other => panic!("{other:?} in {markdown}"),
        };
        if kind != "text" || kinds.last().is_none_or(|last| last != "text") {
            kinds.push(kind);
        }
    }
    kinds
}

fn hostile(text: &str) -> RunView {
    let text = || text.to_owned();
    let mut view = fixture::winner();
    view.backend = text();
    view.environment = serde_json::json!({ "kernel": text(), "uncontrolled": [text()] });
    (view.plan.lab.name, view.plan.lab.question) = (text(), text());
    view.plan.left_out = fixture::left_out();
    view.plan.left_out[0].what = text();
    view.warnings = fixture::warnings();
    (view.warnings[0].code, view.warnings[0].text) = (text(), text());
    view.plan.stacks[1].label = text();
    view.verdict.stacks = vec![text()];
    view.verdict.baseline = Some(text());
    view.verdict.ratios[0].stack = text();
    for (_, record) in view.records.iter_mut().filter(|(trial, _)| trial.candidate == 1) {
        record.in_force.mkfs = vec![text()];
    }
    view
}

#[test]
fn no_text_from_outside_becomes_markup() {
    let expected = structure(&markdown(&hostile("harmless"), true));
    let corpus = include_str!("../../../../testdata/hostile.json");
    let corpus: Vec<String> = serde_json::from_str(corpus).expect("a list");
    assert!(corpus.len() >= 200);
    for text in corpus {
        let said = markdown(&hostile(&text), true);
        assert_eq!(structure(&said), expected, "{text:?} gives\n{said}");
        assert!(!said.chars().any(|c| c != '\n' && crate::text::is_harmful(c)), "{text:?}");
    }
}

#[test]
fn it_says_what_the_terminal_says() {
    insta::assert_snapshot!(markdown(&fixture::tie(), true));
}

#[test]
fn a_change_request_gets_the_answer_its_picture_and_the_command_that_repeats_it() {
    let mut view = fixture::demo();
    view.environment["options"] = serde_json::json!(["--place", "virtual"]);
    insta::assert_snapshot!(markdown(&view, false));
}
