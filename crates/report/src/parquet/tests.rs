use super::*;
use crate::fixture;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use seekwell_model::record::{BlockEvent, BlockEvents, Sample, SingleIo, SmartReading, Status};
use seekwell_stats::histogram::Histogram;
use std::collections::BTreeMap;

/// A run with everything that a record can hold.
fn full() -> RunView {
    let mut view = fixture::winner();
    view.plan.stacks[1].label = "'; DROP TABLE \"x\" \u{202e}\u{0} 👩‍👩‍👧".to_owned();
    for (index, (_, record)) in view.records.iter_mut().enumerate() {
        let index = index as u64;
        let mut histogram = Histogram::new();
        (0..200).for_each(|value| histogram.record(value * value * 1_000 + index));
        let step = &mut record.steps[1];
        step.histograms.insert("create".to_owned(), histogram.to_bytes());
        step.histograms.insert("unlink".to_owned(), Histogram::new().to_bytes());
        step.histograms.insert("odd".to_owned(), vec![1, 2, 3]);
        step.metrics.insert("iops".to_owned(), 0.1 + 0.2 + index as f64);
        step.single_ios = (0..5)
            .map(|at| SingleIo {
                at_ns: at,
                latency_ns: u64::MAX - at,
                operation: "read".to_owned(),
                offset: at,
            })
            .collect();
        let sample = Sample { at_ns: index, read_await_ms: Some(0.3), ..Sample::default() };
        record.timeline = vec![sample; 3];
        record.journal_timeline = vec![Sample { dirty_bytes: Some(7), ..sample }; 2];
        let event = BlockEvent {
            at_ns: 1,
            complete: true,
            sector: u64::MAX,
            sectors: 8,
            operation: 'W',
            pid: 3,
        };
        record.block_events = Some(BlockEvents { events: vec![event; 4], lost: index });
        record.smart =
            Some(SmartReading { before: None, after: Some(serde_json::json!({"a": 1})) });
    }
    view.records[5].1.status =
        Status::Failed { stage: "mkfs".to_owned(), reason: "a\nb".to_owned() };
    view.records[6].1.block_events = None;
    view
}

/// The tables of a view with whole records.
fn parquet(view: &RunView) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = |table: &ParquetTable| {
        let mut bytes = Vec::new();
        let each = |see: &mut dyn FnMut(&PlannedTrial, &Record)| {
            view.records.iter().for_each(|(trial, record)| see(trial, record));
            Ok(())
        };
        table.write(view, &each, &mut bytes).expect("a table");
        (table.name, bytes)
    };
    PARQUET_TABLES.iter().map(bytes).collect()
}

/// Rows of a table by column name.
fn read(bytes: Vec<u8>) -> Vec<BTreeMap<String, Field>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row: Result<Row, _>| row.expect("a row").into_columns().into_iter().collect())
        .collect()
}

fn whole(row: &BTreeMap<String, Field>, name: &str) -> u64 {
    match &row[name] {
        Field::ULong(value) => *value,
        other => panic!("{name} is {other:?}"),
    }
}

fn text(row: &BTreeMap<String, Field>, name: &str) -> String {
    match &row[name] {
        Field::Str(value) => value.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

fn number(row: &BTreeMap<String, Field>, name: &str) -> Option<f64> {
    match &row[name] {
        Field::Double(value) => Some(*value),
        Field::Null => None,
        other => panic!("{name} is {other:?}"),
    }
}

fn optional(row: &BTreeMap<String, Field>, name: &str) -> Option<u64> {
    (!matches!(row[name], Field::Null)).then(|| whole(row, name))
}

fn sample(row: &BTreeMap<String, Field>) -> Sample {
    let sure = |name: &str| number(row, name).expect("a number");
    Sample {
        at_ns: whole(row, "at_ns"),
        reads_per_s: sure("r/s"),
        writes_per_s: sure("w/s"),
        read_kib_per_s: sure("rkB/s"),
        written_kib_per_s: sure("wkB/s"),
        reads_merged_per_s: sure("rrqm/s"),
        writes_merged_per_s: sure("wrqm/s"),
        read_await_ms: number(row, "r_await"),
        write_await_ms: number(row, "w_await"),
        queue_size: sure("aqu-sz"),
        read_request_kib: number(row, "rareq-sz"),
        write_request_kib: number(row, "wareq-sz"),
        flushes_per_s: number(row, "f/s"),
        utilisation_percent: sure("%util"),
        dirty_bytes: optional(row, "dirty_bytes"),
        writeback_bytes: optional(row, "writeback_bytes"),
        io_pressure_percent: number(row, "io_pressure_percent"),
        cpu_pressure_percent: number(row, "cpu_pressure_percent"),
        memory_pressure_percent: number(row, "memory_pressure_percent"),
    }
}

/// Puts what the tables say of a trial back into its record.
fn record(tables: &BTreeMap<&str, Vec<BTreeMap<String, Field>>>, trial: u64) -> Record {
    let of = |name: &str| {
        tables[name].iter().filter(move |row| whole(row, "trial") == trial).collect::<Vec<_>>()
    };
    let mut record: Record =
        serde_json::from_str(&text(of("trials.parquet")[0], "record")).expect("a record");
    for row in of("timelines.parquet") {
        let timeline = match text(row, "device").as_str() {
            "data" => &mut record.timeline,
            _ => &mut record.journal_timeline,
        };
        timeline.push(sample(row));
    }
    let mut histograms: BTreeMap<(u64, String), Histogram> = BTreeMap::new();
    for row in of("histograms.parquet") {
        let key = (whole(row, "position"), text(row, "operation"));
        let histogram = histograms.entry(key).or_default();
        if let Some(value_ns) = optional(row, "value_ns") {
            histogram.record_n(value_ns, whole(row, "count"));
        }
    }
    for ((position, operation), histogram) in histograms {
        record.steps[position as usize].histograms.insert(operation, histogram.to_bytes());
    }
    for row in of("events.parquet") {
        let event = BlockEvent {
            at_ns: whole(row, "at_ns"),
            complete: row["complete"] == Field::Bool(true),
            sector: whole(row, "sector"),
            sectors: whole(row, "sectors") as u32,
            operation: text(row, "operation").chars().next().expect("a letter"),
            pid: whole(row, "pid") as u32,
        };
        record.block_events.as_mut().expect("a stream").events.push(event);
    }
    record
}

#[test]
fn nothing_is_lost() {
    let view = full();
    let tables: BTreeMap<&str, Vec<BTreeMap<String, Field>>> =
        parquet(&view).into_iter().map(|(name, bytes)| (name, read(bytes))).collect();
    assert_eq!(tables["trials.parquet"].len(), view.records.len());
    for ((planned, expected), row) in view.records.iter().zip(&tables["trials.parquet"]) {
        assert_eq!(whole(row, "seed"), planned.seed);
        assert_eq!(whole(row, "candidate"), u64::from(planned.candidate));
        assert_eq!(&record(&tables, u64::from(planned.index)), expected);
        let stack = view.stack_of(planned).expect("a stack");
        assert_eq!(text(row, "stack"), stack.label);
        assert_eq!(text(row, "filesystem"), stack.filesystem.name);
    }
    let metrics: usize = view.records.iter().map(|(_, record)| record.metrics().len()).sum();
    assert_eq!(tables["samples.parquet"].len(), metrics);
    let run = &tables["run.parquet"][0];
    let plan: seekwell_model::plan::Plan =
        serde_json::from_str(&text(run, "plan")).expect("a plan");
    assert_eq!(plan, view.plan);
}

#[test]
fn a_run_without_trials_has_empty_tables() {
    let view = RunView { records: vec![], ..fixture::winner() };
    for (name, bytes) in parquet(&view) {
        assert_eq!(read(bytes).len(), usize::from(name == "run.parquet"), "{name}");
    }
}

/// Many rows are written in parts, and read as one table.
#[test]
fn a_long_table_has_all_its_rows() {
    let mut view = fixture::winner();
    let one = view.records[0].clone();
    let sample = |at_ns| Sample { at_ns, ..Sample::default() };
    view.records = (0..40)
        .map(|index| {
            let mut one = one.clone();
            one.0.index = index;
            one.1.timeline = (0..4_000).map(|at| sample(u64::from(index) * 4_000 + at)).collect();
            one
        })
        .collect();
    let (_, bytes) = parquet(&view).into_iter().find(|(name, _)| name.starts_with("time")).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).expect("a file");
    assert!(reader.num_row_groups() > 1);
    let times: Vec<u64> = read(bytes).iter().map(|row| whole(row, "at_ns")).collect();
    assert!(times.iter().copied().eq(0..160_000));
}

#[test]
fn a_reader_that_fails_and_a_disk_that_is_full_are_errors() {
    let view = fixture::winner();
    let broken = |_: &mut dyn FnMut(&PlannedTrial, &Record)| Err(io::Error::other("damaged"));
    let written = PARQUET_TABLES[1].write(&view, &broken, &mut Vec::new());
    assert_eq!(written.unwrap_err().to_string(), "damaged");
    let none = |_: &mut dyn FnMut(&PlannedTrial, &Record)| Ok(());
    let mut full: &mut [u8] = &mut [0; 10];
    let written = PARQUET_TABLES[1].write(&view, &none, &mut full);
    assert_eq!(written.unwrap_err().kind(), io::ErrorKind::WriteZero);
}
