use super::*;

/// A part that notes when it goes down, and fails then if asked to.
struct Scripted {
    number: usize,
    fails_down: bool,
}

/// The event log, and which steps fail.
struct Script {
    log: Vec<String>,
    fails_up: Option<usize>,
    fails_down: Option<usize>,
}

impl Part<Script> for Scripted {
    type Error = String;

    fn take_down(self, script: &mut Script) -> Result<(), String> {
        script.log.push(format!("down {}", self.number));
        if self.fails_down { Err(format!("down {}", self.number)) } else { Ok(()) }
    }
}

const PARTS: usize = 4;

/// Brings up the parts from `number` on, each inside the one before.
fn bring_up(script: &mut Script, number: usize) -> Result<(), String> {
    if script.fails_up == Some(number) {
        return Err(format!("up {number}"));
    }
    if number == PARTS {
        script.log.push("work".to_owned());
        return Ok(());
    }
    script.log.push(format!("up {number}"));
    let part = Scripted { number, fails_down: script.fails_down == Some(number) };
    standing(script, part, |script, _| bring_up(script, number + 1))
}

fn run(fails_up: Option<usize>, fails_down: Option<usize>) -> (Vec<String>, Result<(), String>) {
    let mut script = Script { log: vec![], fails_up, fails_down };
    let done = bring_up(&mut script, 0);
    (script.log, done)
}

/// Up in order as far as it went, the work if all are up, down in reverse.
fn expected(up: usize) -> Vec<String> {
    let mut log: Vec<String> = (0..up).map(|number| format!("up {number}")).collect();
    if up == PARTS {
        log.push("work".to_owned());
    }
    log.extend((0..up).rev().map(|number| format!("down {number}")));
    log
}

#[test]
fn everything_that_is_up_goes_down_in_reverse_wherever_it_fails() {
    assert_eq!(run(None, None), (expected(PARTS), Ok(())));
    for failing in 0..=PARTS {
        let (mut log, done) = run(Some(failing), None);
        log.retain(|line| line != "work");
        let mut wanted = expected(failing);
        wanted.retain(|line| line != "work");
        assert_eq!(log, wanted, "up {failing} fails");
        assert_eq!(done, Err(format!("up {failing}")));
    }
}

#[test]
fn a_part_that_does_not_go_down_keeps_no_other_from_it() {
    for failing in 0..PARTS {
        let (log, done) = run(None, Some(failing));
        assert_eq!((log, done), (expected(PARTS), Err(format!("down {failing}"))));
    }
}

#[test]
fn the_first_failure_is_the_one_that_is_told() {
    let (log, done) = run(Some(PARTS), Some(0));
    assert_eq!(done, Err(format!("up {PARTS}")));
    assert_eq!(log.last().map(String::as_str), Some("down 0"));
    let mut script = Script { log: vec![], fails_up: None, fails_down: Some(2) };
    let outer = Scripted { number: 9, fails_down: true };
    let done = standing(&mut script, outer, |script, _| bring_up(script, 0));
    assert_eq!(done, Err("down 2".to_owned()));
}
