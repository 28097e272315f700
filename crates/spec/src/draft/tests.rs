use super::*;
use crate::{expand, read_lab_bytes};
use seekwell_model::plan::BackendFacts;
use seekwell_model::units::Bytes;

fn machine() -> BackendFacts {
    BackendFacts {
        schedulers: ["none", "mq-deadline"].map(str::to_owned).to_vec(),
        ram: Some(Bytes::gib(4)),
        ..BackendFacts::default()
    }
}

fn words(question: &Question) -> Vec<String> {
    question.choices.iter().map(|(word, _)| (*word).to_owned()).collect()
}

/// Every combination of the choices, with a disk and a partition besides.
fn combinations() -> Vec<Answers> {
    let mut devices = words(&DEVICE);
    devices.push("/dev/disk/by-id/ata-EXAMPLE_1".to_owned());
    devices.push("/dev/disk/by-id/ata-EXAMPLE_1-part3".to_owned());
    let mut filesystems = words(&FILESYSTEM);
    filesystems.push("ext2, btrfs,ext2".to_owned());
    let axes = [words(&RUNS), devices, filesystems, words(&VARY), words(&MATTERS), words(&TIME)];
    let mut lists: Vec<Vec<String>> = vec![vec![]];
    for axis in axes {
        let longer = |list: &Vec<String>| {
            let list = list.clone();
            axis.clone().into_iter().map(move |word| [list.clone(), vec![word]].concat())
        };
        lists = lists.iter().flat_map(longer).collect();
    }
    lists.into_iter().map(|list| Answers::from_list(list.try_into().unwrap())).collect()
}

#[test]
fn every_combination_is_a_lab_that_can_be_planned_and_judged() {
    let all = combinations();
    assert_eq!(all.len(), 9 * 3 * 3 * 4 * 2 * 3);
    let every = all.into_iter().flat_map(|answers| FRUGALITIES.map(|one| (answers.clone(), one)));
    for (answers, frugality) in every {
        let text = lab_text("mine", &answers, frugality, None);
        let file = read_lab_bytes(text.as_bytes(), "mine.toml")
            .unwrap_or_else(|error| panic!("{answers:?}\n{error}\n{text}"));
        let expansion = expand(&file, &machine())
            .unwrap_or_else(|error| panic!("{answers:?}\n{error}\n{text}"));
        assert!(!expansion.candidates.is_empty());
        // A copy in the background is never waited for: memory may take all of it.
        let copies = answers.runs == "desktop" && answers.matters == "throughput";
        let small = |code: &str| code == "data-set-in-memory" && !copies;
        let doubt = expansion.warnings.iter().find(|warning| small(&warning.code));
        assert_eq!(doubt.map(|doubt| &doubt.text), None, "{answers:?}\n{text}");
        let metric = &file.lab.judge.metric;
        assert!(file.lab.workloads[0].reports(metric), "{metric}\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}

#[test]
fn an_answer_is_a_word_a_number_nothing_or_what_is_free() {
    let answer = |question: &Question, given: &str| question.answer(given);
    assert_eq!(answer(&RUNS, ""), Ok("mail".to_owned()));
    assert_eq!(answer(&RUNS, " 2 "), Ok("database".to_owned()));
    assert_eq!(answer(&RUNS, "log"), Ok("log".to_owned()));
    assert_eq!(answer(&FILESYSTEM, "f2fs,ext4"), Ok("f2fs,ext4".to_owned()));
    assert_eq!(answer(&TIME, "2h30min"), Ok("2h30min".to_owned()));
    let path = "/dev/disk/by-id/nvme-X";
    assert_eq!(answer(&DEVICE, path), Ok(path.to_owned()));
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_answer() {
    let cases: [(&Question, &str, &str); 7] = [
        (&RUNS, "maill", "runs: 'maill' is not an answer; answer mail, database, log"),
        (&RUNS, "10", "runs: '10' is not an answer"),
        (&DEVICE, "/dev/sdb", "the stable path of a disk"),
        (&DEVICE, "/dev/disk/by-id/a\"b", "the stable path of a disk"),
        (&FILESYSTEM, "ext5", "or a list of ext2, ext3, ext4"),
        (&TIME, "soon", "a duration such as 30min"),
        (&TIME, "0s", "a duration such as 30min"),
    ];
    for (question, given, expected) in cases {
        let message = question.answer(given).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_database_by_its_own_name_is_a_database() {
    for name in ["sqlite", "SQLite", "PostgreSQL", "mysql"] {
        assert_eq!(RUNS.answer(name), Ok("database".to_owned()));
    }
    assert!(DEVICE.answer("sqlite").is_err());
}
