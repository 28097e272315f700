use super::*;
use crate::fixture::{record, trial};

fn line(trial: u32) -> Line {
    let result = Ok(Box::new(record(trial)));
    Line { trial, task: "a".to_owned(), wall_ns: Some(7), result }
}

fn sheet(lines: Vec<Line>) -> Sheet {
    Sheet { work: 9, share: Share { index: 4, trials: vec![trial(4), trial(5), trial(6)] }, lines }
}

#[test]
fn a_sheet_comes_back_as_it_was_written() {
    for lines in [vec![], vec![line(4)], vec![line(6), line(4), line(5)]] {
        let written = sheet(lines);
        assert_eq!(Sheet::read(&written.text().unwrap()).unwrap(), written);
    }
}

#[test]
fn a_line_that_is_cut_off_or_changed_is_none_and_harms_no_other() {
    let whole = sheet(vec![line(4)]).text().unwrap();
    let more = line(5).text(9).unwrap();
    for cut in 0..more.len() {
        let mut text = [&whole[..], &more[..cut], &line(6).text(9).unwrap()].concat();
        assert_eq!(Sheet::read(&text).unwrap(), sheet(vec![line(4), line(6)]), "{cut}");
        text.truncate(whole.len() + cut);
        assert_eq!(Sheet::read(&text).unwrap(), sheet(vec![line(4)]), "{cut}");
    }
    let place = whole.len() + more.len() - 3;
    let mut text = [whole, more].concat();
    text[place] ^= 1;
    assert_eq!(Sheet::read(&text).unwrap().lines, [line(4)]);
}

#[test]
fn the_first_result_of_a_trial_counts_and_those_of_other_trials_do_not() {
    let again = Line { task: "b".to_owned(), ..line(4) };
    let read = Sheet::read(&sheet(vec![line(4), again, line(7)]).text().unwrap()).unwrap();
    assert_eq!(read.lines, [line(4)]);
    assert_eq!(read.missing(), [trial(5), trial(6)]);
}

#[test]
fn a_broken_backend_makes_a_sheet_whole() {
    assert!(!sheet(vec![line(4), line(5)]).is_whole());
    assert!(sheet(vec![line(4), line(5), line(6)]).is_whole());
    let broken = Line { result: Err("no guest".to_owned()), ..line(5) };
    assert!(sheet(vec![line(4), broken]).is_whole());
}

#[test]
fn an_offer_that_is_damaged_is_an_error() {
    assert!(Sheet::read(b"").is_err());
    assert!(Sheet::read(b"{\"work\":1").is_err());
}

/// Two plans may have the same trial, with other settings of the backend.
#[test]
fn a_line_of_other_work_is_none() {
    let text = [sheet(vec![line(4)]).text().unwrap(), line(5).text(8).unwrap()].concat();
    assert_eq!(Sheet::read(&text).unwrap(), sheet(vec![line(4)]));
}
