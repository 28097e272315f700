use super::*;

#[test]
fn numbers_keep_three_digits_and_commas_between_thousands() {
    for (value, text) in [
        (0.0, "0"),
        (524_801.0, "525,000"),
        (1_234_567.0, "1,230,000"),
        (1482.6, "1,480"),
        (999.6, "1,000"),
        (117.0, "117"),
        (83.59, "83.6"),
        (2.0, "2.00"),
        (0.05054, "0.0505"),
        (-0.1167, "-0.117"),
        (-1234.0, "-1,230"),
    ] {
        assert_eq!(three_digits(value), text, "{value}");
    }
}
