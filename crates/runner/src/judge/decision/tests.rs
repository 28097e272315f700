use super::*;

#[test]
fn numbers_have_three_digits() {
    let said = [0.01234, 0.5, 1.0, 1.234, 12.34, 123.4, 1234.5].map(three);
    assert_eq!(said, ["0.0123", "0.500", "1.00", "1.23", "12.3", "123", "1234"]);
    assert_eq!(three(f64::INFINITY), "unknown");
}

#[test]
fn lists_read_as_people_say_them() {
    let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    assert_eq!(list(&names[..1]), "a");
    assert_eq!(list(&names[..3]), "a, b or c");
    assert_eq!(list(&names), "a, b, c, d or 2 others");
}
