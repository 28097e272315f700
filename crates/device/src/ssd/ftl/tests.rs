use super::{Ftl, NOTHING, Shape};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SHAPE: Shape = Shape {
    units: 96,
    dies: 2,
    blocks_per_die: 13,
    units_per_block: 8,
    units_per_stripe: 4,
    units_per_page: 2,
    reserve_blocks: 2,
};

/// What is inconsistent in the map, judged by looking at every slot.
fn audit(ftl: &Ftl, mapped: &BTreeSet<u32>) -> Result<(), String> {
    let shape = ftl.shape;
    let mut slots: BTreeMap<u32, u32> = BTreeMap::new();
    for unit in 0..shape.units {
        match ftl.map.get(unit) {
            Some(slot) => {
                if let Some(other) = slots.insert(slot, unit) {
                    return Err(format!("units {other} and {unit} share slot {slot}"));
                }
            }
            None if mapped.contains(&unit) => return Err(format!("unit {unit} was lost")),
            None => {}
        }
    }
    if slots.len() != mapped.len() {
        return Err(format!("{} units are mapped, not {}", slots.len(), mapped.len()));
    }
    for (number, die) in (0..).zip(&ftl.dies) {
        let mut in_use = 0;
        let mut valid_of_die = 0;
        for block in 0..shape.blocks_per_die {
            let first = (number * shape.blocks_per_die + block) * shape.units_per_block;
            let here: Vec<(u32, u32)> =
                slots.range(first..first + shape.units_per_block).map(|(s, u)| (*s, *u)).collect();
            let valid = die.valid[block as usize];
            if here.len() as u32 != valid {
                return Err(format!(
                    "block {block} of die {number} holds {} units, not {valid}",
                    here.len()
                ));
            }
            valid_of_die += u64::from(valid);
            let holds = die.holds[block as usize].as_ref();
            in_use += usize::from(holds.is_some());
            for (slot, unit) in here {
                if holds.is_none_or(|holds| holds[(slot - first) as usize] != unit) {
                    return Err(format!("slot {slot} does not know its unit {unit}"));
                }
            }
            if let Some(found) = die.full.iter().find(|entry| entry.1 == block)
                && found.0 != valid
            {
                return Err(format!(
                    "block {block} is listed with {} valid units, not {valid}",
                    found.0
                ));
            }
        }
        if die.valid_units != valid_of_die {
            return Err(format!(
                "die {number} counts {} units, not {valid_of_die}",
                die.valid_units
            ));
        }
        if die.blocks.free() + in_use != shape.blocks_per_die as usize {
            return Err(format!(
                "die {number} lost blocks: {} free, {in_use} in use",
                die.blocks.free()
            ));
        }
    }
    Ok(())
}

/// Units to write in one stripe, or one to unmap.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<u32>),
    Unmap(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let unit = prop_oneof![0_u32..12, 0_u32..SHAPE.units];
    prop_oneof![
        8 => prop::collection::vec(unit.clone(), 1..=4).prop_map(Step::Write),
        1 => unit.prop_map(Step::Unmap),
    ]
}

fn apply(ftl: &mut Ftl, mapped: &mut BTreeSet<u32>, step: &Step) {
    match step {
        Step::Write(units) => {
            let die = ftl.next_die(|_| true).unwrap();
            ftl.program(die, units);
            mapped.extend(units);
        }
        Step::Unmap(unit) => {
            ftl.unmap(*unit);
            mapped.remove(unit);
        }
    }
}

proptest! {
    #[test]
    fn no_unit_and_no_block_is_lost(steps in prop::collection::vec(step(), 1..300)) {
        let mut ftl = Ftl::new(SHAPE);
        let mut mapped = BTreeSet::new();
        for step in &steps {
            apply(&mut ftl, &mut mapped, step);
            prop_assert_eq!(audit(&ftl, &mapped), Ok(()));
        }
    }

    #[test]
    fn a_full_disk_can_be_overwritten_for_ever(units in prop::collection::vec(0_u32..SHAPE.units, 400)) {
        let mut ftl = Ftl::new(SHAPE);
        let mut mapped: BTreeSet<u32> = BTreeSet::new();
        for unit in (0..SHAPE.units).chain(units) {
            let die = ftl.next_die(|_| true).unwrap();
            ftl.program(die, &[unit]);
            mapped.insert(unit);
            prop_assert!(ftl.dies.iter().all(|die| die.blocks.free() > 0));
        }
        prop_assert_eq!(audit(&ftl, &mapped), Ok(()));
        prop_assert!(ftl.total_erases() > 0);
    }

    #[test]
    fn collecting_keeps_up_however_tight_the_cells_are(
        dies in 1_u32..4, pages in 2_u32..9, units_per_stripe in 1_u32..9, spare in 4_u32..9, seed in any::<u64>(),
    ) {
        let units_per_block = pages * units_per_stripe;
        let blocks_per_die = 20 + spare;
        let shape = Shape {
            units: dies * 20 * units_per_block,
            dies,
            blocks_per_die: blocks_per_die + 1,
            units_per_block,
            units_per_stripe,
            units_per_page: 1,
            reserve_blocks: 2,
        };
        let mut ftl = Ftl::new(shape);
        let mut mapped = BTreeSet::new();
        let mut state = seed | 1;
        for round in 0..3 * shape.units {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let first = if round < shape.units { round } else { ((state >> 33) % u64::from(shape.units)) as u32 };
            let units: Vec<u32> = (0..units_per_stripe).map(|next| (first + next * 7) % shape.units).collect();
            let die = ftl.next_die(|_| true).unwrap();
            ftl.program(die, &units);
            mapped.extend(units);
        }
        prop_assert_eq!(audit(&ftl, &mapped), Ok(()));
    }

    #[test]
    fn the_victim_is_the_block_with_the_least_valid_data(steps in prop::collection::vec(step(), 60..200)) {
        let mut ftl = Ftl::new(SHAPE);
        let mut mapped = BTreeSet::new();
        for step in &steps {
            let before = ftl.clone();
            apply(&mut ftl, &mut mapped, step);
            for (old, new) in before.dies.iter().zip(&ftl.dies) {
                // Where a whole block was emptied within the step, this is the second victim of it.
                let is_first = old.blocks.total_erases() == new.blocks.total_erases();
                if let (None, Some(victim), true) = (old.victim, new.victim, is_first) {
                    let least = old.full.first().map(|entry| entry.0);
                    prop_assert!(least.is_none_or(|least| victim.valid_at_start <= least));
                }
            }
        }
    }
}

#[test]
fn the_audit_notices_planted_faults() {
    type Fault = fn(&mut Ftl);
    let faults: [(&str, Fault); 6] = [
        ("a unit is lost", |ftl| {
            ftl.map.set(3, None);
        }),
        ("two units share a slot", |ftl| {
            let slot = ftl.map.get(3);
            ftl.map.set(4, slot);
        }),
        ("a count is wrong", |ftl| {
            if let Some(valid) = ftl.dies[0].valid.iter_mut().find(|valid| **valid > 0) {
                *valid -= 1;
            }
        }),
        ("a block is never freed", |ftl| {
            ftl.dies[1].blocks.take();
        }),
        ("a block forgets a unit", |ftl| {
            ftl.dies
                .iter_mut()
                .flat_map(|die| &mut die.holds)
                .flatten()
                .for_each(|holds| holds.fill(NOTHING));
        }),
        ("a die miscounts", |ftl| ftl.dies[0].valid_units += 1),
    ];
    for (name, fault) in faults {
        let mut ftl = Ftl::new(SHAPE);
        let mut mapped = BTreeSet::new();
        for unit in 0..SHAPE.units {
            apply(&mut ftl, &mut mapped, &Step::Write(vec![unit]));
        }
        assert_eq!(audit(&ftl, &mapped), Ok(()));
        fault(&mut ftl);
        assert!(audit(&ftl, &mapped).is_err(), "{name}");
    }
}

#[test]
fn places_count_pages_within_the_die() {
    let mut ftl = Ftl::new(SHAPE);
    assert_eq!(ftl.place(0), None);
    ftl.program(1, &[0, 1, 2]);
    assert_eq!([0, 1, 2].map(|unit| ftl.place(unit)), [Some((1, 0)), Some((1, 0)), Some((1, 1))]);
}
