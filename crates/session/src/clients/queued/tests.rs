use super::*;
use seekwell_model::units::Bytes;

fn plan(clients: u32) -> ClientsPlan {
    ClientsPlan {
        clients,
        per_node: 1,
        files: 1,
        file_bytes: Bytes(0),
        shared_directory: false,
        block: Bytes(0),
        transfer: Bytes(1),
        stonewall_ns: None,
    }
}

fn waits(reason: &str) -> Waiting {
    let [job, partition] = ["12", "all"].map(str::to_owned);
    Waiting { job, reason: reason.to_owned(), partition }
}

#[test]
fn a_wait_is_told_once_with_what_is_asked_for_and_what_there_is() {
    let mut said = Vec::new();
    let mut say = |words: &str| said.push(words.to_owned());
    let folder = tempfile::tempdir().unwrap();
    let mut queued =
        Queued::new(folder.path(), &plan(32), (2, &[]), Programs::new(vec![]), &mut say);
    let offered = |name: Option<&str>| format!("partition {} has 2 nodes of 1 CPU", name.unwrap());
    for reason in ["Resources", "Resources", "Priority", "PartitionNodeLimit"] {
        assert!(!queued.is_in_vain());
        queued.tell(waits(reason), &offered);
    }
    assert!(queued.is_in_vain());
    let line = |reason| {
        format!(
            "job 12 waits ({reason}): 2 nodes with 16 clients each asked for; partition all has 2 nodes of 1 CPU"
        )
    };
    assert_eq!(said, [line("Resources"), line("Priority")]);
}

#[test]
fn words_of_a_client_are_no_lack_of_nodes() {
    let mut say = |_: &str| {};
    let folder = tempfile::tempdir().unwrap();
    let queued = Queued::new(folder.path(), &plan(1), (1, &[]), Programs::new(vec![]), &mut say);
    assert_eq!(queued.asked, "1 node with 1 client each");
    assert!(queued.error("srun: error: node1: task 0: Exited with exit code 1").is_none());
}

#[test]
fn a_job_that_the_user_names_is_asked_for_by_that_name() {
    let name = |options: &[&str]| {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        given_name(&options).map(str::to_owned)
    };
    assert_eq!(name(&["--partition=batch", "--time=5"]), None);
    assert_eq!(name(&["--job-name=x"]).as_deref(), Some("x"));
    assert_eq!(name(&["-Jx", "--job-name", "y", "--time=5"]).as_deref(), Some("y"));
    assert_eq!(name(&["--job-name=x", "-J", "z"]).as_deref(), Some("z"));
}
