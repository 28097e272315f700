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
        "--job-name=seekwell",
    ];
    assert_eq!(srun_words(&plan(), 2), expected);
}

#[test]
fn the_client_that_failed_first_is_named() {
    let output = |text: &str| Output {
        status: Default::default(),
        stdout: vec![],
        stderr: text.as_bytes().to_vec(),
    };
    let text = "seekwell: error: clients are out of step: client 1 on n1: cannot use /x: full\n\
                srun: error: node1: task 0: Exited with exit code 1\n";
    assert_eq!(
        last_words(&output(text)),
        "seekwell: error: clients are out of step: client 1 on n1: cannot use /x: full"
    );
    assert_eq!(last_words(&output("a\nsrun: error: no nodes\n\n")), "srun: error: no nodes");
}
