use super::*;

fn page() -> String {
    let time = LoadPicture::Time {
        title: "Throughput".to_owned(),
        step_ns: 1_000_000,
        lines: vec![("read".to_owned(), vec![10.0, 0.0, 5.0]), ("<written>".to_owned(), vec![1.0])],
        unit: Unit::MegabytesPerSecond,
    };
    let places = LoadPicture::Places {
        title: "Places".to_owned(),
        step_ns: 1_000_000,
        step_bytes: 4096,
        accesses: vec![vec![1, 0, 3], vec![], vec![0, 9]],
    };
    let heat = LoadPicture::Heat {
        title: "Sizes and times".to_owned(),
        size: 12,
        duration: 10,
        accesses: vec![vec![2], vec![0, 0, 7]],
    };
    let misses = LoadPicture::Misses {
        title: "Misses".to_owned(),
        points: vec![(4096, 1.0), (8192, 0.5), (16384, 0.25)],
    };
    load_html(&LoadPage {
        title: "trace </h1>".to_owned(),
        sentences: vec!["It waits.".to_owned()],
        text: "length 3 ms".to_owned(),
        pictures: vec![time, places, heat, misses],
    })
}

#[test]
fn a_page_has_each_picture_and_escapes_names() {
    let page = page();
    assert_eq!(page.matches("<svg").count(), 4);
    // Axes aside: two lines of the throughput with their marks, and the misses.
    assert_eq!(page.matches("<polyline").count(), 5);
    assert_eq!(page.matches("<rect").count(), 5);
    // Sizes and durations from and to.
    for end in ["4KiB", "16KiB", "1.02 µs", "8.19 µs"] {
        assert!(page.contains(&format!(">{end}<")), "{end}: {page}");
    }
    assert!(page.contains("&lt;written&gt;") && page.contains("trace &lt;/h1&gt;"));
    assert!(page.contains("10.0 MB/s"), "{page}");
    assert!(page.contains("<p>It waits.</p>") && page.contains("<pre>length 3 ms</pre>"));
}

#[test]
fn pictures_without_data_are_pages_too() {
    let empty = LoadPicture::Time {
        title: "t".to_owned(),
        step_ns: 1,
        lines: Vec::new(),
        unit: Unit::PerSecond,
    };
    let places = LoadPicture::Places {
        title: "p".to_owned(),
        step_ns: 1,
        step_bytes: 1,
        accesses: Vec::new(),
    };
    let heat =
        LoadPicture::Heat { title: "h".to_owned(), size: 0, duration: 0, accesses: Vec::new() };
    let misses = LoadPicture::Misses { title: "m".to_owned(), points: Vec::new() };
    let pictures = vec![empty, places, heat, misses];
    let page = load_html(&LoadPage { pictures, ..LoadPage::default() });
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
}
