use super::*;
use seekwell_session::Case;

#[test]
fn a_search_says_what_it_excludes_and_how_to_repeat_what_it_found() {
    let mut found =
        FoundCuts { space: 5000, cuts: 300, lost: 0, first: None, case: None, keeps_all: false };
    let said = "ext4: nothing synced was lost in 300 power cuts, so at most 1 in 100 loses some, with 95 % (5000 sequences in all)";
    assert_eq!(text("ext4", &found), said);
    found.space = 300;
    assert!(!text("ext4", &found).contains("1 in"), "all were tried");
    found.keeps_all = true;
    assert!(text("ext4", &found).contains("no volatile cache"));
    let words = |text: &str| text.to_owned();
    found.case = Some(Case {
        text: words("A/foo is missing"),
        calls: words("creat A/foo; fsync A/foo"),
        is_minimal: true,
        program: words("int main"),
        lab: words("[lab]"),
    });
    (found.lost, found.first) = (2, Some(17));
    let said = text("ext4", &found);
    for part in [
        "2 of 300",
        "first was number 17",
        "smallest case: creat A/foo; fsync A/foo",
        "missing",
        "int main",
        "[lab]",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}
