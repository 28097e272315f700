use super::*;
use rustix::pipe::pipe;
use std::io::Write;

/// A pipe that is never ready stands for the pidfd of an agent that lives.
fn hear(lines: &[u8], talk: &[u8], alive: bool, limit: Duration) -> (Heard, Vec<AgentMessage>) {
    let ((out, their_out), (err, their_err)) = (pipe().unwrap(), pipe().unwrap());
    let (life, their_life) = pipe().unwrap();
    std::fs::File::from(their_out).write_all(lines).unwrap();
    std::fs::File::from(their_err).write_all(talk).unwrap();
    let their_life = alive.then_some(their_life);
    let mut messages = vec![];
    let heard = Listener::new(std::process::id(), out, err, 8)
        .listen(life.as_fd(), limit, &mut |message| messages.push(message.clone()))
        .unwrap();
    drop(their_life);
    (heard, messages)
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn steps_are_passed_on_and_the_last_one_is_remembered() {
    let (heard, messages) = hear(
        b"{\"step\":{\"name\":\"mkfs\"}}\n{\"step\":{\"name\":\"mount\"}}\n",
        b"",
        false,
        LONG,
    );
    assert_eq!(messages.len(), 2);
    assert_eq!(heard.step.as_deref(), Some("mount"));
    assert!(heard.record.is_none() && heard.garbled.is_none() && heard.timed_out.is_none());
}

#[test]
fn an_agent_that_dies_leaves_its_last_words() {
    let (heard, _) = hear(b"", b"a long complaint", false, LONG);
    assert_eq!(heard.why("signal 9"), "the agent ended without a record (signal 9): omplaint");
}

#[test]
fn a_line_that_is_no_message_ends_the_hearing() {
    let (heard, _) = hear(b"Segmentation fault\n", b"", true, LONG);
    assert!(heard.why("still running").contains("Segmentation fault"));
}

#[test]
fn time_that_is_over_is_said_with_the_mend() {
    let ((out, _keep_out), (err, _keep_err)) = (pipe().unwrap(), pipe().unwrap());
    let (life, _keep_life) = pipe().unwrap();
    let mut listener = Listener::new(std::process::id(), out, err, 8);
    let heard = listener.listen(life.as_fd(), Duration::from_millis(10), &mut |_| {}).unwrap();
    assert!(heard.timed_out.is_some());
    assert!(heard.why("").contains("[trial] timeout"));
}

#[test]
fn a_stopped_agent_is_not_waited_for_and_is_named() {
    let ((out, _keep_out), (err, _keep_err)) = (pipe().unwrap(), pipe().unwrap());
    let (life, _keep_life) = pipe().unwrap();
    let mut agent = std::process::Command::new("sh").args(["-c", "kill -STOP $$"]).spawn().unwrap();
    let mut listener = Listener::new(agent.id(), out, err, 8);
    let heard = listener.listen(life.as_fd(), LONG, &mut |_| {});
    agent.kill().unwrap();
    agent.wait().unwrap();
    let heard = heard.unwrap();
    assert!(heard.timed_out.is_none());
    let expected = format!("the agent (process {}) was stopped, as by SIGSTOP", agent.id());
    assert_eq!(heard.why(""), expected);
}
