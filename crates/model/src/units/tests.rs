use super::*;

#[test]
fn sizes_read_as_fio_writes_them() {
    let cases = [
        ("512", 512),
        ("4k", 4096),
        ("4K", 4096),
        ("4KiB", 4096),
        ("4kB", 4000),
        ("8GiB", 8 << 30),
        ("2TB", 2_000_000_000_000),
        ("1 MiB", 1 << 20),
    ];
    for (text, bytes) in cases {
        assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
    }
}

#[test]
fn nonsense_sizes_are_refused_with_an_example() {
    for text in ["", "GiB", "8 apples", "-1k", "1.5GiB", "99999999999999999999", "16777216TiB"] {
        let error = text.parse::<Bytes>().unwrap_err();
        assert!(error.to_string().contains("8GiB"), "{text}: {error}");
    }
}

#[test]
fn a_size_survives_being_written_and_read() {
    for bytes in [0, 1, 511, 512, 1 << 20, (1 << 30) + 1, 3 << 40] {
        assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
    }
}

#[test]
fn durations_read_and_sum() {
    let cases = [
        ("90s", 90_000_000_000),
        ("2h30min", 9_000_000_000_000),
        ("2 h 30 m", 9_000_000_000_000),
        ("250us", 250_000),
    ];
    for (text, ns) in cases {
        assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
    }
    for text in ["", "90", "min", "5 fortnights", "99999999999999h"] {
        assert!(text.parse::<Nanos>().is_err(), "{text}");
    }
}

#[test]
fn durations_print_for_people() {
    let shown: Vec<String> = [17, 250_000, 4_200_000_000, 200_000_000_000, 7_500_000_000_000]
        .map(|ns| Nanos(ns).to_string())
        .into();
    assert_eq!(shown, ["17 ns", "250 µs", "4.2 s", "3 min 20 s", "2 h 05 min"]);
}
