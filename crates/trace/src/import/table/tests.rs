use super::*;
use crate::read::Trace;

/// The requests and the description of the trace of `text`.
fn imported(kind: Table, text: &str) -> (Vec<Request>, Meta, Imported) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input"), folder.path().join("trace"));
    std::fs::write(&input, text).unwrap();
    let counts = table(kind, &input, &output).unwrap();
    let trace = Trace::open(&output).unwrap();
    let mut requests = Vec::new();
    let keep = |request| {
        requests.push(request);
        Ok(())
    };
    trace.requests(keep).unwrap();
    (requests, trace.meta().clone(), counts)
}

fn request(start_ns: u64, device: u32, operation: Operation, sector: u64, bytes: u64) -> Request {
    Request {
        start_ns,
        duration_ns: None,
        process: None,
        device,
        operation,
        flags: RequestFlags::default(),
        sector,
        bytes,
        depth: None,
    }
}

#[test]
fn msr_counts_in_windows_time_and_knows_response_times() {
    let (requests, meta, counts) = imported(
        Table::Msr,
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
         128166372003061629,usr,0,Read,7014609920,24576,41286\n\
         128166372002869395,usr,1,Write,512,4096,100\n\
         broken,usr,1,Write,512,4096,100\n",
    );
    let read = request(19_223_400, 1, Operation::Read, 7_014_609_920 / 512, 24_576);
    let write = request(0, 2, Operation::Write, 1, 4096);
    assert_eq!(
        requests,
        [
            Request { duration_ns: Some(4_128_600), ..read },
            Request { duration_ns: Some(10_000), ..write },
        ]
    );
    // 2007-02-22 17:00:00.286939500 UTC.
    assert_eq!(meta.started_unix_ns, Some(1_172_163_600_286_939_500));
    assert_eq!(meta.duration_ns, Some(19_223_400 + 4_128_600));
    assert!(meta.gaps.iter().any(|gap| gap.ends_with("0:1 = usr.0, 0:2 = usr.1")), "{meta:?}");
    assert_eq!(counts, Imported { events: 2, other: 1, damaged: 1 });
}

#[test]
fn the_others_have_units_of_their_own() {
    let (requests, meta, _) = imported(
        Table::Alibaba,
        "419,W,8792731648,16384,1577808144360767\n725,R,4096,512,1577808144360768\n",
    );
    let expected = [
        request(0, 1, Operation::Write, 8_792_731_648 / 512, 16_384),
        request(1_000, 2, Operation::Read, 8, 512),
    ];
    assert_eq!(requests, expected);
    assert_eq!(meta.started_unix_ns, Some(1_577_808_144_360_767_000));

    let (requests, ..) = imported(Table::Tencent, "1538323200,12910952,128,0,1063\n");
    assert_eq!(requests, [request(0, 1, Operation::Read, 12_910_952, 128 * 512)]);

    let text = "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,extra\n";
    let (requests, meta, _) = imported(Table::Spc, text);
    let expected = [
        request(0, 1, Operation::Write, 303_567, 3584),
        request(26_214_000, 2, Operation::Read, 55_590, 3072),
    ];
    assert_eq!(requests, expected);
    assert_eq!(meta.started_unix_ns, None);

    let (requests, ..) = imported(Table::Mqsim, "4587200 0 2048 16 1\n4587300 0 8 8 0\n");
    let expected =
        [request(0, 1, Operation::Read, 2048, 8192), request(100, 1, Operation::Write, 8, 4096)];
    assert_eq!(requests, expected);
}

#[test]
fn a_file_without_a_row_is_refused_with_the_form_of_rows_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input"), folder.path().join("trace"));
    for text in ["", "0,303567,3584,w,0.000000\n", "\u{feff}a\n\n\n"] {
        std::fs::write(&input, text).unwrap();
        let error = table(Table::Alibaba, &input, &output).unwrap_err().to_string();
        assert!(
            error.ends_with("no row of alibaba; expected device_id,opcode,offset,length,timestamp"),
            "{error}"
        );
        assert!(!output.exists());
    }
}

#[test]
fn numbers_that_do_not_fit_and_lines_without_end_are_damage() {
    let long = "9".repeat(200_000);
    let (requests, _, counts) = imported(
        Table::Tencent,
        &format!(
            "1,2,3,0,v\n18446744073709551615,2,3,0,v\n1,2,18446744073709551615,0,v\n-1,2,3,0,v\n\
             {long}\n5,2,3,1,v"
        ),
    );
    assert_eq!(requests.len(), 2);
    assert_eq!(counts, Imported { events: 2, other: 0, damaged: 4 });
}

#[test]
fn systor_and_fiu_are_read() {
    let (requests, meta, counts) = imported(
        Table::Systor,
        "Timestamp,Response,IOType,LUN,Offset,Size\n\
         1455592200.000081000,0.000123,R,0,1234567168,4096\n\
         1455592200.1,,W,1,4096,8192\n",
    );
    let read = request(0, 1, Operation::Read, 1_234_567_168 / 512, 4096);
    let expected = [
        Request { duration_ns: Some(123_000), ..read },
        request(99_919_000, 2, Operation::Write, 8, 8192),
    ];
    assert_eq!(requests, expected);
    assert_eq!(meta.started_unix_ns, Some(1_455_592_200_000_081_000));
    assert_eq!(counts, Imported { events: 2, other: 1, damaged: 0 });

    let (requests, meta, counts) = imported(
        Table::Fiu,
        "329131208190249 4892 syslogd 904265560 8 W 6 0 531e779\n\
         329131208190300 7 two words 16 16 R 6 1 abc\n\
         329131208190300 7 16 16 R 6 1 abc\n",
    );
    let expected = [
        Request { process: Some(4892), ..request(0, 1, Operation::Write, 904_265_560, 4096) },
        Request { process: Some(7), ..request(51, 2, Operation::Read, 16, 8192) },
    ];
    assert_eq!(requests, expected);
    assert!(meta.gaps.iter().any(|gap| gap.ends_with("0:1 = 6.0, 0:2 = 6.1")), "{meta:?}");
    assert_eq!(counts, Imported { events: 2, other: 0, damaged: 1 });
}
