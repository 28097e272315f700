use super::*;
use seekwell_model::units::Bytes;

fn plan() -> ClientsPlan {
    ClientsPlan {
        clients: 6,
        per_node: 3,
        files: 1,
        file_bytes: Bytes(0),
        shared_directory: false,
        block: Bytes(0),
        transfer: Bytes(1),
        stonewall_ns: None,
    }
}

#[test]
fn srun_starts_all_clients_with_consecutive_ranks_on_a_node() {
    let expected = [
        "--nodes=2",
        "--ntasks=6",
        "--ntasks-per-node=3",
        "--distribution=block",
        "--overcommit",
        "--kill-on-bad-exit=1",
        "--quiet",
    ];
    assert_eq!(srun_words(&plan(), 2), expected);
}

#[test]
fn the_client_that_failed_first_is_named() {
    let text = "seekwell: error: clients are out of step: client 1 on n1: cannot use /x: full\n\
                srun: error: node1: task 0: Exited with exit code 1\n";
    assert_eq!(
        last_words(text),
        "seekwell: error: clients are out of step: client 1 on n1: cannot use /x: full"
    );
    assert_eq!(last_words("a\nsrun: error: no nodes\n\n"), "srun: error: no nodes");
}

fn started(scripts: &[&str]) -> Started {
    let mut started = Started(Vec::new());
    for script in scripts {
        started.add(Command::new("sh").args(["-c", script])).unwrap();
    }
    started
}

#[test]
fn the_words_are_those_of_the_first_process_that_failed() {
    let some = started(&["echo a >&2", "echo b >&2; exit 3", "echo c >&2; exit 1"]);
    assert_eq!(some.wait(&mut || false).unwrap(), "b");
    assert_eq!(started(&["echo a >&2", "true"]).wait(&mut || false).unwrap(), "");
}

#[test]
fn an_interrupt_ends_processes_that_wait_for_each_other() {
    let some = started(&[
        "exec sleep 600",
        "trap 'echo told >&2; exit 1' TERM; while :; do sleep 0.05; done",
    ]);
    // The trap is there when its shell has a child.
    let shell = some.0[1].0.id();
    let children = format!("/proc/{shell}/task/{shell}/children");
    while std::fs::read_to_string(&children).unwrap().is_empty() {
        std::thread::sleep(LOOK);
    }
    let first = some.0[0].0.id();
    some.wait(&mut || true).unwrap();
    assert!([first, shell].iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()));
}
