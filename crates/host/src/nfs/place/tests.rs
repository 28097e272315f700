use super::*;
use crate::fixture::Machine;
use crate::undo;

/// A machine whose procfs has this process and the first one, in networks of these names.
fn machine(own: &str, first: &str) -> Machine {
    let machine = Machine::new();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    machine.write(&format!("proc/{}/stat", std::process::id()), stat.trim_end());
    for (process, network) in [("self", own), ("1", first)] {
        fs::create_dir_all(machine.path(&format!("proc/{process}/ns"))).unwrap();
        let link = machine.path(&format!("proc/{process}/ns/net"));
        std::os::unix::fs::symlink(format!("net:[{network}]"), link).unwrap();
    }
    machine
}

#[test]
fn a_server_needs_a_network_that_the_first_process_is_not_in() {
    assert!(has_own_network(&machine("1", "2").system()));
    let shared = machine("2", "2");
    let system = shared.system();
    assert!(!has_own_network(&system));
    let list = shared.path("run/one.undo");
    let mut undo = Undo::create(&system, &list, "run-1").unwrap();
    let error = Place::find(&system, &mut undo, &shared.path("run")).unwrap_err();
    assert!(error.to_string().contains("network namespace of its own"), "{error}");
    assert!(!undo.has(&Target::Server { path: list.with_extension(EXTENSION) }));
}

#[test]
fn an_agent_may_set_up_a_network_of_its_own_for_a_server_and_no_other() {
    let power = CapabilitySet::NET_ADMIN | CapabilitySet::NET_BIND_SERVICE;
    let (own, shared) = (machine("1", "2"), machine("2", "2"));
    assert!(rights(&own.system(), true).contains(power));
    for (system, serves) in [(own.system(), false), (shared.system(), true)] {
        assert!(!rights(&system, serves).intersects(power), "{serves}");
    }
    // A machine that does not say is not trusted.
    assert!(!rights(&Machine::new().system(), true).intersects(power));
}

#[test]
fn a_server_is_noted_before_it_is_there_and_one_that_never_was_is_done() {
    let machine = machine("1", "2");
    let system = machine.system();
    let list = machine.path("run/one.undo");
    let folder = list.with_extension(EXTENSION);
    let mut undo = Undo::create(&system, &list, "run-1").unwrap();
    // Without nsenter nothing is mounted.
    let error = keep(&system, &mut undo).unwrap_err();
    assert!(error.to_string().contains("nsenter"), "{error}");
    assert!(undo.has(&Target::Server { path: folder.clone() }));
    assert!(folder.exists());
    let restored = undo::restore(&system, &list).unwrap();
    assert_eq!(restored.problems, [""; 0]);
    assert!(!folder.exists() && !list.exists());
}
