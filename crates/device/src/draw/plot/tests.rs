use super::{plot, table};
use crate::amount::bytes;

#[test]
fn a_plot_starts_at_zero_and_labels_both_ends() {
    let points: Vec<(f64, f64)> = (0..=10).map(|x| (f64::from(x), f64::from(x * x))).collect();
    let text = plot("squares", &points, "x", "MB/s");
    insta::assert_snapshot!(text, @r"

    squares
          100 MB/s  |                                                             *
                    |
         81.8       |                                                       *
                    |
                    |                                                 *
         54.5       |
                    |                                           *
                    |                                     *
         27.3       |                               *
                    |                        *
                    |                  *
            0       |*     *     *
                    +--------------------------------------------------------------
                     0                             x                             10
    ");
}

#[test]
fn plots_without_height_or_width_are_still_drawn() {
    assert_eq!(plot("none", &[], "x", ""), "");
    let flat = plot("flat", &[(3.0, 0.0), (3.0, 0.0)], "x", "");
    assert_eq!(flat.matches('*').count(), 1);
}

#[test]
fn tables_are_aligned_to_the_right() {
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let text = table("sizes", &[row(&["size", "ms"]), row(&["4 KiB", "0.123"]), row(&["µ", "10"])]);
    assert_eq!(text, "\nsizes\n   size     ms\n  4 KiB  0.123\n      µ     10\n");
}

#[test]
fn sizes_are_written_in_the_largest_unit() {
    let found = [512, 1024, 1536, 8 << 30, 80_026_361_856].map(bytes);
    assert_eq!(found, ["512 B", "1 KiB", "1.5 KiB", "8 GiB", "74.5 GiB"]);
}
