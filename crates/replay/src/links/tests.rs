use super::{text, to_own_directory};

#[test]
fn a_text_leads_from_the_directory_of_the_link() {
    assert_eq!(text("/a/l", "/a/h1", 2), "h1");
    assert_eq!(text("/a/b/l", "/a/h1", 5), "../h1");
    assert_eq!(text("/l", "/a/b/c", 5), "a/b/c");
    assert_eq!(text("/a/l", "/a", 1), ".");
    assert_eq!(text("/a/b/l", "/", 5), "../..");
}

#[test]
fn a_text_is_as_long_as_the_recorded_one() {
    for bytes in 4..100 {
        for target in ["/a/h1", "/x/y", "/a/b/c/d"] {
            let text = text("/a/l", target, bytes);
            if bytes as usize >= 6 {
                assert_eq!(text.len() as u64, bytes, "{text}");
            }
            assert!(!text.starts_with('/'), "{text}");
        }
    }
    // One byte is missing that no spelling of a single name has.
    assert_eq!(text("/a/l", "/a/h1", 3), "h1");
    assert_eq!(text("/a/l", "/a/h1", 5), ".//h1");
    assert_eq!(text("/a/b/l", "/x", 3), "../../x");
}

#[test]
fn a_text_of_an_unknown_target_leads_nowhere_else() {
    let texts = [0, 1, 2, 5].map(to_own_directory);
    assert_eq!(texts, [".", ".", "./", "././."]);
    assert_eq!(to_own_directory(u64::MAX).len(), 4095);
}
