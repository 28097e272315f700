//! Input that is no lab at all: it gets one message, soon, and never a panic.

#![allow(clippy::unwrap_used, reason = "a mistake that is not found must fail the test")]

use proptest::prelude::*;
use seekwell_model::plan::BackendFacts;
use seekwell_spec::{Diagnostic, MAX_LAB_BYTES, expand, read_lab, read_lab_bytes};

fn mistake(bytes: &[u8]) -> Diagnostic {
    read_lab_bytes(bytes, "lab.toml").unwrap_err()
}

#[test]
fn ten_megabytes_are_refused_by_their_size() {
    let text = "a = 1\n".repeat(10_000_000 / 6);
    let mistake = mistake(text.as_bytes());
    assert_eq!(mistake.message, "the file has 10.0 MB; a lab has at most 1 MiB");
    assert_eq!(mistake.excerpt, "");
}

#[test]
fn the_largest_lab_that_is_read_is_read() {
    let lab = "[[workload]]\nkind = \"mail\"\n#";
    let padding = "x".repeat(MAX_LAB_BYTES - lab.len());
    assert!(read_lab(&format!("{lab}{padding}"), "lab.toml").is_ok());
    assert!(read_lab(&format!("{lab}{padding}x"), "lab.toml").is_err());
}

#[test]
fn a_wrong_value_of_a_list_is_replaced_alone() {
    let lab = "[scheduler]\nchoose = [\"none\", \"deadline\"]\n[[workload]]\nkind = \"mail\"";
    assert_eq!(mistake(lab.as_bytes()).remedy, "write \"mq-deadline\" in its place");
}

#[test]
fn a_binary_file_is_called_one() {
    let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0";
    let text = "not a text file: the byte at offset 7 is not UTF-8 text";
    assert_eq!(mistake(elf).message, text);
    let latin = b"name = \"gr\xfc\xdfe\"";
    assert_eq!(mistake(latin).message, "not a text file: the byte at offset 10 is not UTF-8 text");
}

#[test]
fn depth_does_not_exhaust_the_stack() {
    for (open, close) in [("[", "]"), ("{ a = ", " }")] {
        for depth in [100, 10_000, 100_000] {
            let text = format!("a = {}1{}", open.repeat(depth), close.repeat(depth));
            assert!(mistake(text.as_bytes()).to_string().starts_with("lab.toml:1:"));
        }
    }
    let dotted = format!("{}a = 1", "a.".repeat(100_000));
    assert!(!mistake(dotted.as_bytes()).message.is_empty());
    let header = format!("[{}a]", "a.".repeat(100_000));
    assert!(!mistake(header.as_bytes()).message.is_empty());
}

#[test]
fn a_message_stays_readable_whatever_the_lab_holds() {
    let long = "x".repeat(500_000);
    for text in [
        format!("{long} = 1"),
        format!("[{long}]"),
        format!("[lab]\nname = \"{long}\"\n[[workload]]\nkind = \"mail\""),
        format!("[[filesystem]]\ntype = \"{long}\""),
        format!("[[device]]\nloop = \"{long}\""),
        format!("[[device]]\ndisk = \"{long}\"\n[[workload]]\nkind = \"mail\""),
        format!("[[workload]]\nkind = \"mail\"\n[judge]\nmetric = \"{long}.{long}\""),
        format!("[[workload]]\nkind = \"mail\"\n[judge]\nmetric = \"unpack.{long}\""),
        format!("[[exclude]]\nfilesystem = \"{long}\"\n[[workload]]\nkind = \"mail\""),
        format!("[[workload]]\nkind = \"seek\"\nstep = \"{long}\""),
        format!("[[workload]]\nkind = \"mail\"\nsteps = [\"{long}\"]"),
        format!("[memory]\nchoose = [\"{long}\"]\n[[workload]]\nkind = \"mail\""),
        format!(
            "[[filesystem]]\ntype = \"ext4\"\nmkfs = [\"-{long} {long}\"]\n[[workload]]\nkind = \"mail\""
        ),
        format!("[[workload]]\nkind = \"command\"\nrun = \"true\"\nmetrics = {{ {long} = \"(\" }}"),
        format!(
            "[[workload]]\nkind = \"command\"\nrun = \"true\"\nmetrics = {{ a = \"({long}\" }}"
        ),
    ] {
        let shown = mistake(text.as_bytes()).to_string();
        assert!(shown.len() < 2_000, "{} bytes: {shown:.300}", shown.len());
        assert!(shown.lines().count() <= 5, "{shown:.300}");
    }
}

/// Words of the format in any order: reaches deeper than arbitrary bytes do.
fn word_salad() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "[[device]]",
        "[device.settings]",
        "[[journal]]",
        "[[filesystem]]",
        "[scheduler]",
        "[[scheduler]]",
        "[memory]",
        "[[workload]]",
        "[[workload.then]]",
        "[[workload.beside]]",
        "[[exclude]]",
        "[[stack]]",
        "[judge]",
        "[trial]",
        "[lab]",
        "name = \"a\"",
        "name = \"b\"",
        "loop = \"1GiB\"",
        "loop = { size = \"400MiB\", sector = 4096 }",
        "ram = \"64MiB\"",
        "disk = \"/dev/disk/by-id/x\"",
        "model = \"m\"",
        "type = \"ext4\"",
        "type = \"raw\"",
        "type = \"xfs\"",
        "kind = \"mail\"",
        "kind = \"seek\"",
        "kind = \"command\"",
        "kind = \"bfq\"",
        "run = \"true\"",
        "size = \"64MiB\"",
        "size = 512",
        "data = \"ordered\"",
        "choose = [\"none\"]",
        "choose = [\"quarter\", \"64MiB\"]",
        "read_ahead_kb = [1, 2]",
        "filesystem = \"ext4\"",
        "scheduler = [\"none\", \"bfq\"]",
        "metric = \"unpack.elapsed\"",
        "metric = \"seek.iops\"",
        "rounds = 6",
        "budget = \"1h\"",
        "tie = \"1%\"",
        "fsck = true",
        "stacks_only = true",
        "write = true",
        "depth = 4",
        "files = 0",
        "mkfs = [\"-q\"]",
        "overlay = \"64MiB\"",
        "limit = \"unlimited\"",
        "cpus = [0]",
        "x = 1979-05-27",
        "= ]",
    ];
    proptest::collection::vec(proptest::sample::select(WORDS), 0..24)
        .prop_map(|words| words.join("\n"))
}

fn facts() -> BackendFacts {
    let schedulers = vec!["none".to_owned(), "bfq".to_owned()];
    BackendFacts { schedulers, ..BackendFacts::default() }
}

fn read_and_expand(bytes: &[u8]) -> Result<(), TestCaseError> {
    let problem = match read_lab_bytes(bytes, "lab.toml") {
        Err(mistake) => mistake,
        Ok(file) => match expand(&file, &facts()) {
            Err(mistake) => mistake,
            Ok(expansion) => {
                prop_assert!(!expansion.candidates.is_empty());
                return Ok(());
            }
        },
    };
    prop_assert!(!problem.message.is_empty() && !problem.remedy.is_empty());
    prop_assert!(problem.to_string().starts_with("lab.toml:"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: seekwell_testing::cases(400, 2_000),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_give_a_lab_or_a_message(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_and_expand(&bytes)?;
    }

    #[test]
    fn any_text_gives_a_lab_or_a_message(text in "(?s).{0,200}") {
        read_and_expand(text.as_bytes())?;
    }

    #[test]
    fn any_order_of_the_words_of_the_format_gives_a_lab_or_a_message(text in word_salad()) {
        read_and_expand(text.as_bytes())?;
    }

    /// A lab cut off or damaged anywhere.
    #[test]
    fn a_damaged_lab_gives_a_lab_or_a_message(
        cut in 0..2_000_usize,
        at in 0..2_000_usize,
        byte in any::<u8>(),
    ) {
        let mut bytes = include_bytes!("../../../labs/demo.toml").to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(cut.max(1));
        read_and_expand(&bytes)?;
    }
}

/// mkfs runs as root: a lab cannot make it read or write files of the host.
#[test]
fn options_of_mkfs_and_mount_that_open_host_files_are_refused_by_name() {
    let lab = |kind: &str, key: &str, values: &[&str]| {
        let text = format!(
            "[[filesystem]]\ntype = \"{kind}\"\n{key} = {values:?}\n[[workload]]\nkind = \"mail\""
        );
        seekwell_spec::read_lab(&text, "t.toml")
    };
    let mut seen = 0;
    for definition in seekwell_model::filesystems::FILESYSTEMS {
        for refused in definition.options.refused {
            let (flag, suboption) = refused.option.split_once(' ').unwrap_or((refused.option, ""));
            let value = format!("{suboption}=/tmp/x");
            let message = lab(definition.name, "mkfs", &[flag, &value]).unwrap_err().to_string();
            assert!(message.contains(&format!("`{}` of mkfs", refused.option)), "{message}");
            assert!(message.contains("is refused: it "), "{message}");
            seen += 1;
        }
        for option in definition.refused_mount {
            let message = lab(definition.name, "mount", &[&format!("noatime,{option}=/dev/sdb")])
                .unwrap_err()
                .to_string();
            assert!(message.contains(&format!("mount option `{option}` is refused")), "{message}");
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen} options");
    lab("ext4", "mkfs", &["-L", "-z", "-N", "5000"]).unwrap();
}
