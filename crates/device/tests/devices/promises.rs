//! Every model keeps every promise, whatever is asked of it.

use proptest::prelude::*;
use seekwell_device::{Completion, Lba, Model, Operation, Request, build, load};

use crate::harness::{Run, Step};
use crate::small;

pub fn step() -> impl Strategy<Value = Step> {
    let gap = prop_oneof![
        4 => Just(0_u64),
        4 => 1_u64..2_000_000,
        2 => 2_000_000_u64..30_000_000,
        1 => 30_000_000_u64..400_000_000,
    ];
    let operation = prop_oneof![
        6 => Just(Operation::Read),
        8 => Just(Operation::Write),
        2 => Just(Operation::Flush),
        1 => Just(Operation::Discard),
        1 => Just(Operation::WriteZeroes),
    ];
    // Half of the requests fall into a small area, so that they overlap and follow one another.
    let place = prop_oneof![0_u64..64, 0_u64..4096];
    let length = prop_oneof![4 => 0_u32..8, 1 => 0_u32..64];
    (gap, operation, place, length, prop::bool::weighted(0.15)).prop_map(
        |(gap_ns, operation, place, length, fua)| Step { gap_ns, operation, place, length, fua },
    )
}

fn device(index: usize, seed: u64) -> (&'static str, Box<dyn Model>) {
    let files = small::files();
    let (name, file) = &files[index % files.len()];
    (*name, build(file, seed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn all_requests_complete_in_order_and_once(
        index in 0_usize..12, seed in 0_u64..4, steps in prop::collection::vec(step(), 1..60),
    ) {
        let (name, mut model) = device(index, seed);
        let mut run = Run::new(&mut *model);
        prop_assert_eq!(run.play(&steps, &[]), Ok(()), "{}", name);
        prop_assert_eq!(run.finish(), Ok(()), "{}", name);
        let evidence = run.model.evidence();
        let done = evidence.reads + evidence.writes + evidence.flushes + evidence.discards;
        prop_assert_eq!(done, steps.len() as u64);
        prop_assert!(evidence.busy_ns <= run.now_ns);
    }

    #[test]
    fn advancing_more_often_changes_nothing(
        index in 0_usize..12, steps in prop::collection::vec(step(), 1..40),
        extra in prop::collection::vec(0_u64..600_000_000, 0..60),
    ) {
        let play = |extra: &[u64]| {
            let (name, mut model) = device(index, 3);
            let mut run = Run::new(&mut *model);
            run.play(&steps, extra).unwrap();
            run.finish().unwrap();
            (name, run.history.order.clone(), model.evidence())
        };
        let (name, order, evidence) = play(&[]);
        let again = play(&extra);
        prop_assert_eq!(&order, &again.1, "{}", name);
        prop_assert_eq!(evidence, again.2, "{}", name);
    }

    #[test]
    fn power_cuts_undo_only_what_they_may(
        index in 0_usize..12, before in prop::collection::vec(step(), 1..40), wait_ns in 0_u64..20_000_000,
        after in prop::collection::vec(step(), 1..10),
    ) {
        let (name, mut model) = device(index, 5);
        let mut run = Run::new(&mut *model);
        prop_assert_eq!(run.play(&before, &[]), Ok(()), "{}", name);
        let at_ns = run.now_ns + wait_ns;
        let lost = run.cut(at_ns);
        prop_assert!(lost.is_ok(), "{name}: {lost:?}");
        run.start_again();
        prop_assert_eq!(run.play(&after, &[]), Ok(()), "{}", name);
        prop_assert_eq!(run.finish(), Ok(()), "{}", name);
    }

    #[test]
    fn same_seed_same_device(index in 0_usize..12, seed in any::<u64>(), steps in prop::collection::vec(step(), 1..30)) {
        let play = || {
            let (_, mut model) = device(index, seed);
            let mut run = Run::new(&mut *model);
            run.play(&steps, &[]).unwrap();
            let at_ns = run.now_ns + 1_000_000;
            let lost = run.cut(at_ns).unwrap();
            (run.history.order.clone(), lost)
        };
        prop_assert_eq!(play(), play());
    }
}

/// A request such as a broken or hostile guest may make.
fn any_request() -> impl Strategy<Value = Request> {
    let operation = prop_oneof![
        Just(Operation::Read),
        Just(Operation::Write),
        Just(Operation::Flush),
        Just(Operation::Discard),
        Just(Operation::WriteZeroes),
    ];
    let lba = prop_oneof![0_u64..5000, any::<u64>(), Just(u64::MAX)];
    let sectors = prop_oneof![0_u32..70, any::<u32>(), Just(u32::MAX)];
    (0_u64..40, operation, lba, sectors, any::<bool>()).prop_map(
        |(id, operation, lba, sectors, fua)| Request { id, operation, lba: Lba(lba), sectors, fua },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn refused_requests_change_nothing(
        index in 0_usize..12, requests in prop::collection::vec((any_request(), 0_u64..5_000_000), 1..40),
    ) {
        let (name, mut hostile) = device(index, 1);
        let (_, mut plain) = device(index, 1);
        let (mut done, mut expected): (Vec<Completion>, Vec<Completion>) = (Vec::new(), Vec::new());
        let mut now_ns = 0;
        for (request, at_ns) in requests {
            // Times go back now and then.
            now_ns = now_ns.max(at_ns);
            if hostile.submit(at_ns, request).is_ok() {
                prop_assert_eq!(plain.submit(at_ns, request), Ok(()), "{}", name);
            }
            hostile.advance(now_ns, &mut done);
            plain.advance(now_ns, &mut expected);
        }
        hostile.advance(u64::MAX / 4, &mut done);
        plain.advance(u64::MAX / 4, &mut expected);
        prop_assert_eq!(done, expected, "{}", name);
        prop_assert_eq!(hostile.next_event_ns(), None);
    }

    #[test]
    fn no_number_in_a_device_file_breaks_the_model(
        index in 0_usize..12, key in any::<prop::sample::Index>(), value in prop_oneof![
            Just(0.0), Just(1.0), Just(2.0), Just(7.0), Just(512.0), Just(1e3), Just(65536.0), Just(1e6), Just(1e9), Just(-1.0),
            Just(0.5), Just(9e15), Just(f64::NAN), Just(f64::INFINITY),
        ], steps in prop::collection::vec(step(), 1..20),
    ) {
        let (_, text) = small::all().swap_remove(index);
        let file = load(&text).unwrap();
        let keys = numbers(&text);
        let key = &keys[key.index(keys.len())];
        let Ok(changed) = file.with(key, value) else { return Ok(()) };
        let mut model = build(&changed, 1);
        let mut run = Run::new(&mut *model);
        prop_assert_eq!(run.play(&steps, &[]), Ok(()), "{} = {}", key, value);
        prop_assert_eq!(run.finish(), Ok(()));
    }
}

/// The dotted keys of all numbers in a device file.
fn numbers(text: &str) -> Vec<String> {
    fn collect(key: &str, value: &toml::Value, keys: &mut Vec<String>) {
        let below =
            |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
        match value {
            toml::Value::Table(table) => {
                table.iter().for_each(|(name, value)| collect(&below(name), value, keys));
            }
            toml::Value::Array(items) => {
                (0..).zip(items).for_each(|(index, value): (usize, _)| {
                    collect(&below(&index.to_string()), value, keys)
                });
            }
            toml::Value::Integer(_) | toml::Value::Float(_) => keys.push(key.to_owned()),
            _ => {}
        }
    }
    let mut keys = Vec::new();
    collect("", &toml::Value::Table(text.parse().unwrap()), &mut keys);
    keys
}
