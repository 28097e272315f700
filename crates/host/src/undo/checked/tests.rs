use super::*;

#[test]
fn names_of_check_directories_are_recognised() {
    let digits = "0123456789abcdef0123456789abcdef";
    assert!(is_check(Path::new(&format!("/srv/{PREFIX}{digits}"))));
    for other in ["/srv", "/srv/.seekwell-check-", "/srv/.seekwell-check-0123/etc", "/"] {
        assert!(!is_check(Path::new(other)), "{other}");
    }
}
