use std::io::{Seek, Write};

use seekwell_device::Lba;

use super::*;

/// A record as the kernel writes it.
fn record(number: u32, kind: u32, is_whole: u32, names: &str) -> Vec<u8> {
    let size = HEAD as u32 + names.len() as u32;
    let mut bytes: Vec<u8> =
        [size, number, kind, is_whole].iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(7_u64.to_le_bytes());
    bytes.extend(names.bytes());
    bytes
}

fn written(bytes: &[u8]) -> io::Result<Origins> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    read(file)
}

fn origin(kind: OriginKind, path: &str) -> Origin {
    Origin { kind, path: path.to_owned() }
}

#[test]
fn records_of_the_kernel_become_origins_with_their_paths() {
    let all = [
        record(1, 1, 1, "m17\0cur\0mail\0"),
        record(2, 3, 0, ""),
        record(3, 1, 0, "deep\0er\0"),
        record(4, 9, 1, ""),
    ];
    let origins = written(&all.concat()).unwrap();
    let expected = [
        (1, origin(OriginKind::Data, "mail/cur/m17")),
        (2, origin(OriginKind::Journal, "")),
        (3, origin(OriginKind::Data, "\u{2026}/er/deep")),
        (4, origin(OriginKind::Unknown, "")),
    ];
    assert_eq!(origins, Origins::from(expected));
    assert!(written(&[255; HEAD]).is_err());
}

#[test]
fn requests_of_the_step_have_their_origins_and_the_rest_is_unknown() {
    let event = |submit_ns, operation, disk, number| Event {
        disk,
        operation,
        lba: Lba(8),
        sectors: 8,
        submit_ns,
        complete_ns: submit_ns + 5,
        status: 0,
        data: 0,
        origin: number,
    };
    let events = [
        event(99, Operation::Write, 0, 1),
        event(100, Operation::Write, 0, 1),
        event(110, Operation::Flush, 0, 0),
        event(120, Operation::Read, 0, 2),
        event(130, Operation::Write, 1, 1),
        event(151, Operation::Write, 0, 1),
    ];
    let step = Step {
        begin_ns: 100,
        elapsed_ns: 50,
        devices: vec![1000, 100],
        only: vec![None, Some(OriginKind::Journal)],
    };
    let found = step.of(&events, &Origins::from([(1, origin(OriginKind::Data, "a"))]));
    let said: Vec<(u64, u64, bool, &Origin)> = found
        .requests
        .iter()
        .map(|one| (one.at_ns, one.took_ns, one.writes, &found.origins[one.origin as usize]))
        .collect();
    let [data, flush, unknown, journal] = [
        origin(OriginKind::Data, "a"),
        origin(OriginKind::Flush, ""),
        origin(OriginKind::Unknown, ""),
        origin(OriginKind::Journal, ""),
    ];
    assert_eq!(
        said,
        [
            (0, 5, true, &data),
            (10, 5, false, &flush),
            (20, 5, false, &unknown),
            (30, 5, true, &journal)
        ]
    );
}
