use super::*;
use crate::inflater::Inflater;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e6_f64, any::<u64>().prop_map(f64::from_bits)]
}

fn maybe() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(number())
}

fn sample() -> impl Strategy<Value = Sample> {
    let first = (any::<u64>(), prop::array::uniform7(number()), number());
    let rest = (prop::array::uniform4(maybe()), maybe(), prop::option::of(any::<u64>()));
    (first, rest, prop::option::of(any::<u64>()), prop::array::uniform3(maybe())).prop_map(
        |((at_ns, rates, util), (means, flushes, dirty), writeback, pressure)| Sample {
            at_ns,
            reads_per_s: rates[0],
            writes_per_s: rates[1],
            read_kib_per_s: rates[2],
            written_kib_per_s: rates[3],
            reads_merged_per_s: rates[4],
            writes_merged_per_s: rates[5],
            queue_size: rates[6],
            utilisation_percent: util,
            read_await_ms: means[0],
            write_await_ms: means[1],
            read_request_kib: means[2],
            write_request_kib: means[3],
            flushes_per_s: flushes,
            dirty_bytes: dirty,
            writeback_bytes: writeback,
            io_pressure_percent: pressure[0],
            cpu_pressure_percent: pressure[1],
            memory_pressure_percent: pressure[2],
        },
    )
}

fn event() -> impl Strategy<Value = BlockEvent> {
    (any::<u64>(), any::<bool>(), any::<u64>(), any::<u32>(), any::<char>(), any::<u32>()).prop_map(
        |(at_ns, complete, sector, sectors, operation, pid)| BlockEvent {
            at_ns,
            complete,
            sector,
            sectors,
            operation,
            pid,
        },
    )
}

/// Equal to the bit, "not a number" included, and by field: the text of `{:?}` tells -0 from 0
/// and does not tell one NaN from another, the bits are compared by the columns.
fn bits(samples: &[Sample]) -> Vec<String> {
    samples.iter().map(|sample| format!("{sample:?}")).collect()
}

proptest! {
    #[test]
    fn samples_come_back_to_the_bit(samples in prop::collection::vec(sample(), 0..60)) {
        let blob = pack_samples(&samples);
        let back = unpack_samples(&blob, &mut Inflater::default()).unwrap();
        prop_assert_eq!(bits(&back), bits(&samples));
        let told = unpack_told(&blob, &mut Inflater::default()).unwrap();
        let expected = samples.into_iter().map(|sample| Sample {
            at_ns: sample.at_ns,
            queue_size: sample.queue_size,
            cpu_pressure_percent: sample.cpu_pressure_percent,
            ..Sample::default()
        });
        prop_assert_eq!(bits(&told), bits(&expected.collect::<Vec<_>>()));
        prop_assert_eq!(pack_samples(&back), blob);
    }

    #[test]
    fn events_come_back(events in prop::collection::vec(event(), 0..60), lost in any::<u64>()) {
        let stream = BlockEvents { events, lost };
        prop_assert_eq!(unpack_events(&pack_events(&stream), &mut Inflater::default()).unwrap(), stream);
    }

    #[test]
    fn any_bytes_are_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = unpack_samples(&bytes, &mut Inflater::default());
        let _ = unpack_events(&bytes, &mut Inflater::default());
    }

    #[test]
    fn any_columns_are_refused_without_panic(
        rows in any::<u32>(),
        plain in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut blob = vec![VERSION, 19];
        blob.extend(rows.to_le_bytes());
        blob.extend(deflate(&plain));
        let _ = unpack_samples(&blob, &mut Inflater::default());
        let _ = unpack_told(&blob, &mut Inflater::default());
    }
}

#[test]
fn damage_is_said_in_words() {
    let blob = pack_samples(&[Sample::default()]);
    let told = |blob: &[u8]| unpack_samples(blob, &mut Inflater::default()).unwrap_err();
    assert_eq!(told(&[]), "ends early");
    assert_eq!(told(&[&[9], &blob[1..]].concat()), "has the unknown version 9");
    assert_eq!(told(&[&[1, 5], &blob[2..]].concat()), "has 5 columns, expected 19");
    assert!(told(&blob[..blob.len() - 6]).starts_with("cannot be unpacked"));
    let mut more_rows = blob;
    more_rows[2] = 200;
    assert_eq!(told(&more_rows), "ends early");
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = vec![0; 1 << 20];
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..1025 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert_eq!(inflate(&bomb).unwrap_err(), "is larger than any trial makes");
}

#[test]
fn a_column_added_later_is_ignored() {
    let rows = [[Some(7_u64), Some(8), None], [Some(9), None, Some(1)]];
    let blob = pack(&rows);
    assert_eq!(
        unpack::<2>(&blob, &mut Inflater::default()).unwrap(),
        vec![[Some(7), Some(8)], [Some(9), None]]
    );
}

#[test]
fn a_timeline_is_much_smaller_than_its_samples() {
    // A device at a steady rate with some spread, as a trial's timeline looks.
    let samples: Vec<Sample> = (0..600_u32)
        .map(|index| {
            let reads = f64::from(4_000 + index * 7919 % 400) * 10.0;
            Sample {
                at_ns: u64::from(index) * 100_000_000,
                reads_per_s: reads,
                read_kib_per_s: reads * 4.0,
                read_await_ms: Some(0.12),
                read_request_kib: Some(4.0),
                queue_size: 1.0,
                utilisation_percent: 100.0,
                dirty_bytes: Some(65536),
                writeback_bytes: Some(0),
                ..Sample::default()
            }
        })
        .collect();
    let blob = pack_samples(&samples);
    assert!(blob.len() * 20 < samples.len() * size_of::<Sample>(), "{} bytes", blob.len());
}
