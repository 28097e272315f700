//! Rules on manifests.

use super::{ROOT_MANIFEST, found, manifest};

/// Findings when `package` in the folder of `room` has these dependencies.
fn with(room: &str, package: &str, dependencies: &str) -> Vec<String> {
    let path = format!("crates/{room}/Cargo.toml");
    let text = manifest(package, dependencies);
    found(&[(&path, &text)]).iter().map(|line| line.replace(&format!("{path}:"), "")).collect()
}

#[test]
fn a_room_knows_the_layers_below_it() {
    for (room, dependencies) in [
        (
            "workload",
            "[dependencies]\nseekwell-engine.workspace = true\nseekwell-model.workspace = true\n",
        ),
        ("runner", "[dependencies]\nseekwell-virtual = { path = \"../virtual\" }\n"),
        (
            "report",
            "[dependencies]\nseekwell-model.workspace = true\nseekwell-stats.workspace = true\n",
        ),
        (
            "agent",
            "[dev-dependencies]\nseekwell-testing.workspace = true\nseekwell-host.workspace = true\n",
        ),
        ("report", "[dev-dependencies]\nseekwell-spec.workspace = true\n"),
        ("runner", "[dependencies]\nseekwell-report.workspace = true\n"),
    ] {
        assert_eq!(
            with(room, &format!("seekwell-{room}"), dependencies),
            [""; 0],
            "{room}: {dependencies}"
        );
    }
}

#[test]
fn a_room_knows_nothing_above_or_beside_it() {
    for (room, dependencies, expected) in [
        (
            "model",
            "[dependencies]\nseekwell-stats.workspace = true\n",
            "5: `seekwell-stats` in [dependencies] though `stats` is above `model` [arrow]",
        ),
        (
            "stats",
            "[dependencies]\nserde = \"1\"\nseekwell-spec = { workspace = true }\n",
            "6: `seekwell-spec` in [dependencies] though `spec` is of the same layer as `stats` [arrow]",
        ),
        (
            "host",
            "[dev-dependencies]\nseekwell-agent.workspace = true\n",
            "5: `seekwell-agent` in [dev-dependencies] though `agent` is above `host` [arrow]",
        ),
        (
            "engine",
            "[build-dependencies]\nseekwell.workspace = true\n",
            "5: `seekwell` in [build-dependencies] though `cli` is above `engine` [arrow]",
        ),
        (
            "report",
            "[dev-dependencies]\nseekwell-store.workspace = true\n",
            "5: `seekwell-store` in [dev-dependencies] though `store` is of the same layer as `report` [arrow]",
        ),
        (
            "report",
            "[dependencies]\nseekwell-spec.workspace = true\n",
            "5: `seekwell-spec` in [dependencies] though `report` may know model and stats alone [arrow]",
        ),
    ] {
        assert_eq!(with(room, &format!("seekwell-{room}"), dependencies), [expected]);
    }
}

#[test]
fn no_spelling_of_a_dependency_hides_it() {
    let upward = "though `agent` is above `model` [arrow]";
    for (dependencies, line, table) in [
        (
            "[dependencies]\nhidden = { package = \"seekwell-agent\", path = \"../agent\" }\n",
            5,
            "dependencies",
        ),
        ("[target.'cfg(unix)'.dependencies]\nseekwell-agent.workspace = true\n", 5, "dependencies"),
        ("[dependencies.seekwell-agent]\nworkspace = true\noptional = true\n", 4, "dependencies"),
        ("[target.x.dev-dependencies]\nseekwell-agent.workspace = true\n", 5, "dev-dependencies"),
    ] {
        assert_eq!(
            with("model", "seekwell-model", dependencies),
            [format!("{line}: `seekwell-agent` in [{table}] {upward}")]
        );
    }
}

#[test]
fn a_rename_in_the_workspace_hides_nothing_either() {
    let root = format!(
        "{ROOT_MANIFEST}\n[workspace.dependencies]\nhidden = {{ package = \"seekwell-agent\", path = \"x\" }}\n"
    );
    let member = manifest("seekwell-model", "[dependencies]\nhidden.workspace = true\n");
    assert_eq!(
        found(&[("Cargo.toml", &root), ("crates/model/Cargo.toml", &member)]),
        [
            "crates/model/Cargo.toml:5: `seekwell-agent` in [dependencies] though `agent` is above `model` [arrow]"
        ]
    );
}

#[test]
fn tools_and_test_crates_are_not_for_production() {
    for (dependencies, expected) in [
        (
            "[dependencies]\nseekwell-testing.workspace = true\n",
            "5: `seekwell-testing` in [dependencies] though it serves tests only [arrow]",
        ),
        (
            "[dev-dependencies]\nxtask = { path = \"../../xtask\" }\n",
            "5: `xtask` in [dev-dependencies] though it is a tool, not a room [arrow]",
        ),
        (
            "[dependencies]\nanyhow = \"1\"\n",
            "5: `anyhow` in [dependencies] of a library, which has typed errors [arrow]",
        ),
        (
            "[dependencies]\nseekwell-magic = \"1\"\n",
            "5: `seekwell-magic` in [dependencies] which is no room of the design [arrow]",
        ),
    ] {
        assert_eq!(with("stats", "seekwell-stats", dependencies), [expected]);
    }
    let xtask =
        manifest("xtask", "[dependencies]\nanyhow = \"1\"\nseekwell-spec.workspace = true\n");
    assert_eq!(found(&[("xtask/Cargo.toml", &xtask)]), [""; 0]);
}

#[test]
fn only_cli_has_the_parser_of_the_command_line() {
    let dependencies = "[dependencies]\nclap = { version = \"4\", features = [\"derive\"] }\n";
    assert_eq!(
        with("stats", "seekwell-stats", dependencies),
        ["5: `clap` in [dependencies] outside cli [clap]"]
    );
    assert_eq!(with("cli", "seekwell", dependencies), [""; 0]);
}

#[test]
fn the_shared_test_crate_knows_no_room() {
    assert_eq!(
        with("testing", "seekwell-testing", "[dependencies]\nseekwell-host.workspace = true\n"),
        ["5: `seekwell-host` in [dependencies] though `host` is above `testing` [arrow]"]
    );
}

#[test]
fn a_room_has_its_place_and_its_name() {
    assert_eq!(
        with("magic", "seekwell-magic", ""),
        ["1: `magic`, a room that the layers in xtask/src/tidy/manifests.rs do not know [arrow]"]
    );
    assert_eq!(
        with("stats", "seekwell-model", ""),
        ["1: package `seekwell-model` in the folder of `stats` [arrow]"]
    );
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for text in ["", "[lints]\nworkspace = false\n", "[lints.rust]\nmissing_docs = \"allow\"\n"] {
        let text = format!("[package]\nname = \"seekwell-stats\"\n{text}");
        assert_eq!(
            found(&[("crates/stats/Cargo.toml", &text)]),
            ["crates/stats/Cargo.toml:1: no `[lints] workspace = true` in this manifest [lints]"]
        );
    }
}

#[test]
fn the_workspace_denies_what_the_house_rules_rest_on() {
    let weaker = ROOT_MANIFEST
        .replace("missing_docs = \"deny\"", "missing_docs = \"warn\"")
        .replace("level = \"forbid\"", "level = \"allow\"")
        .replace("exit = \"deny\"\n", "");
    assert_eq!(
        found(&[("Cargo.toml", &weaker)]),
        [
            "Cargo.toml:1: no `exit = \"deny\"` in [workspace.lints.clippy] [lints]",
            "Cargo.toml:1: no `missing_docs = \"deny\"` in [workspace.lints.rust] [lints]",
            "Cargo.toml:1: no `unsafe_op_in_unsafe_fn = \"deny\"` in [workspace.lints.rust] [lints]",
        ]
    );
}

#[test]
fn a_manifest_that_does_not_parse_is_a_finding() {
    let found = found(&[("crates/stats/Cargo.toml", "[package]\nname = \n")]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("crates/stats/Cargo.toml:2: not TOML that parses ("), "{found:?}");
}
