use super::*;
use seekwell_model::origin::OriginKind::{Data, Flush, Journal, Metadata, Unknown};

/// Kind, path, first sector in MiB and length in sectors of writes that follow each other each millisecond.
fn step(requests: &[(OriginKind, &str, u64, u32)]) -> TracedStep {
    let origin = |(kind, path, ..): &(OriginKind, &str, u64, u32)| Origin {
        kind: *kind,
        path: (*path).to_owned(),
    };
    let request =
        |(at, (kind, _, mib, sectors)): (usize, &(OriginKind, &str, u64, u32))| TracedRequest {
            at_ns: at as u64 * 1_000_000,
            took_ns: 500_000,
            device: 0,
            writes: *kind != Flush,
            sector: mib << 11,
            sectors: *sectors,
            origin: at as u32,
        };
    TracedStep {
        elapsed_ns: 1_000_000_000,
        devices: vec![1 << 21],
        origins: requests.iter().map(origin).collect(),
        requests: requests.iter().enumerate().map(request).collect(),
    }
}

#[test]
fn requests_are_grouped_by_directory_and_flushes_by_the_write_before() {
    let found = traffic(&step(&[
        (Data, "mail/a", 100, 8),
        (Data, "mail/b", 100, 8),
        (Data, "base.db", 200, 16),
        (Data, "", 200, 8),
        (Journal, "", 500, 8),
        (Flush, "", 0, 0),
        (Metadata, "mail", 10, 8),
        (Flush, "", 0, 0),
        (Unknown, "", 0, 8),
    ]));
    let said: Vec<(OriginKind, &str, u64, u64, u64)> = found
        .groups
        .iter()
        .map(|one| (one.kind, one.name.as_str(), one.requests, one.written_bytes, one.place >> 20))
        .collect();
    assert_eq!(
        said,
        [
            (Journal, "", 1, 4096, 500),
            (Metadata, "", 1, 4096, 10),
            (Data, "mail/", 2, 8192, 100),
            (Data, "", 1, 4096, 200),
            (Data, "base.db", 1, 8192, 200),
            (Flush, "after journal", 1, 0, 0),
            (Flush, "after metadata", 1, 0, 0),
            (Unknown, "", 1, 4096, 0),
        ]
    );
    assert_eq!(found.known(), 8.0 / 9.0);
}

#[test]
fn the_way_between_journal_and_data_is_counted_in_both_directions() {
    let commit = [(Data, "a", 100, 8), (Journal, "", 600, 8), (Flush, "", 0, 0)];
    let found = traffic(&step(&commit.repeat(3)));
    let length = (500 << 20) - 4096;
    // Back from the journal it is two requests longer.
    let mean = (3 * length + 2 * (length + 2 * 4096)) / 5;
    assert_eq!(found.ways, [Way { ends: [0, 1], count: 5, mean_bytes: mean }]);
    // Neighbours are at one place.
    assert_eq!(traffic(&step(&[(Data, "a", 100, 8), (Journal, "", 101, 8)])).ways, []);
}

#[test]
fn the_picture_joins_what_continues_and_thins_what_is_too_much() {
    let mut requests = vec![(Data, "a", 0, 2048), (Data, "a", 1, 2048), (Journal, "", 2, 8)];
    let found = traffic(&step(&requests));
    let joined = Drawn { at_us: 0, took_us: 1500, place: 0, kib: 2048, group: 1 };
    let journal = Drawn { at_us: 2000, took_us: 500, place: 19, kib: 4, group: 0 };
    assert_eq!(found.drawn().collect::<Vec<_>>(), [joined, journal]);
    assert_eq!(found.drawn_every, 1);
    requests = (0..4 * MAX_DRAWN as u64).map(|at| (Data, "a", at % 7, 8)).collect();
    let found = traffic(&step(&requests));
    assert_eq!((found.drawn_every, found.drawn().count()), (4, MAX_DRAWN));
}
