use super::*;

fn client(rank: u32, done_ns: u64, operations: u64, at_first: u64) -> ClientFound {
    ClientFound {
        rank,
        node: "n1".to_owned(),
        done_ns,
        operations,
        bytes: operations * 10,
        operations_at_first: at_first,
        bytes_at_first: at_first * 10,
        histogram: vec![],
    }
}

#[test]
fn rates_are_over_the_last_client_and_over_the_first() {
    let clients = vec![client(0, 2_000_000_000, 100, 100), client(1, 4_000_000_000, 100, 60)];
    let phase = PhaseFound { phase: ClientsPhase::Create, clients };
    let rate =
        |operations_per_s, bytes_per_s, ns| ClientsRate { operations_per_s, bytes_per_s, ns };
    assert_eq!(phase.at_last(), Some(rate(50.0, 500.0, 4_000_000_000)));
    assert_eq!(phase.at_first(), Some(rate(80.0, 800.0, 2_000_000_000)));
}

#[test]
fn nothing_done_is_no_rate() {
    let phase = PhaseFound { phase: ClientsPhase::Create, clients: vec![client(0, 5, 0, 0)] };
    assert_eq!((phase.at_last(), phase.at_first()), (None, None));
    let phase = PhaseFound { phase: ClientsPhase::Create, clients: vec![] };
    assert_eq!(phase.at_last(), None);
}

#[test]
fn a_plan_without_files_or_without_data_has_no_such_phases() {
    let plan = |files, block| ClientsPlan {
        clients: 2,
        per_node: 1,
        files,
        file_bytes: Bytes(0),
        shared_directory: false,
        block: Bytes(block),
        transfer: Bytes(1),
        stonewall_ns: None,
    };
    assert_eq!(ClientsPhase::of(&plan(0, 5)), [ClientsPhase::Write, ClientsPhase::Read]);
    assert_eq!(ClientsPhase::of(&plan(5, 0)).len(), 4);
}
