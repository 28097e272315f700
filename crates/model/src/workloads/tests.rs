use super::*;
use crate::field::Value;

fn seek(pairs: &[(&'static str, Value)]) -> Result<WorkloadParams, FieldConflict> {
    let mut values = Values::default();
    for (name, value) in pairs {
        values.set(name, value.clone());
    }
    (io::SEEK.build)(&values)
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
fn every_outlined_metric_is_in_the_catalogue() {
    for kind in WORKLOAD_KINDS {
        let mut values = Values::default();
        values.set("run", Value::Text("true".into()));
        values.set("job", Value::Text("[a]\nrw=read\n".into()));
        values.set("steps", Value::List(mail::MAIL_STEPS.iter().map(|s| (*s).into()).collect()));
        let params = (kind.build)(&values).unwrap();
        for step in params.steps() {
            for metric in &step.metrics {
                assert!(crate::metrics::metric(metric).is_some(), "{}.{metric}", step.name);
            }
        }
    }
}
