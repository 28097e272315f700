use super::{Figure, document, errors, lines, rows, three_digits, warning};
use crate::load;
use seekwell_model::model_error::{ModelErrors, RequestClass};

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
         flush after 3 random writes: 0.5 ms, model 0.500 (+0 %): c\n  \
         2 check the model, which meets 1 of them within 10 %; 1 chose numbers of the file\n"
    );
    let found = rows(&file);
    assert_eq!(
        warning(&file, &found).unwrap(),
        "the model fixed misses 1 of 3 published figures by more than 10 %, most of all \"random writes, depth 1\": \
         4000 /s, model 5000 /s; what a workload gains or loses there is as uncertain"
    );
    assert_eq!(warning(&file, &found[..1]), None);
    let text = document([(&file, found)].into_iter());
    assert!(
        text.contains(
            "| fixed | random writes, depth 1 | 4000 /s | 5000 /s | +25 % | **off** | b |"
        )
    );
    assert!(text.contains("\n| fixed | 1 | 2 | 1 |\n"), "{text}");
}

#[test]
fn the_error_of_a_class_is_that_of_its_worst_figure() {
    let published = |figure: &str, value: u32, rest: &str| {
        format!("[[published]]\nfigure = \"{figure}\"\nvalue = {value}\nsource = \"s\"\n{rest}\n")
    };
    let figures = [
        published("random-reads", 12_500, ""),
        published("random-reads", 11_000, ""),
        published("random-writes", 5000, ""),
        published("read-latency", 1, "percentile = 99.0"),
        published("flush", 1, ""),
        published("random-reads", 4545, "bytes = 65536"),
    ];
    let errors = errors(&rows(&load(&fixed(&figures.concat())).unwrap()));
    let factor = |class| (errors[&class].factor * 1000.0).round() / 1000.0;
    assert_eq!(factor(RequestClass::SmallReads), 1.25);
    assert_eq!(
        errors[&RequestClass::SmallReads].figure,
        "random reads, depth 1: 12500 /s, model 10000 /s"
    );
    assert_eq!(factor(RequestClass::SmallWrites), 1.0);
    assert_eq!(factor(RequestClass::SlowestReads), 10.0);
    assert_eq!(factor(RequestClass::Flushes), 2.0);
    assert_eq!(factor(RequestClass::LargeReads), 1.0);
    assert!(!errors.contains_key(&RequestClass::LargeWrites));
}

/// A number that was chosen by a figure agrees with it, and says nothing about the model.
#[test]
fn a_figure_that_calibrates_checks_nothing() {
    let calibrating = |value: u32| {
        let figure = "[[published]]\nfigure = \"random-reads\"\nsource = \"s\"\ncalibrates = true";
        errors(&rows(&load(&fixed(&format!("{figure}\nvalue = {value}\n"))).unwrap()))
    };
    assert_eq!(calibrating(10_000), ModelErrors::new());
    // One that the model misses although it was chosen by it is known.
    assert!(calibrating(20_000)[&RequestClass::SmallReads].factor > 1.9);
    let figure = "[[published]]\nfigure = \"random-reads\"\nsource = \"s\"\ncalibrates = true\nvalue = 10000\n";
    let said = lines(&load(&fixed(figure)).unwrap());
    assert!(
        said.ends_with("\n  no figure checks the model: all of them chose numbers of the file\n"),
        "{said}"
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
    assert!(warning(&file, &[]).unwrap().contains("no published figures"));
    assert!(document([(&file, vec![])].into_iter()).ends_with("\nNo published figure: fixed.\n"));
}

#[test]
fn numbers_have_three_digits() {
    let shown = [0.0123, 1.234, 98.76, 143.2, 98_765.4].map(three_digits);
    assert_eq!(shown, ["0.0123", "1.23", "98.8", "143", "98765"]);
}

#[test]
fn figures_are_compared_under_the_load_they_name() {
    let file = load(&fixed(
        "[[published]]\nfigure = \"read-latency\"\npercentile = 99\nvalue = 0.1\nsource = \"a\"\n\
         [[published]]\nfigure = \"random-reads\"\nbytes = 512\ndepth = 2\nvalue = 20000\nsource = \"a\"\n\
         [[published]]\nfigure = \"synced-writes\"\nvalue = 1428.57\nsource = \"a\"\n\
         [[published]]\nfigure = \"read-start\"\nbytes = 65536\ndepth = 4\nvalue = 512\nsource = \"a\"\n\
         [[published]]\nfigure = \"writes-in-turn\"\nplaces = 2\nvalue = 20.5\nsource = \"a\"\n\
         [[published]]\nfigure = \"write-after-cache\"\nvalue = 1\nsource = \"a\"",
    ))
    .unwrap();
    let found: Vec<(String, f64)> =
        rows(&file).iter().map(|row| (row.published.name(), row.modelled)).collect();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    // A device without a cache of faster cells has no rate behind it.
    assert_eq!(
        names,
        [
            "random read, percentile 99",
            "random reads of 512 B, depth 2",
            "random writes with a flush each",
            "sequential read of 64 KiB, start, depth 4",
            "writes to 2 units in turn"
        ]
    );
    // 92 us, and 1 us for each sector; 192 us and 500 us for a flush.
    let expected = [0.1, 2.0 / 93e-6, 1.0 / 700e-6, 512.0, 4096.0 / 200.0];
    for ((name, modelled), expected) in found.iter().zip(expected) {
        assert!((modelled / expected - 1.0).abs() < 0.01, "{name}: {modelled}, not {expected}");
    }
}

#[test]
fn a_figure_of_a_bus_that_is_not_there_is_refused() {
    let text =
        fixed("[[published]]\nfigure = \"read-start\"\nbus = \"usb9\"\nvalue = 1\nsource = \"a\"");
    assert_eq!(load(&text).unwrap_err().key(), Some("published.0.bus"));
    let odd =
        fixed("[[published]]\nfigure = \"read-start\"\nbytes = 700\nvalue = 1\nsource = \"a\"");
    assert_eq!(load(&odd).unwrap_err().key(), Some("published.0.bytes"));
}

#[test]
fn figures_of_credits_and_of_cells_need_a_device_that_has_them() {
    let figure = |name: &str, value: u32| {
        format!("[[published]]\nfigure = \"{name}\"\ndepth = 4\nvalue = {value}\nsource = \"a\"\n")
    };
    let both = figure("random-reads", 4000) + &figure("random-reads-without-credits", 500);
    // Credits for more than the load is long, and the rate behind them.
    let limit = "[fixed.limit]\nper_second = 500\nburst_per_second = 4000\ncredits = 100000\nunit_kib = 4\n";
    let volume = load(&fixed(&(limit.to_owned() + &both))).unwrap();
    let found: Vec<f64> = rows(&volume).iter().map(|row| row.modelled.round()).collect();
    assert_eq!(found, [4000.0, 500.0]);
    let plain = load(&fixed(&(both + &figure("write-amplification", 2)))).unwrap();
    let found: Vec<Figure> = rows(&plain).iter().map(|row| row.published.figure).collect();
    assert_eq!(found, [Figure::RandomReads]);
}
