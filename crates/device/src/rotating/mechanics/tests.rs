use super::{Arm, Cursor, Mechanics};
use crate::rotating::layout::tests::layouts;
use crate::rotating::seek::SeekCurve;
use proptest::prelude::*;

/// Faults planted in the oracle: the comparison must notice each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    NoHeadSwitch,
    NoSettle,
    /// The platters stand still while the arm moves.
    NoRotationDuringMove,
    /// Every track starts at index.
    NoSkew,
}

/// When each sector from the cursor on starts and ends to pass, one sector at a time.
fn sectors(
    m: &Mechanics,
    cursor: Cursor,
    limit: u64,
    write: bool,
    planted: Planted,
) -> Vec<(u64, u64)> {
    let turn = m.layout.turn_ns;
    let mut passes = Vec::new();
    let mut now = cursor.at_ns;
    for lba in cursor.lba..limit {
        let place = m.layout.place(lba);
        if lba > cursor.lba {
            let before = m.layout.place(lba - 1);
            let crossed = u32::abs_diff(before.cylinder, place.cylinder);
            let same_track = crossed == 0 && before.head == place.head;
            let adjoins = same_track && place.sector == before.sector + 1;
            if !adjoins {
                let arrived = now + moving(m, crossed, before.head != place.head, write, planted);
                let seen_from =
                    if planted == Planted::NoRotationDuringMove { now } else { arrived };
                let angle = if planted == Planted::NoSkew { 0 } else { place.angle_ns };
                now = arrived + turning(m, seen_from, angle);
            }
        }
        let slot = u64::from(place.slot);
        let per_track = u64::from(place.sectors_per_track);
        let end = now + (slot + 1) * turn / per_track - slot * turn / per_track;
        passes.push((now, end));
        now = end;
    }
    passes
}

fn moving(m: &Mechanics, crossed: u32, other_head: bool, write: bool, planted: Planted) -> u64 {
    let switch = if planted == Planted::NoHeadSwitch { 0 } else { m.head_switch_ns };
    let settle = match (write, crossed > 1) {
        _ if planted == Planted::NoSettle => 0,
        (false, false) => 0,
        (false, true) => m.read_settle_ns,
        (true, false) => m.write_track_settle_ns,
        (true, true) => m.write_settle_ns,
    };
    let head = if other_head { switch } else { 0 };
    if crossed == 0 && !other_head { 0 } else { m.seek.ns(crossed).max(head) + settle }
}

/// Time until the angle comes, by trying all multiples of a turn.
fn turning(m: &Mechanics, now: u64, angle: u64) -> u64 {
    let turn = m.layout.turn_ns;
    (0..)
        .map(|turns| turns * turn + angle)
        .find(|at| *at >= now + m.phase_ns)
        .map_or(0, |at| at - now - m.phase_ns)
        % turn
}

fn mechanics() -> impl Strategy<Value = Mechanics> {
    let times = (0_u64..2_000_000, 0_u64..2_000_000, 0_u64..2_000_000, 0_u64..8_333_333);
    (layouts(), times).prop_map(|(layout, (head_switch_ns, settle, track_settle, phase_ns))| {
        let last = layout.zones().last().unwrap();
        let cylinders = (last.first_cylinder + last.cylinders).max(2);
        let seek = SeekCurve::Formula { a_ns: 7e5, b_ns: 4e6, c_ns: 2e6, cylinders };
        Mechanics {
            layout,
            seek,
            head_switch_ns,
            read_settle_ns: settle / 3,
            write_settle_ns: settle,
            write_track_settle_ns: track_settle,
            phase_ns,
            waits: true,
            transfers: true,
            next: None,
        }
    })
}

/// Whether the mechanics and the oracle agree on a run.
fn agree(m: &Mechanics, part: (u64, u64), at_ns: u64, write: bool, planted: Planted) -> bool {
    let total = m.layout.sectors();
    let start = part.0 % total;
    let limit = (start + 1 + part.1 % 300).min(total);
    let cursor = Cursor { lba: start, at_ns };
    let passes = sectors(m, cursor, limit, write, planted);
    let ends = (start + 1..=limit)
        .zip(&passes)
        .all(|(lba, (_, end))| m.end_ns(cursor, lba, write) == *end);
    let probes = passes.iter().flat_map(|(from, to)| [*from, from.midpoint(*to), *to, to + 1]);
    let progress = probes.clone().all(|now| {
        let passed = start + passes.iter().filter(|(_, end)| *end <= now).count() as u64;
        let under = passes.iter().position(|(from, to)| *from < now && now < *to);
        m.passed(cursor, limit, now, write) == passed
            && m.under_head(cursor, limit, now, write) == under.map(|index| start + index as u64)
    });
    let walks = probes.into_iter().all(|now| {
        let cut = m.walk(cursor, limit, now, write);
        cut.lba == limit || m.end_ns(cut, limit, write) == m.end_ns(cursor, limit, write)
    });
    ends && progress && walks
}

proptest! {
    #[test]
    fn runs_equal_a_sector_by_sector_walk(
        m in mechanics(), part in (any::<u64>(), any::<u64>()), turn in 0_u64..20, write in any::<bool>(),
    ) {
        let start = part.0 % m.layout.sectors();
        let from = m.approach(m.arm_at(start), turn * 1_000_000, start, write).at_ns;
        prop_assert!(agree(&m, part, from, write, Planted::Nothing));
    }

    #[test]
    fn approach_equals_the_time_until_the_angle_comes(
        m in mechanics(), lba in any::<u64>(), arm in any::<u64>(), at_ns in 0_u64..60_000_000,
        write in any::<bool>(),
    ) {
        let total = m.layout.sectors();
        let (lba, arm) = (lba % total, m.arm_at(arm % total));
        let place = m.layout.place(lba);
        let crossed = arm.cylinder.abs_diff(place.cylinder);
        let move_ns = moving(&m, crossed, arm.head != place.head, write, Planted::Nothing);
        let arrived = at_ns + move_ns;
        let wait_ns = turning(&m, arrived, place.angle_ns);
        let found = m.approach(arm, at_ns, lba, write);
        prop_assert_eq!((found.cylinders, found.move_ns, found.wait_ns, found.at_ns), (crossed, move_ns, wait_ns, arrived + wait_ns));
        prop_assert!(found.wait_ns < m.layout.turn_ns);
    }
}

#[test]
fn comparison_notices_planted_faults() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let inputs = (mechanics(), any::<(u64, u64)>(), any::<bool>());
    let cases: Vec<_> = (0..60).map(|_| inputs.new_tree(&mut runner).unwrap().current()).collect();
    for planted in
        [Planted::NoHeadSwitch, Planted::NoSettle, Planted::NoRotationDuringMove, Planted::NoSkew]
    {
        let noticed = cases.iter().any(|(m, part, write)| {
            let start = part.0 % m.layout.sectors();
            let from = m.approach(Arm::default(), 0, start, *write).at_ns;
            !agree(m, *part, from, *write, planted)
        });
        assert!(noticed, "{planted:?}");
    }
}
