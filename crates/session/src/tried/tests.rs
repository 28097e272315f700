use super::*;
use seekwell_model::lab::Effort;
use seekwell_spec::read_lab;

fn tried(work: &str) -> Tried {
    Tried {
        work: work.to_owned(),
        prepare: None,
        filesystems: vec!["ext4".to_owned(), "xfs".to_owned()],
        schedulers: vec!["none".to_owned(), "bfq".to_owned()],
        size: Bytes::mib(512),
        time: Nanos::seconds(120),
    }
}

#[test]
fn a_command_becomes_a_lab_with_whatever_it_quotes() {
    let command = "printf '%s\\n' \"a\tb\" > {dir}/x && sync {dir}/x";
    let lab = read_lab(&tried(command).lab_text("try", None), "try.toml").unwrap();
    assert_eq!(lab.name, "try");
    assert_eq!(lab.filesystems.len(), 2);
    assert_eq!(lab.judge.effort, Effort::Budget(Nanos::seconds(120)));
    assert_eq!(lab.judge.metric, "command.elapsed_durable");
    assert!(format!("{:?}", lab.workloads).contains(&format!("{command:?}")));
}

#[test]
fn every_kind_becomes_a_lab_of_the_amount_that_fits() {
    for kind in &KINDS {
        let tried = tried(kind.name);
        tried.check().unwrap();
        assert_eq!(tried.brief(), Some(kind.amounts[0]));
        let text = tried.lab_text("try", Some(1_000));
        assert!(text.contains("1000"), "{text}");
        let lab = read_lab(&text, "try.toml").unwrap();
        assert_eq!(lab.judge.metric, kind.metric);
        assert!(kind.metric.starts_with(tried.step()));
    }
}

/// 120 s for 4 stacks and 10 rounds are 3 s a trial; 1 s of it is beside the step.
#[test]
fn the_amount_fills_the_time_of_a_round_and_no_more() {
    let tried = tried("mail");
    let brief = |trial_ms: u64, step_ms: u64| {
        tried.amount(Nanos(trial_ms * 1_000_000), Nanos(step_ms * 1_000_000)).unwrap()
    };
    // 200 mails in 200 ms: 2 s hold 2,000.
    assert_eq!(brief(1_200, 200), 2_000);
    // No room: the brief amount. Far too fast to fill it: what the device holds.
    assert_eq!(brief(9_000, 200), 200);
    assert_eq!(brief(2, 1), 16_384);
    assert_eq!(super::tests::tried("true").amount(Nanos(1), Nanos(1)), None);
}

#[test]
fn the_amount_fits_the_device() {
    let small = Tried { size: Bytes::mib(64), ..tried("mail") };
    assert_eq!(small.amount(Nanos(1), Nanos(1)), Some(2048));
}

#[test]
fn a_kind_without_an_amount_is_refused_and_a_word_may_be_a_command() {
    let error = tried("bonnie").check().unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Usage);
    assert!(error.to_string().contains("write mail, seek, stream or a command"), "{error}");
    tried("sync").check().unwrap();
}
