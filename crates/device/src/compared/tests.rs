use super::*;
use crate::file::{load, with_comparison};

/// A device file with comments, as people have them.
const MINE: &str = include_str!("../../../../devices/fixed.toml");

fn compared(lowest: f64, highest: f64, best: &str) -> Compared {
    Compared {
        lab: "mail".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        stacks: 3,
        lowest,
        median: 1.0,
        highest,
        predicted_best: "xfs".to_owned(),
        best: best.to_owned(),
    }
}

#[test]
fn a_file_keeps_its_comparisons_and_everything_else() {
    let one = with_comparison(MINE, &compared(0.97, 1.04, "xfs")).unwrap();
    assert!(one.starts_with(MINE.trim_end()));
    let two = with_comparison(&one, &compared(0.8, 1.04, "ext4")).unwrap();
    let file = load(&two).unwrap();
    assert_eq!(file.compared(), [compared(0.97, 1.04, "xfs"), compared(0.8, 1.04, "ext4")]);
    assert_eq!(file.values(), load(MINE).unwrap().values());
    assert_eq!(
        lines(file.compared()),
        "\nPredictions and the device itself\n  \
         lab mail, unpack.elapsed_durable: the device had 1.00 times the prediction (0.97 to 1.04, 3 stacks); xfs was \
         predicted to be the best and is\n  \
         ! lab mail, unpack.elapsed_durable: the device had 1.00 times the prediction (0.80 to 1.04, 3 stacks); xfs was \
         predicted to be the best, ext4 is\n"
    );
    assert_eq!(
        warning(file.name(), file.compared()).unwrap(),
        "an earlier prediction of the model fixed was off: lab mail, unpack.elapsed_durable: the device had 1.00 times the \
         prediction (0.80 to 1.04, 3 stacks); xfs was predicted to be the best, ext4 is"
    );
}

#[test]
fn near_predictions_and_none_warn_of_nothing() {
    let file = load(&with_comparison(MINE, &compared(0.97, 1.04, "xfs")).unwrap()).unwrap();
    assert_eq!(warning(file.name(), file.compared()), None);
    let none = load(MINE).unwrap();
    assert_eq!(
        (warning(none.name(), none.compared()), lines(none.compared())),
        (None, String::new())
    );
}

#[test]
fn a_ratio_that_cannot_be_is_refused() {
    let error = with_comparison(MINE, &compared(0.0, 1.0, "xfs")).unwrap_err().to_string();
    assert!(error.ends_with("compared.0.lowest = 0: must be a ratio above 0"), "{error}");
    assert!(with_comparison("name = 3", &compared(1.0, 1.0, "xfs")).is_err());
}
