use super::*;
use crate::field::Value;
use crate::units::Bytes;
use crate::workloads::{WorkloadParams, io};

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn stream(pairs: &[(&'static str, Value)]) -> Result<IoParams, FieldConflict> {
    let mut values = Values::default();
    values.set("size", Value::Size(Bytes::kib(4)));
    values.set("file_size", Value::Size(Bytes::mib(1)));
    for (name, value) in pairs {
        values.set(name, value.clone());
    }
    match io::STREAM.params(&values)? {
        WorkloadParams::Io(params) => Ok(params),
        other => panic!("{other:?}"),
    }
}

fn write() -> (&'static str, Value) {
    ("write", Value::Bool(true))
}

fn refused(pairs: &[(&'static str, Value)]) -> (&'static str, String) {
    let error = stream(pairs).unwrap_err();
    (error.field, error.to_string())
}

#[test]
fn sync_alone_syncs_every_write_and_reports_both_parts() {
    let params = stream(&[write(), ("sync", text("fsync"))]).unwrap();
    assert_eq!(params.durability.sync, Some(SyncMethod::Fsync));
    assert_eq!(params.fsync_every, 1);
    assert!(params.syncs_every_write());
    let step = params.measured("log".to_owned());
    for metric in ["commit_latency_p99", "write_latency_p50", "sync_latency_p99"] {
        assert!(step.reports(metric), "{metric}");
    }
    assert!(!step.reports("writes_per_sync"));
}

#[test]
fn a_write_that_is_durable_by_itself_has_no_parts() {
    for word in ["O_DSYNC", "RWF_DSYNC"] {
        let params = stream(&[write(), ("sync", text(word))]).unwrap();
        assert_eq!(params.fsync_every, 0);
        assert!(params.syncs_every_write());
        let step = params.measured("log".to_owned());
        assert!(step.reports("commit_latency_p99") && !step.reports("sync_latency_p99"));
    }
}

#[test]
fn labs_from_before_sync_keep_their_meaning_and_their_form() {
    let params = stream(&[write(), ("fsync_every", Value::Integer(3))]).unwrap();
    assert!(params.durability.is_default());
    assert_eq!(params.fsync_every, 3);
    assert!(params.syncs() && !params.syncs_every_write());
    assert!(!serde_json::to_string(&params).unwrap().contains("durability"));
}

#[test]
fn an_appended_file_is_not_written_before() {
    let params = stream(&[write(), ("append", Value::Bool(true))]).unwrap();
    let names: Vec<String> = params.steps().into_iter().map(|step| step.name).collect();
    assert_eq!(names, ["stream"]);
    let workload = WorkloadParams::Io(params);
    assert!(!workload.on_raw() && workload.preparation().is_none());
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    assert_eq!(
        refused(&[("sync", text("fsync"))]),
        (
            "sync",
            "sync = \"fsync\" in a step that only reads; add write = true, or leave sync out"
                .to_owned()
        )
    );
    assert_eq!(
        refused(&[write(), ("sync", text("O_DSYNC")), ("fsync_every", Value::Integer(8))]),
        (
            "fsync_every",
            "fsync_every = 8 with O_DSYNC, which syncs every write; leave fsync_every out, or \
             write sync = \"fdatasync\""
                .to_owned()
        )
    );
    assert_eq!(refused(&[("append", Value::Bool(true))]).0, "append");
    assert_eq!(refused(&[write(), ("preallocate", text("size"))]).0, "preallocate");
    let count = ("count", Value::Integer(257));
    assert_eq!(
        refused(&[write(), ("append", Value::Bool(true)), count]),
        (
            "file_size",
            "257 appends of 4KiB need more than file_size; make file_size at least count times size"
                .to_owned()
        )
    );
    assert_eq!(refused(&[write(), ("group_commit", Value::Bool(true))]).0, "group_commit");
    let uring = ("engine", text("io_uring"));
    let group = [write(), ("group_commit", Value::Bool(true)), ("sync", text("fsync")), uring];
    assert_eq!(refused(&group).0, "group_commit");
}
