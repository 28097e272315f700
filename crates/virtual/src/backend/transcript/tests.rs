use super::*;

fn line(message: &AgentMessage) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap();
    line.push(b'\n');
    line
}

#[test]
fn steps_are_heard_when_their_line_is_complete() {
    let (one, two) = (line(&step("make")), line(&step("read")));
    let mut transcript = Transcript::default();
    let mut heard = Vec::new();
    let mut take = |bytes: &[u8]| transcript.take(bytes, &mut |name| heard.push(name.to_owned()));
    take(&one[..5]);
    take(&[&one[5..], &two[..3]].concat());
    take(&two[3..]);
    assert_eq!(heard, ["make", "read"]);
    assert_eq!(transcript.step(), Some("read"));
    let ends: Vec<usize> = transcript.words.iter().map(|word| word.ends_at).collect();
    assert_eq!(ends, [one.len(), one.len() + two.len()]);
    assert_eq!(transcript.garbled, None);
}

#[test]
fn an_unreadable_line_is_kept_for_the_reason() {
    let mut transcript = Transcript::default();
    transcript.take(b"Segmentation fault \n", &mut |_| {});
    assert_eq!(transcript.garbled.as_deref(), Some("Segmentation fault"));
    assert_eq!(transcript.step(), None);
    assert!(transcript.record.is_none());
}

fn step(name: &str) -> AgentMessage {
    AgentMessage::Step { name: name.to_owned() }
}

/// A node that kills a guest is not the trial's fault.
#[test]
fn guests_that_their_host_ended_are_told_from_those_that_failed() {
    let ended = |end: &End| was_ended_by_host(&Record::failed("mkfs", no_record(end)));
    for end in [End::Crash(9), End::Crash(7), End::WallLimit] {
        assert!(ended(&end), "{end}");
    }
    let others = [End::Crash(11), End::Exited(9), End::Deadlock, End::Stuck];
    assert!(others.iter().all(|end| !ended(end)));
    let console = format!("{}\nlast line of the console", no_record(&End::WallLimit));
    assert!(was_ended_by_host(&Record::failed("mkfs", console)));
    let quoted = format!("mkfs said: {}", no_record(&End::WallLimit));
    assert!(!was_ended_by_host(&Record::failed("mkfs", quoted)));
}
