//! Every model keeps every promise, whatever is asked of it.

use proptest::prelude::*;
use seekwell_device::{Model, Operation, build, load};

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
    let (name, text) = small::all().swap_remove(index % small::all().len());
    (name, build(&load(&text).unwrap(), seed))
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
