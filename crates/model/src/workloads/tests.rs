use super::*;
use crate::field::{FieldKind, Value};

fn seek(pairs: &[(&'static str, Value)]) -> Result<WorkloadParams, FieldConflict> {
    let mut values = Values::default();
    for (name, value) in pairs {
        values.set(name, value.clone());
    }
    io::SEEK.params(&values)
}

#[test]
fn names_in_the_catalogue_are_unique_and_every_default_is_documented() {
    let mut names: Vec<_> = WORKLOAD_KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before);
    for kind in WORKLOAD_KINDS {
        for field in kind.fields {
            assert!(field.doc.ends_with('.'), "{}.{}", kind.name, field.name);
            assert!(!(field.required && field.default.is_some()), "{}.{}", kind.name, field.name);
        }
    }
}

#[test]
fn depth_needs_an_engine_that_has_one() {
    let error = seek(&[("depth", Value::Integer(8))]).unwrap_err();
    assert_eq!(error.field, "depth");
    let values = [("depth", Value::Integer(8)), ("engine", Value::Text("io_uring".into()))];
    assert!(seek(&values).is_ok());
}

#[test]
fn write_and_mix_exclude_each_other() {
    let error = seek(&[("write", Value::Bool(true)), ("mix", Value::Integer(70))]).unwrap_err();
    assert_eq!(error.field, "mix");
}

#[test]
fn a_step_without_bounds_is_bound_by_time_and_one_with_a_count_is_not() {
    let Ok(WorkloadParams::Io(unbound)) = seek(&[]) else { panic!("not a seek") };
    assert_eq!(unbound.time, Some(crate::units::Nanos::seconds(2)));
    let Ok(WorkloadParams::Io(counted)) = seek(&[("count", Value::Integer(10))]) else {
        panic!("not a seek")
    };
    assert_eq!(counted.time, None);
}

#[test]
fn only_writing_steps_report_durable_time() {
    let Ok(params) = seek(&[]) else { panic!("not a seek") };
    let steps = params.steps();
    assert!(!steps[1].reports("elapsed_durable"));
    assert!(steps[1].reports("iops"));
    assert!(steps[0].reports("elapsed_durable"));
}

#[test]
fn a_replay_alone_may_be_answered_by_the_cache_after_a_cold_start() {
    let replay = replay::REPLAY.params(&Values::default()).unwrap();
    let rereads: Vec<bool> = replay.steps().iter().map(StepOutline::rereads).collect();
    assert_eq!(rereads, [false, true]);
    assert_eq!(replay.steps()[1].cache, CacheState::Cold);
    let mail = mail::MAIL.params(&Values::default()).unwrap();
    assert!(!mail.steps().iter().any(StepOutline::rereads));
}

#[test]
fn every_outlined_metric_is_in_the_catalogue() {
    for kind in WORKLOAD_KINDS {
        let mut values = Values::default();
        values.set("run", Value::Text("true".into()));
        values.set("job", Value::Text("[a]\nrw=read\n".into()));
        values.set("steps", Value::List(mail::MAIL_STEPS.iter().map(|s| (*s).into()).collect()));
        let params = kind.params(&values).unwrap();
        for step in params.steps() {
            for metric in &step.metrics {
                assert!(crate::metrics::metric(metric).is_some(), "{}.{metric}", step.name);
            }
        }
    }
}

#[test]
fn every_default_is_a_value_of_its_kind() {
    for kind in WORKLOAD_KINDS {
        for field in kind.fields.iter().filter(|field| field.default.is_some()) {
            let shown = format!("{}.{} = {:?}", kind.name, field.name, field.default);
            let value = field.default_value().unwrap_or_else(|| panic!("{shown}"));
            let fits = match (field.kind, &value) {
                (FieldKind::Integer { min, max }, Value::Integer(number)) => {
                    (min..=max).contains(number)
                }
                (FieldKind::Number { min, max }, Value::Number(number)) => {
                    (min..=max).contains(number)
                }
                (FieldKind::Size { min, max }, Value::Size(size)) => (min..=max).contains(size),
                (FieldKind::Choice(words), Value::Text(word)) => words.contains(&word.as_str()),
                (FieldKind::Bool, Value::Bool(_))
                | (FieldKind::Text, Value::Text(_))
                | (FieldKind::Duration, Value::Duration(_))
                | (FieldKind::TextList, Value::List(_)) => true,
                (FieldKind::IntegerList { min, max }, Value::Integers(numbers)) => {
                    numbers.iter().all(|number| (min..=max).contains(number))
                }
                (FieldKind::SizeList { min, max }, Value::Sizes(sizes)) => {
                    sizes.iter().all(|size| (min..=max).contains(size))
                }
                _ => false,
            };
            assert!(fits, "{shown} gives {value:?}");
        }
    }
}

#[test]
fn what_a_lab_leaves_out_has_the_declared_default() {
    let built = |kind: &WorkloadKind| kind.params(&Values::default()).unwrap();
    let WorkloadParams::Io(stream) = built(&io::STREAM) else { panic!("not a stream") };
    assert_eq!((stream.size, stream.cache), (Bytes::mib(1), CacheState::Cold));
    assert_eq!(stream.file_size, Some(Bytes::mib(256)));
    assert_eq!((stream.count, stream.time), (Some(256), None), "once over the file");
    let WorkloadParams::Io(seek) = built(&io::SEEK) else { panic!("not a seek") };
    assert_eq!((seek.size, seek.cache), (Bytes::kib(4), CacheState::Direct));
    let WorkloadParams::Iozone(iozone) = built(&iozone::IOZONE) else { panic!("not iozone") };
    assert_eq!((iozone.mix, iozone.stride, iozone.stonewall), (50, 17, true));
    assert_eq!((iozone.tests, iozone.threads), (vec![0, 1, 2], 1));
    let WorkloadParams::Mail(mail) = built(&mail::MAIL) else { panic!("not mail") };
    assert_eq!((mail.files, mail.cache), (5_000, CacheState::Cold));
}

#[test]
fn a_field_that_is_left_absent_gets_no_default() {
    let mut values = Values::default();
    values.leave_absent("file_size");
    let Ok(WorkloadParams::Io(seek)) = io::SEEK.params(&values) else { panic!("not a seek") };
    assert_eq!((seek.file_size, seek.size), (None, Bytes::kib(4)));
}
