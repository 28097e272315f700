use super::*;
use crate::fixture::{batch, record, share};
use std::io::Cursor;
use std::sync::Arc;

/// Output that a test reads.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of a word.
fn lines(word: &Word) -> Vec<Vec<u8>> {
    let output = Mutex::new(Vec::new());
    say(&output, word).unwrap();
    let text = output.into_inner().unwrap();
    text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn labelled(rank: u32, line: &[u8]) -> Vec<u8> {
    let mut labelled = format!("{rank:>2}: ").into_bytes();
    labelled.extend_from_slice(line.strip_suffix(b"\n").unwrap());
    labelled
}

#[test]
fn words_of_two_workers_come_whole_out_of_mixed_pieces() {
    // Characters of several bytes fall on the borders of pieces.
    let long = |text: &str| {
        Word::Results(vec![(1, Ok(Box::new(record(1)))), (2, Err(text.repeat(2_000)))])
    };
    let (one, other) = (long("größer"), long("longer"));
    let (of_one, of_other) = (lines(&one), lines(&other));
    assert!(of_one.len() > 2 && of_one.iter().all(|line| line.len() <= PIECE + 2));
    let mut words = Words::default();
    let mut found = Vec::new();
    let longest = of_one.len().max(of_other.len());
    for index in 0..longest {
        for (rank, lines) in [(0, &of_one), (11, &of_other)] {
            found.extend(lines.get(index).and_then(|line| words.take(&labelled(rank, line))));
        }
        assert_eq!(words.take(b"slurmstepd: something else"), None);
    }
    found.sort_by_key(|(rank, _)| *rank);
    assert_eq!(found, [(0, one), (11, other)]);
}

#[test]
fn what_a_guest_prints_is_no_word() {
    let mut words = Words::default();
    let lines = lines(&Word::Beat);
    for line in ["0:", "0: ", "x: =\"Beat\"", "0: hello", "", ": "] {
        assert_eq!(words.take(line.as_bytes()), None, "{line}");
    }
    assert_eq!(words.take(&labelled(0, &lines[0])), Some((0, Word::Beat)));
}

#[test]
fn a_worker_runs_the_shares_with_its_rank_and_tells_its_end() {
    let orders = [(0, 4), (1, 5), (0, 6)].map(|(rank, index)| order(rank, &share(index)).unwrap());
    let output = Shared::default();
    let pipe = Pipe {
        rank: 0,
        task: "0--n-1-9".to_owned(),
        input: Box::new(Cursor::new(orders.concat())),
        output: Box::new(output.clone()),
    };
    let worked = work_by_pipe(pipe, &mut |trial| Ok(record(trial.index))).unwrap();
    assert_eq!(worked, Worked { trials: 2, is_orphan: false });
    let text = output.0.lock().unwrap().clone();
    let mut words = Words::default();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let found = lines.filter_map(|line| words.take(&labelled(0, &[line, b"\n"].concat())));
    let found: Vec<Word> = found.map(|(_, word)| word).filter(|word| *word != Word::Beat).collect();
    let ready = || Word::Ready("0--n-1-9".to_owned());
    let results = |index| Word::Results(vec![(index, Ok(Box::new(record(index))))]);
    assert_eq!(found, [ready(), results(4), ready(), results(6), ready(), Word::Gone]);
}

#[test]
fn a_broken_backend_is_told_and_ends_the_worker() {
    let orders = [4, 5].map(|index| order(3, &share(index)).unwrap());
    let output = Shared::default();
    let input = Box::new(Cursor::new(orders.concat()));
    let pipe = Pipe { rank: 3, task: "t".to_owned(), input, output: Box::new(output.clone()) };
    let worked = work_by_pipe(pipe, &mut |_| Err("no guest".into())).unwrap();
    assert_eq!(worked.trials, 1);
    let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains(r#"{"Results":[[4,{"Err":"no guest"}]]}"#), "{text}");
    assert!(text.ends_with("=\"Gone\"\n"), "{text}");
}

/// Results come trial by trial; a session that closes the pipe ends the worker between two trials of a share.
#[test]
fn a_share_of_several_trials_is_told_trial_by_trial_until_the_pipe_closes() {
    let (input, mut session) = io::pipe().unwrap();
    session.write_all(order(0, &batch(0..9)).unwrap().as_bytes()).unwrap();
    let mut session = Some(session);
    let output = Shared::default();
    let input = Box::new(io::BufReader::new(input));
    let pipe = Pipe { rank: 0, task: "t".to_owned(), input, output: Box::new(output.clone()) };
    let told = output.clone();
    let worked = work_by_pipe(pipe, &mut |trial| {
        let text = String::from_utf8(told.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches("Results").count(), trial.index as usize);
        if trial.index == 1 {
            drop(session.take());
            // The worker's reader sees the end at its own time.
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        Ok(record(trial.index))
    });
    let trials = worked.unwrap().trials;
    assert!((2..9).contains(&trials), "{trials}");
}
