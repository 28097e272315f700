use super::*;
use crate::fixture;
use crate::html::{PageTrials, page};
use crate::view::RunView;

/// The card in the page of a run.
fn card(view: &RunView) -> String {
    let trials = PageTrials::for_page(true).with(view);
    let page = page(view, &trials, "demo.seekwell", crate::Inside::Nothing, None).text(&[]);
    let begin = "<meta property=\"og:image\" content=\"data:image/svg+xml;base64,";
    let rest = &page[page.find(begin).expect("the card") + begin.len()..];
    let bytes = STANDARD.decode(&rest[..rest.find('"').expect("an end")]).expect("base64");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn the_card_has_the_answer_and_the_foremost_stacks() {
    let card = card(&fixture::demo());
    assert!(
        card.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"630\"")
    );
    for text in [
        "<tspan fill=\"#1658a5\">ext4</tspan>",
        "11 % slower than the best",
        "btrfs is out",
        ">xfs/bfq<",
        ">354 ms<",
        ">btrfs/bfq<",
    ] {
        assert!(card.contains(text), "{text}: {card}");
    }
    assert!(card.len() < 9_000, "{} bytes", card.len());
}

#[test]
fn a_long_text_ends_with_an_ellipsis_and_changes_no_markup() {
    let mut view = fixture::demo();
    view.plan.lab.question = format!("</text><script>{}", "long & <b>".repeat(500));
    let card = card(&view);
    assert!(card.contains("&lt;/text&gt;&lt;script&gt;") && card.contains('…'));
    assert!(!card.contains("<script") && card.len() < 9_000);
}

#[test]
fn words_are_wrapped_and_keep_their_roles() {
    let spans =
        [("Pick ", Role::Plain), ("ext4 long", Role::Pick), (": it is the best", Role::Plain)];
    let spans: Vec<Span> = spans.map(|(text, role)| Span { text: text.to_owned(), role }).to_vec();
    let lines: Vec<String> = wrapped(&spans, 12.0, 2).iter().map(|line| joined(line)).collect();
    assert_eq!(lines, ["Pick ext4 ", "long: it is…"]);
    assert_eq!(wrapped(&spans, 12.0, 2)[0][1].role, Role::Pick);
}
