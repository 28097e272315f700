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
    let [creation, write] = ["File creation", "write"].map(row);
    assert_eq!(creation[..3], ["1000", "200 ms", "1500"]);
    assert_eq!(creation.last().unwrap(), "100 ms");
    assert_eq!(write[..3], ["25.00", "80 ms", "37.50"]);
    assert_eq!(write.last().unwrap(), "40 ms");
}

/// Titles of the table of files for a terminal of 80 columns, where each client makes so many files.
fn titles_at_80(files: u64) -> (Vec<String>, String) {
    let clients = (0..2).map(|rank| {
        let ours = client(rank, files, 123_456, 4096, files - 1);
        let mut all = Histogram::from_bytes(&ours.histogram).unwrap();
        all.record(98_765_432_100);
        ClientFound { histogram: all.to_bytes(), ..ours }
    });
    let phase = PhaseFound { phase: ClientsPhase::Create, clients: clients.collect() };
    let text = clients_text(&plan(), &[phase], 80);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("As ")).collect();
    assert!(lines[1..4].iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(lines[3].contains("1 min 38 s"), "{text}");
    (lines[1].split_whitespace().map(str::to_owned).collect(), text)
}

#[test]
fn latencies_fit_in_80_columns() {
    let (titles, text) = titles_at_80(345_678);
    assert_eq!(titles, ["phase", "ops/s", "last", "ops/s", "p50", "p99", "max", "first"], "{text}");
    let (titles, text) = titles_at_80(2_345_678_000);
    assert_eq!(titles, ["phase", "ops/s", "last", "ops/s", "p50", "p99", "max"], "{text}");
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
