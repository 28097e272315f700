//! Kills and Ctrl-C while an agent replays a trace.

use super::machine::Machine;
use super::victims::{Run, Who};
use super::{Ground, SETTLE, SETTLE_ALONE, can_run, next_start, trials};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LAB: &str = r#"
[lab]
name = "replayed"
[[device]]
name = "scratch"
loop = { size = "64MiB", directory = "MEMORY" }
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "ext2"
[scheduler]
choose = ["none"]
[[workload]]
name = "load"
kind = "replay"
trace = "MEMORY/t"
[judge]
metric = "replay.elapsed_durable"
method = "rounds"
rounds = 6
"#;

/// Trials of that lab.
const TRIALS: usize = 12;

/// A process that writes, syncs and sleeps for a second, with a child that does the same in another file.
fn record(ground: &Ground) {
    let mut lines = String::new();
    for process in [7, 8] {
        writeln!(
            lines,
            "{process} 1700000000.00{process}000 openat(AT_FDCWD</srv>, \"f{process}\", \
             O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</srv/f{process}> <0.000020>"
        )
        .unwrap();
    }
    for nth in 0..40 {
        for process in [7, 8] {
            let at = 100_000 + nth * 22_000 + process * 1000;
            writeln!(
                lines,
                "{process} 1700000000.{at:06} write(3</srv/f{process}>, \"x\", 65536) = 65536 <0.000050>\n\
                 {process} 1700000000.{:06} fsync(3</srv/f{process}>) = 0 <0.000100>",
                at + 300
            )
            .unwrap();
        }
    }
    std::fs::write(ground.path().join("s"), lines).unwrap();
    let mut command = Command::new(ground.program());
    let arguments = ["trace", "import", "strace", "s", "-o", "t"];
    let output = command.args(arguments).current_dir(ground.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// True when a process has a thread that replays.
fn replays(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let name = |thread: &Path| std::fs::read_to_string(thread.join("comm")).unwrap_or_default();
    threads.map(|thread| name(&thread.path())).any(|name| name.starts_with("replay "))
}

#[test]
fn nothing_is_left_of_a_replay_that_is_killed_or_interrupted() {
    if !can_run("nothing_is_left_of_a_replay_that_is_killed_or_interrupted") {
        return;
    }
    let ground = Ground::new(LAB);
    record(&ground);
    let mut machine = Machine::look(ground.path());
    let run_file = ground.path().join("replayed.seekwell");
    let groups: [&[Who]; 4] =
        [&[Who::Runner], &[Who::Agent], &[Who::Runner, Who::Agent], &Who::ALL[..3]];
    for who in groups {
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        run.wait_for_agent("a replay", replays);
        machine.note_devices();
        assert!(run.kill(who) >= who.len(), "{who:?}");
        if who == [Who::Agent] {
            // The runner goes on with the next trial.
            run.wait_for_agent("the next replay", replays);
        }
        run.end();
        if who.contains(&Who::Guardian) {
            next_start(&ground);
            machine.assert_restored_within(SETTLE, &format!("kill of {who:?}"));
        } else {
            machine.assert_restored_within(SETTLE_ALONE, &format!("kill of {who:?}"));
        }
    }
    // The first Ctrl-C lets the trial end, the second one does not.
    for (times, expected) in [(1, 1), (2, 130)] {
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        run.wait_for_agent("a replay", replays);
        machine.note_devices();
        for _ in 0..times {
            run.interrupt();
            // Two at once may be one.
            run.wait(Duration::from_millis(100));
        }
        let (status, talk) = run.finish();
        assert_eq!(status, Some(expected), "{talk}");
        machine.assert_restored_within(SETTLE_ALONE, &format!("{times} × Ctrl-C"));
    }
    next_start(&ground);
    let trials = trials(&ground, &run_file);
    assert_eq!(trials.len(), TRIALS);
    let failed = trials.iter().filter(|trial| trial["status"] == "failed").count();
    assert!(failed <= groups.len(), "{trials:?}");
    machine.assert_restored_within(SETTLE, "the completed run");
}
