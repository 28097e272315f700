//! What the program says of itself.

use super::{data, seekwell, talk};

#[test]
fn help_opens_with_the_question_and_says_how_to_start() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path()).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = data(&output);
    assert!(
        text.contains("workload fastest?") && text.contains("seekwell plan labs/demo.toml"),
        "{text}"
    );
}

#[test]
fn no_arguments_is_a_usage_error_that_says_how_to_start() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("seekwell run labs/demo.toml"), "{}", talk(&output));
}

#[test]
fn doctor_says_what_this_machine_can_measure_and_prints_data_only_on_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path()).arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let text = data(&output);
    for word in ["ext4", "jfs", "loop", "layers", "crypt", "NFS", "programs", "lab kernel"] {
        assert!(text.contains(word), "doctor does not speak of {word}:\n{text}");
    }
    let first = text.lines().next().unwrap();
    for word in ["Can run here: demo ", ", virtual backend ", ", capture "] {
        assert!(first.contains(word), "{first}");
    }
    assert!(text.lines().count() <= 41, "{text}");
}

#[test]
fn an_unknown_option_is_no_value_and_a_key_of_the_lab_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let said = |option: &str| {
        let output = seekwell(directory.path()).args(["run", option, "5min"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        talk(&output)
    };
    let budget = said("--budget");
    assert!(budget.contains("tip: `budget` belongs to [judge] in a lab file"), "{budget}");
    assert!(!budget.contains("-- --budget"), "{budget}");
    assert!(said("--modle").contains("a similar argument exists: '--model'"));
}

#[test]
fn a_plan_whose_images_do_not_fit_says_so_and_fails() {
    let directory = tempfile::tempdir().unwrap();
    let lab = "[[device]]\nname = \"d\"\nloop = \"100TiB\"\n[[filesystem]]\ntype = \"ext4\"\n[[workload]]\nkind = \"mail\"\nfiles = 10\n";
    std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
    let output = seekwell(directory.path()).args(["plan", "lab.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
    assert!(talk(&output).contains("an image of 100TiB does not fit"), "{}", talk(&output));
    assert!(data(&output).contains("trials"), "{}", data(&output));
}

#[test]
fn a_plan_touches_nothing_and_names_trials_time_and_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let lab = "[[device]]\nname = \"d\"\nram = { size = \"64MiB\" }\n[[filesystem]]\ntype = \"ext4\"\n[[workload]]\nkind = \"mail\"\nfiles = 10\n";
    std::fs::write(directory.path().join("lab.toml"), lab).unwrap();
    let output = seekwell(directory.path()).args(["plan", "lab.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let text = data(&output);
    for word in ["trials", "round", "written"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn bench_takes_the_flags_of_the_catalogue_and_speaks_json() {
    let directory = tempfile::tempdir().unwrap();
    let mut content = vec![0_u8; 4 << 20];
    for (position, byte) in content.iter_mut().enumerate() {
        *byte = (position % 251) as u8;
    }
    std::fs::write(directory.path().join("target"), content).unwrap();
    let output = seekwell(directory.path())
        .args([
            "bench", "seek", "target", "--size", "4k", "--count", "100", "--cache", "warm",
            "--json",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["workload"], "seek");
    assert_eq!(result["steps"][0]["ops"], 100);
    assert!(result["steps"][0]["latency_ns"]["p99"].as_u64().unwrap() > 0);
}

#[test]
fn bench_never_writes_to_a_file_that_seekwell_did_not_make() {
    let directory = tempfile::tempdir().unwrap();
    let before = vec![7_u8; 1 << 20];
    std::fs::write(directory.path().join("precious"), &before).unwrap();
    let output = seekwell(directory.path())
        .args(["bench", "seek", "precious", "--write", "--count", "10"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", talk(&output));
    assert_eq!(std::fs::read(directory.path().join("precious")).unwrap(), before);
}

#[test]
fn bench_flags_that_do_not_fit_are_usage_errors_that_name_the_flag() {
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["--size", "100"], "--size"),
        (&["--depth", "8"], "--depth"),
        (&["--threads", "0"], "--threads"),
        (&["--write", "--mix", "50"], "--mix"),
    ];
    for (flags, named) in cases {
        let output =
            seekwell(directory.path()).args(["bench", "seek", "t"]).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", talk(&output));
        assert!(talk(&output).contains(named), "{flags:?}: {}", talk(&output));
    }
}

/// An option that holds nowhere would seem to hold.
#[test]
fn options_of_the_other_place_are_usage_errors() {
    let directory = tempfile::tempdir().unwrap();
    let lab = "[lab]\nname = \"x\"\nquestion = \"?\"\n[[device]]\nname = \"d\"\nram = \"64MiB\"\n\
               [[filesystem]]\ntype = \"ext4\"\n[[workload]]\nkind = \"mail\"\n\
               [judge]\nmetric = \"unpack.elapsed\"\n";
    std::fs::write(directory.path().join("x.toml"), lab).unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["run", "x.toml", "--jobs", "2"], "--jobs needs --place virtual"),
        (&["run", "x.toml", "--check"], "--check needs --place virtual"),
        (&["plan", "x.toml", "--model", "ram"], "--model needs --place virtual"),
        (&["plan", "x.toml", "--set", "ram:bus=1"], "--set needs --place virtual"),
        (
            &["plan", "x.toml", "--place", "virtual", "--device", "ram:64MiB"],
            "--device needs --place host",
        ),
        (&["plan", "x.toml", "--device", "sdb"], "'sdb' is not a device"),
        (&["plan", "x.toml", "--on", "ram", "--on", "ram"], "--on names ram twice"),
    ];
    for (arguments, named) in cases {
        let output = seekwell(directory.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", talk(&output));
        assert!(talk(&output).contains(named), "{arguments:?}: {}", talk(&output));
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "a run file was left");
}
