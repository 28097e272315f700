//! The devices that are a queue (fixed, RAM) beside a slow and obvious account of the same queue, which keeps
//! every request it ever saw; and that account with faults planted, which the comparison must notice.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use seekwell_device::{Operation, Request, build};

use crate::harness::{Run, Step};
use crate::promises::step;
use crate::small;

/// What is wrong with the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    OnePlaceMore,
    NoTurnsOnTheLink,
    OverlapsInAnyOrder,
    FlushesAreFree,
    ZeroesAreCarried,
}

/// A device of `parallel` places; costs in nanoseconds.
struct Account {
    parallel: usize,
    read: fn(u64) -> u64,
    write: fn(u64) -> u64,
    flush_ns: u64,
    /// Nanoseconds for 512 bytes on the link behind the places, if there is one.
    sector_ns: Option<u64>,
}

/// A request that was served.
struct Served {
    request: Request,
    place_ns: u64,
    link_ns: Option<u64>,
    done_ns: u64,
}

impl Account {
    /// By name of a small device; figures as in its file.
    fn of(name: &str) -> Self {
        match name {
            "fixed" => Self {
                parallel: 3,
                read: |_| 100_000,
                write: |_| 70_000,
                flush_ns: 20_000,
                sector_ns: Some(5_120),
            },
            "ram" => {
                Self { parallel: 1, read: |_| 0, write: |_| 0, flush_ns: 0, sector_ns: Some(512) }
            }
            other => panic!("{other} is no queue"),
        }
    }

    /// When each request is done that was submitted at these times.
    fn serve(&self, submitted: &[(Request, u64)], fault: Fault) -> Vec<u64> {
        let parallel = self.parallel + usize::from(fault == Fault::OnePlaceMore);
        let mut all: Vec<Served> = Vec::new();
        for (request, at_ns) in submitted {
            let moved = match request.operation {
                Operation::Read | Operation::Write => u64::from(request.sectors),
                Operation::WriteZeroes if fault == Fault::ZeroesAreCarried => {
                    u64::from(request.sectors)
                }
                _ => 0,
            };
            let cost_ns = match request.operation {
                Operation::Read => (self.read)(moved * 512),
                Operation::Flush if fault == Fault::FlushesAreFree => 0,
                Operation::Flush => self.flush_ns,
                _ => (self.write)(moved * 512),
            };
            // A place is free once all but so many of those before have left theirs.
            let mut left: Vec<u64> = all.iter().map(|served| served.place_ns).collect();
            left.sort_unstable_by(|one, other| other.cmp(one));
            let free_ns = left.get(parallel - 1).copied().unwrap_or(0);
            let place_ns = free_ns.max(*at_ns) + cost_ns;
            let link_ns = self.sector_ns.filter(|_| moved > 0).map(|sector_ns| {
                let before = all.iter().filter_map(|served| served.link_ns).max().unwrap_or(0);
                let turns = fault != Fault::NoTurnsOnTheLink;
                place_ns.max(if turns { before } else { 0 }) + moved * sector_ns
            });
            let meets = |served: &&Served| {
                let other = &served.request;
                let overlap = other.lba.0 < request.end() && request.lba.0 < other.end();
                overlap && (other.operation.writes() || request.operation.writes())
            };
            let ordered = fault != Fault::OverlapsInAnyOrder;
            let after = all.iter().filter(|_| ordered).filter(meets).map(|served| served.done_ns);
            let own_ns = link_ns.unwrap_or(place_ns);
            let done_ns = after.max().unwrap_or(0).max(own_ns);
            all.push(Served { request: *request, place_ns, link_ns, done_ns });
        }
        all.into_iter().map(|served| served.done_ns).collect()
    }
}

/// When requests were submitted, and when the model and the account say that they were done.
fn both(name: &str, steps: &[Step], fault: Fault) -> (Vec<u64>, Vec<u64>) {
    let (_, file) = small::files().iter().find(|(known, _)| *known == name).unwrap();
    let mut model = build(file, 1);
    let mut run = Run::new(&mut *model);
    run.play(steps, &[]).unwrap();
    run.finish().unwrap();
    let submitted: Vec<(Request, u64)> = run.history.submitted.values().copied().collect();
    let found = run.history.completed.values().copied().collect();
    (found, Account::of(name).serve(&submitted, fault))
}

/// Scripts in which many requests are outstanding at once.
fn script() -> impl Strategy<Value = Vec<Step>> {
    let crowded = step().prop_map(|step| Step { gap_ns: step.gap_ns % 200_000, ..step });
    prop::collection::vec(prop_oneof![crowded, step()], 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_does_what_the_account_of_it_says(
        name in prop_oneof![Just("fixed"), Just("ram")], steps in script(),
    ) {
        let (found, expected) = both(name, &steps, Fault::Nothing);
        prop_assert_eq!(found, expected, "{}", name);
    }
}

#[test]
fn faults_planted_in_the_account_are_noticed() {
    let mut runner = TestRunner::deterministic();
    let scripts: Vec<Vec<Step>> =
        (0..200).map(|_| script().new_tree(&mut runner).unwrap().current()).collect();
    let notices = |name: &str, fault| {
        scripts.iter().any(|steps| {
            let (found, expected) = both(name, steps, fault);
            found != expected
        })
    };
    for (name, fault) in [
        ("fixed", Fault::OnePlaceMore),
        ("fixed", Fault::NoTurnsOnTheLink),
        ("fixed", Fault::OverlapsInAnyOrder),
        ("fixed", Fault::FlushesAreFree),
        ("fixed", Fault::ZeroesAreCarried),
        ("ram", Fault::NoTurnsOnTheLink),
    ] {
        assert!(notices(name, fault), "{fault:?} in {name} goes unnoticed");
    }
    for name in ["fixed", "ram"] {
        assert!(!notices(name, Fault::Nothing), "{name}");
    }
}
