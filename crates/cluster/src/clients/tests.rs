use super::*;
use seekwell_model::units::Bytes;
use seekwell_stats::histogram::Histogram;

fn plan(clients: u32) -> ClientsPlan {
    ClientsPlan {
        clients,
        per_node: 1,
        files: 20,
        file_bytes: Bytes(100),
        shared_directory: false,
        block: Bytes(2500),
        transfer: Bytes(1000),
        stonewall_ns: None,
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs all clients of a plan as threads; the error of the first rank that has one.
fn run(plan: &ClientsPlan, folder: &Path) -> Result<Vec<PhaseFound>, ClusterError> {
    prepare_clients(folder, plan)?;
    let ended: Vec<Result<(), ClusterError>> = std::thread::scope(|scope| {
        let clients =
            (0..plan.clients).map(|rank| scope.spawn(move || client(folder, rank, PATIENCE)));
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    ended.into_iter().collect::<Result<Vec<()>, _>>()?;
    Ok(clients_found(folder)?.unwrap())
}

#[test]
fn every_client_does_its_part_of_every_phase() {
    let folder = tempfile::tempdir().unwrap();
    for shared_directory in [false, true] {
        let path = folder.path().join(format!("{shared_directory}"));
        let phases = run(&ClientsPlan { shared_directory, ..plan(3) }, &path).unwrap();
        let seen: Vec<ClientsPhase> = phases.iter().map(|found| found.phase).collect();
        assert_eq!(seen, ClientsPhase::of(&plan(3)));
        for found in &phases {
            let ranks: Vec<u32> = found.clients.iter().map(|client| client.rank).collect();
            assert_eq!(ranks, [0, 1, 2]);
            let first = found.clients.iter().map(|client| client.done_ns).min().unwrap();
            for client in &found.clients {
                let (operations, bytes) = match found.phase {
                    ClientsPhase::Create | ClientsPhase::ReadFiles => (20, 2000),
                    ClientsPhase::Stat | ClientsPhase::Remove => (20, 0),
                    // 1000, 1000 and 500.
                    ClientsPhase::Write | ClientsPhase::Read => (3, 2500),
                };
                assert_eq!((client.operations, client.bytes), (operations, bytes), "{found:?}");
                // Merging histograms loses no operation.
                let histogram = Histogram::from_bytes(&client.histogram).unwrap();
                assert_eq!(histogram.count(), operations);
                assert!(client.operations_at_first <= operations);
                if client.done_ns == first {
                    assert_eq!(client.operations_at_first, operations, "{found:?}");
                }
            }
        }
        // All files but the large ones are removed.
        let left = std::fs::read_dir(path.join(FILES)).unwrap();
        let left = left.filter(|entry| entry.as_ref().unwrap().path().is_file()).count();
        assert_eq!(left, 3);
    }
}

#[test]
fn a_stonewall_ends_the_making_of_files_and_later_phases_take_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let plan = ClientsPlan { stonewall_ns: Some(1), files: 1000, ..plan(2) };
    let phases = run(&plan, &folder.path().join("x")).unwrap();
    let operations: Vec<u64> =
        phases.iter().map(|found| found.clients.iter().map(|one| one.operations).sum()).collect();
    // One file and one request of each client; the file read is as long as it was written.
    assert_eq!(operations, [2, 2, 2, 2, 2, 2]);
}

#[test]
fn the_failure_of_one_client_is_told_to_all_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let plan = plan(2);
    prepare_clients(&path, &plan).unwrap();
    // A directory of another owner, or a full disk, would do the same.
    std::fs::write(path.join(FILES).join("1"), "no directory").unwrap();
    let ended = std::thread::scope(|scope| {
        let path = &path;
        let clients = [0, 1].map(|rank| scope.spawn(move || client(path, rank, PATIENCE)));
        clients.map(|client| client.join().unwrap().unwrap_err().to_string())
    });
    assert!(ended[0].starts_with("clients are out of step: client 1 on "), "{ended:?}");
    assert!(ended[0].contains("cannot make"), "{ended:?}");
    assert!(ended[1].starts_with("cannot make"), "{ended:?}");
    assert_eq!(clients_found(&path).unwrap(), None);
}

#[test]
fn clients_that_do_not_come_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    prepare_clients(&path, &plan(2)).unwrap();
    let message = client(&path, 0, Duration::from_millis(50)).unwrap_err().to_string();
    assert_eq!(message, "clients are out of step: only 1 of 2 clients were there within 0 s");
    let other = folder.path().join("y");
    prepare_clients(&other, &plan(2)).unwrap();
    let message = client(&other, 1, Duration::from_millis(50)).unwrap_err().to_string();
    assert_eq!(message, "clients are out of step: client 0 was not there within 0 s");
}
