use super::{Die, Programming, Reading, Suspension, Work};

const SUSPENSION: Suspension = Suspension { after_ns: Some(30), most: 2 };

fn programming(cells_ns: u64) -> Programming {
    Programming { units: vec![1], pieces: Vec::new(), sectors: 8, cells_ns }
}

fn reading(id: u64) -> Reading {
    Reading { id, from_die: 8, sectors: 8, cells_ns: 1 }
}

/// A die that programs from 0 to 1000 ns.
fn busy() -> Die {
    let mut die = Die::default();
    die.run(Work::Program(programming(1000)), 1000);
    die
}

#[test]
fn a_read_suspends_a_program_which_then_takes_as_much_longer() {
    let mut die = busy();
    assert_eq!(die.suspend(400, SUSPENSION), None, "nobody waits");
    die.reads.push_back(reading(1));
    assert_eq!(die.suspend(400, SUSPENSION), Some(430));
    assert!(die.is_idle() && !die.takes_program());
    die.run(Work::Read(reading(1)), 500);
    assert_eq!(die.finish(499), None);
    assert_eq!(die.finish(500), Some(Work::Read(reading(1))));
    assert!(die.resume(500));
    assert_eq!(die.end_ns(), Some(1100));
    assert_eq!(die.finish(1100), Some(Work::Program(programming(1000))));
    assert!(die.takes_program());
}

#[test]
fn a_program_is_suspended_only_so_often_and_only_if_it_pays() {
    let mut die = busy();
    die.reads.push_back(reading(1));
    assert_eq!(die.suspend(970, SUSPENSION), None, "it ends as soon");
    for _ in 0..2 {
        assert_eq!(die.suspend(100, SUSPENSION), Some(130));
        assert!(die.resume(200));
    }
    assert_eq!(die.suspend(300, SUSPENSION), None, "it was suspended twice");
    let mut never = busy();
    never.reads.push_back(reading(1));
    assert_eq!(never.suspend(100, Suspension { after_ns: None, most: 2 }), None);
}

#[test]
fn all_programs_are_known_wherever_they_are() {
    let mut die = busy();
    die.waiting.push_back(programming(5));
    die.reads.push_back(reading(1));
    die.suspend(100, SUSPENSION);
    assert_eq!(die.programs().map(|program| program.cells_ns).collect::<Vec<_>>(), [1000, 5]);
    assert!(die.resume(200));
    assert_eq!(die.programs().count(), 2);
}
