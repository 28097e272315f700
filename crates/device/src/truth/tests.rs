use super::{Figure, document, lines, rows, three_digits};
use crate::load;

fn fixed(published: &str) -> String {
    format!(
        "name = \"fixed\"\ntitle = \"t\"\nkind = \"fixed\"\n[presented]\nsectors = 2097152\nqueue_depth = 4\n\
         max_request_kib = 128\n[fixed]\nread_latency_us = 92\nwrite_latency_us = 192\nflush_latency_us = 500\n\
         mb_per_s = 512\nparallel = 4\n{published}\n[sources]\npresented = \"t\"\nfixed = \"t\"\n"
    )
}

#[test]
fn figures_stand_beside_what_the_model_does() {
    // 8 us for 4 KiB on the link beside the latency: 10,000 reads and 5,000 writes a second.
    let file = load(&fixed(
        "[[published]]\nfigure = \"random-reads\"\nvalue = 10000\nsource = \"a\"\ncalibrates = true\n\
         [[published]]\nfigure = \"random-writes\"\nvalue = 4000\nsource = \"b\"\n\
         [[published]]\nfigure = \"flush\"\ndirty = 3\nvalue = 0.5\nsource = \"c\"",
    ))
    .unwrap();
    let found: Vec<(Figure, f64, bool)> =
        rows(&file).iter().map(|row| (row.published.figure, row.modelled, row.is_off())).collect();
    assert_eq!(found[0], (Figure::RandomReads, 10_000.0, false));
    assert_eq!(found[1], (Figure::RandomWrites, 5000.0, true));
    assert_eq!(found[2], (Figure::Flush, 0.5, false));
    assert_eq!(
        lines(&file),
        "\nPublished figures and the model\n  \
         random reads, depth 1: 10000 /s, model 10000 (+0 %) (used to choose the file's numbers): a\n  \
         random writes, depth 1: 4000 /s, model 5000 (+25 %)  ! off by more than 10 %: b\n  \
         flush after 3 random writes: 0.5 ms, model 0.500 (+0 %): c\n"
    );
    let text = document([file].iter());
    assert!(
        text.contains(
            "| fixed | random writes, depth 1 | 4000 /s | 5000 /s | +25 % | **off** | b |"
        )
    );
}

#[test]
fn a_figure_without_a_source_is_refused() {
    let text = fixed("[[published]]\nfigure = \"read-start\"\nvalue = 1\nsource = \" \"");
    assert_eq!(load(&text).unwrap_err().key(), Some("published.0.source"));
}

#[test]
fn a_device_without_figures_says_nothing() {
    let file = load(&fixed("")).unwrap();
    assert_eq!(lines(&file), "");
    assert!(document([file].iter()).ends_with("\nNo published figure: fixed.\n"));
}

#[test]
fn numbers_have_three_digits() {
    let shown = [0.0123, 1.234, 98.76, 143.2, 98_765.4].map(three_digits);
    assert_eq!(shown, ["0.0123", "1.23", "98.8", "143", "98765"]);
}
