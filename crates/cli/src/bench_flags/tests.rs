use super::*;
use seekwell_model::workloads::workload_kind;

fn parsed(arguments: &[&str]) -> Result<WorkloadParams, String> {
    let matches = command().try_get_matches_from(arguments).map_err(|error| error.to_string())?;
    let (kind, matches) = matches.subcommand().unwrap();
    params(workload_kind(kind).unwrap(), matches).map_err(|error| error.to_string())
}

#[test]
fn every_field_of_a_kind_is_a_flag_and_the_defaults_hold() {
    command().debug_assert();
    let Ok(WorkloadParams::Io(io)) = parsed(&["bench", "seek", "target"]) else {
        panic!("no seek")
    };
    assert_eq!((io.size, io.threads, io.depth, io.read_percent), (Bytes::kib(4), 1, 1, 100));
    // Unlike in a lab, the whole target is used.
    assert_eq!(io.file_size, None);
}

#[test]
fn values_reach_their_fields() {
    let arguments = [
        "bench", "seek", "target", "--size", "8k", "--count", "1_000", "--threads", "3", "--depth",
        "16", "--engine", "io_uring", "--mix", "70", "--cache", "warm", "--rate", "500",
        "--file-size", "1GiB",
    ];
    let Ok(WorkloadParams::Io(io)) = parsed(&arguments) else { panic!("no seek") };
    assert_eq!((io.size, io.count, io.threads, io.depth), (Bytes::kib(8), Some(1000), 3, 16));
    assert_eq!((io.read_percent, io.rate, io.file_size), (70, Some(500), Some(Bytes::gib(1))));
}

#[test]
fn mistakes_name_the_flag_and_what_to_write() {
    let cases: [(&[&str], &str); 4] = [
        (&["--size", "100"], "--size: '100' is not between 512B and 64MiB"),
        (&["--threads", "many"], "--threads: 'many' is not a whole number from 1 to 1024"),
        (&["--time", "5 fortnights"], "--time: '5 fortnights' is not a duration"),
        (&["--depth", "4"], "--depth: depth 4 with the psync engine"),
    ];
    for (flags, expected) in cases {
        let mut arguments = vec!["bench", "seek", "target"];
        arguments.extend(flags);
        let message = parsed(&arguments).unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
}
