use super::*;
use crate::{BenchTarget, bench};
use seekwell_model::field::{Value, Values};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{WorkloadParams, bonnie::BONNIE};

fn params(pairs: &[(&'static str, Value)]) -> WorkloadParams {
    let mut values = Values::default();
    for (name, value) in pairs {
        values.set(name, value.clone());
    }
    BONNIE.params(&values).unwrap()
}

fn small(more: &[(&'static str, Value)]) -> WorkloadParams {
    let mut pairs = vec![
        ("size", Value::Size(Bytes::kib(256))),
        ("char_size", Value::Size(Bytes::kib(4))),
        ("seeks", Value::Integer(40)),
        ("seekers", Value::Integer(3)),
        ("files", Value::Integer(200)),
        ("min_size", Value::Size(Bytes(10))),
        ("max_size", Value::Size(Bytes(20_000))),
        ("directories", Value::Integer(4)),
    ];
    pairs.extend_from_slice(more);
    params(&pairs)
}

fn run(params: &WorkloadParams, folder: &Path) -> seekwell_model::bench::BenchResult {
    let target = BenchTarget { path: folder, writable: None, length: None };
    bench(params, target, 7, None).unwrap()
}

#[test]
fn every_test_does_what_it_says_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let result = run(&small(&[]), folder.path());
    let counted: Vec<(&str, u64)> =
        result.steps.iter().map(|step| (step.name.as_str(), step.ops)).collect();
    let expected = [
        ("putc", 4_096),
        ("put_block", 32),
        ("rewrite", 32),
        ("getc", 4_096),
        ("get_block", 32),
        ("seeks", 40),
        ("seq_create", 200),
        ("seq_stat", 200),
        ("seq_del", 200),
        ("ran_create", 200),
        ("ran_stat", 200),
        ("ran_del", 200),
    ];
    assert_eq!(counted, expected);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    for step in &result.steps {
        assert!(step.metrics.contains_key("cpu_share"), "{}", step.name);
        assert!(step.latency_ns.is_some(), "{}", step.name);
    }
}

#[test]
fn groups_of_tests_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let tests = Value::List(vec!["files".to_owned()]);
    let result =
        run(&small(&[("tests", tests), ("directories", Value::Integer(1))]), folder.path());
    let names: Vec<&str> = result.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"]);
}

#[test]
fn names_are_unique_and_the_random_order_is_a_permutation() {
    let WorkloadParams::Bonnie(params) = small(&[]) else { panic!("not bonnie") };
    for sequential in [true, false] {
        let names = format!("{:?}", Names::new(&params, sequential, 3));
        assert_eq!(names, format!("{:?}", Names::new(&params, sequential, 3)));
        assert_ne!(names, format!("{:?}", Names::new(&params, sequential, 4)));
    }
}

#[test]
fn a_full_filesystem_is_an_error_in_words() {
    let Some(folder) = crate::fixture::small_tmpfs("a_full_filesystem_is_an_error_in_words") else {
        return;
    };
    let target = BenchTarget { path: folder.path(), writable: None, length: None };
    let mut all = small(&[("size", Value::Size(Bytes::kib(512)))]);
    if let WorkloadParams::Bonnie(params) = &mut all {
        params.tests = vec!["files".to_owned()];
        params.files = 100;
        params.min_size = Bytes(0);
        params.max_size = Bytes(20_000);
    }
    let error = bench(&all, target, 7, None).unwrap_err().to_string();
    assert!(error.starts_with("cannot write to "), "{error}");
    assert!(error.ends_with("it is full: use less data or a larger device"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn blocks_are_as_compressible_and_as_repeated_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = small(&[]);
    let WorkloadParams::Bonnie(params) = &mut all else { panic!("another kind") };
    (params.compressible, params.repeated) = (100, 50);
    let mut data = arena(8192, params, 3, folder.path()).unwrap();
    let blocks: Vec<Vec<u8>> = (0..64).map(|_| data.block().to_vec()).collect();
    for block in &blocks {
        assert!(block.chunks(4096).all(|page| page[8..].iter().all(|byte| *byte == 0)));
    }
    let different: std::collections::BTreeSet<&Vec<u8>> = blocks.iter().collect();
    assert_eq!(different.len(), 33);
}
