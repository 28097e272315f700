use super::*;
use seekwell_model::clients::ClientFound;
use seekwell_model::units::Bytes;

fn plan() -> ClientsPlan {
    ClientsPlan {
        clients: 2,
        per_node: 1,
        files: 100,
        file_bytes: Bytes(4096),
        shared_directory: false,
        block: Bytes(1 << 20),
        transfer: Bytes(1 << 18),
        stonewall_ns: Some(1_500_000_000),
    }
}

/// A client with operations of so many nanoseconds each.
fn client(rank: u32, operations: u64, each_ns: u64, bytes: u64, at_first: u64) -> ClientFound {
    let mut histogram = Histogram::new();
    histogram.record_n(each_ns, operations);
    ClientFound {
        rank,
        node: format!("n{}", rank + 1),
        done_ns: operations * each_ns,
        operations,
        bytes: operations * bytes,
        operations_at_first: at_first,
        bytes_at_first: at_first * bytes,
        histogram: histogram.to_bytes(),
    }
}

fn phases() -> Vec<PhaseFound> {
    let phase = |phase, clients| PhaseFound { phase, clients };
    vec![
        phase(
            ClientsPhase::Create,
            vec![client(0, 100, 1_000_000, 4096, 100), client(1, 100, 2_000_000, 4096, 50)],
        ),
        phase(
            ClientsPhase::Write,
            vec![client(0, 4, 10_000_000, 1 << 18, 4), client(1, 4, 20_000_000, 1 << 18, 2)],
        ),
    ]
}

#[test]
fn figures_are_those_of_mdtest_and_ior() {
    let text = clients_text(&plan(), &phases(), 120);
    // 200 files in 0.2 s, and 150 in the first 0.1 s; 2 MiB in 80 ms, and 1.5 MiB in the first 40 ms.
    for part in [
        "2 clients on n1, n2\n",
        "As mdtest -F -n 100 -w 4096 -e 4096 -N 1 -u -W 2:\n",
        "As ior -a POSIX -F -e -C -Q 1 -b 1048576 -t 262144 -D 2:\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..]
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(row("File creation")[..4], ["1000", "200 ms", "1500", "100 ms"]);
    assert_eq!(row("write")[..4], ["25.00", "80 ms", "37.50", "40 ms"]);
}

#[test]
fn clients_of_one_machine_are_told_of_its_cache() {
    let told =
        |phases: &[PhaseFound]| clients_text(&plan(), phases, 120).contains("the cache of one");
    assert!(!told(&phases()));
    let mut phases = phases();
    for client in phases.iter_mut().flat_map(|found| &mut found.clients) {
        client.node = "n1".to_owned();
    }
    assert!(told(&phases));
}

#[test]
fn the_json_has_every_client_and_loses_no_operation() {
    let json = clients_json(&plan(), &phases());
    let create = &json["phases"][0];
    assert_eq!(create["phase"], "create");
    assert_eq!(create["last"]["operations_per_s"], 1000.0);
    assert_eq!(create["first"]["operations_per_s"], 1500.0);
    assert_eq!(create["latency_ns"]["count"], 200);
    assert_eq!(create["clients"][1]["latency_ns"]["count"], 100);
    assert_eq!(create["clients"][1]["node"], "n2");
}
