//! The round trip of settings: set, put back, compared as a whole. Against a scripted sysfs that
//! recomputes as the kernel does, and against the kernel on loop devices. A loop device that becomes free
//! is in `tests/free_loop_device.rs`.

use super::*;
use crate::fixture::Machine;
use crate::queue::{self, Wanted};
use crate::undo::Undo;
use proptest::prelude::*;
use seekwell_model::stack::WriteCache;
use std::time::Duration;

fn touched(name: &str) -> BTreeSet<String> {
    BTreeSet::from([name.to_owned()])
}

#[test]
fn what_a_run_touched_is_told_apart_from_what_others_changed() {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 4096);
    for name in ["sda", "sdb"] {
        machine.attribute(name, "queue/read_ahead_kb", "128");
    }
    machine.write("proc/sys/vm/dirty_ratio", "20");
    let before = Settings::read(&machine.system());
    machine.attribute("sda", "queue/read_ahead_kb", "1024");
    machine.attribute("sdb", "queue/iosched/fifo_batch", "16");
    machine.write("proc/sys/vm/dirty_ratio", "10");
    let after = Settings::read(&machine.system());
    let (ours, others) = before.differences(&after, &touched("sda"));
    let text = |found: &[Difference]| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let by_others = "; another program changed it after Seekwell had restored it";
    assert_eq!(
        text(&ours),
        [format!("sda: read_ahead_kb was 128 before the run and is 1024 now{by_others}")]
    );
    assert_eq!(
        text(&others),
        [
            "sdb: iosched/fifo_batch was missing before the run and is 16 now",
            "sysctl vm: dirty_ratio was 20 before the run and is 10 now",
        ]
    );
    // Another disk under the name of an untouched one is no change of settings.
    machine.attribute("sdb", "diskseq", "8");
    let (_, others) = before.differences(&Settings::read(&machine.system()), &touched("sda"));
    assert_eq!(others.len(), 1);
}

#[test]
fn a_setting_that_no_undo_list_has_is_not_laid_to_another_program() {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 4096);
    for (name, value) in [("read_ahead_kb", "128"), ("discard_max_bytes", "4096")] {
        machine.attribute("sdb", &format!("queue/{name}"), value);
    }
    let before = Settings::read(&machine.system());
    for (name, value) in [("read_ahead_kb", "64"), ("discard_max_bytes", "0")] {
        machine.attribute("sdb", &format!("queue/{name}"), value);
    }
    let (ours, _) = before.differences(&Settings::read(&machine.system()), &touched("sdb"));
    let found: Vec<(&str, bool)> =
        ours.iter().map(|found| (found.attribute.as_str(), found.by_others)).collect();
    assert_eq!(found, [("discard_max_bytes", false), ("read_ahead_kb", true)]);
}

#[test]
fn loop_devices_that_other_programs_have_are_left_out() {
    let mut machine = Machine::new();
    for (name, number) in [("loop3", "7:3"), ("loop4", "7:4"), ("loop5", "7:5")] {
        machine.disk(name, number, 4096);
        machine.attribute(name, "queue/read_ahead_kb", "128");
    }
    let before = Settings::read(&machine.system());
    for name in ["loop3", "loop4", "loop5"] {
        machine.attribute(name, "queue/read_ahead_kb", "2560");
    }
    // Both have had an image of the run; now one is another program's, and the other is locked by another Seekwell.
    let used = BTreeSet::from(["loop3".to_owned(), "loop4".to_owned()]);
    for name in ["loop3", "loop4"] {
        machine.attribute(name, "diskseq", "8");
    }
    let devices = |machine: &Machine| {
        let (ours, others) = before.differences(&Settings::read(&machine.system()), &used);
        let all = ours.into_iter().chain(others);
        all.map(|found| found.device).collect::<Vec<_>>()
    };
    assert_eq!(devices(&machine), ["loop3", "loop4", "loop5"]);
    machine.attribute("loop3", "loop/backing_file", "/somebody/elses.img");
    machine.locked("loop4");
    machine.locked("loop5");
    assert_eq!(devices(&machine), [""; 0]);
}

#[test]
fn read_ahead_comes_back_after_a_run_that_sets_a_limit() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "read_ahead_comes_back_after_a_run_that_sets_a_limit",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = crate::fixture::ram_device(4);
    let name = device.kernel_name();
    for odd in ["132", "128", "4096"] {
        let mut outer = Undo::in_memory(&system);
        let ahead = Wanted { read_ahead_kb: odd.parse().ok(), ..Wanted::default() };
        queue::apply(&system, name, &ahead, &mut outer).unwrap();
        let before = Settings::read(&system);
        let folder = tempfile::tempdir().unwrap();
        let mut undo = Undo::create(&system, &folder.path().join("one.undo"), "run-1").unwrap();
        let wanted = Wanted {
            max_sectors_kb: Some(512),
            write_cache: Some(WriteCache::WriteThrough),
            ..Wanted::default()
        };
        assert_eq!(queue::apply(&system, name, &wanted, &mut undo).unwrap(), []);
        assert_eq!(queue::restore(&system, name, &mut undo).unwrap().problems, [""; 0]);
        let (ours, _) = before.differences(&Settings::read(&system), &touched(name));
        assert_eq!(ours, [], "read_ahead_kb = {odd}");
        queue::restore(&system, name, &mut outer).unwrap();
    }
}

/// The file goes with the agent, before anybody restores.
#[test]
fn a_write_cache_that_a_killed_agent_switched_off_is_on_for_the_next_file() {
    let test = "a_write_cache_that_a_killed_agent_switched_off_is_on_for_the_next_file";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let system = System::host();
    let (_image, device) = crate::fixture::ram_device(4);
    let name = device.kernel_name().to_owned();
    let cache = || queue::read(&system, &name).unwrap().write_cache;
    let before = cache();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("one.undo");
    let mut undo = Undo::create(&system, &list, "run-1").unwrap();
    let wanted = Wanted { write_cache: Some(WriteCache::WriteThrough), ..Wanted::default() };
    queue::apply(&system, &name, &wanted, &mut undo).unwrap();
    drop(device);
    crate::loop_device::wait_detached(&system, &name, Duration::from_secs(10)).unwrap();
    drop(undo);
    assert_eq!(crate::undo::restore(&system, &list).unwrap().problems, [""; 0]);
    let (_image, again) = crate::fixture::ram_device(4);
    if again.kernel_name() != name {
        return seekwell_testing::skip(test, "another process took the loop device");
    }
    assert_eq!(cache(), before);
}

/// Settings of a lab, drawn at random; 0 is for "leave it".
fn wanted() -> impl Strategy<Value = Wanted> {
    let limit = |values: &'static [u32]| prop::option::of(prop::sample::select(values.to_vec()));
    (
        prop::option::of(prop::sample::select(vec!["none", "mq-deadline", "bfq", "kyber"])),
        limit(&[4, 32, 64, 100, 256]),
        limit(&[0, 4, 132, 128, 512, 4096]),
        limit(&[64, 128, 512, 1024, 1280]),
        prop::option::of(any::<bool>()),
        prop::option::of(any::<bool>()),
        prop::option::of(1..32_u32),
    )
        .prop_map(|(scheduler, requests, ahead, sectors, rotational, back, batch)| Wanted {
            tunables: batch
                .filter(|_| scheduler == Some("mq-deadline"))
                .map(|value| ("fifo_batch".to_owned(), value.to_string()))
                .into_iter()
                .collect(),
            scheduler: scheduler.map(str::to_owned),
            nr_requests: requests,
            usual_requests: None,
            read_ahead_kb: ahead,
            max_sectors_kb: sectors,
            rotational,
            write_cache: back
                .map(|back| if back { WriteCache::WriteBack } else { WriteCache::WriteThrough }),
            hdparm: vec![],
        })
}

/// A person's settings, then so many trials, with a kill of the agent after some of them: the list
/// alone then puts everything back.
fn course() -> impl Strategy<Value = (Wanted, Vec<(Wanted, bool)>)> {
    (wanted(), prop::collection::vec((wanted(), any::<bool>()), 1..5))
}

/// Runs the course on a device and says what is different at its end.
fn differences(
    system: &System,
    name: &str,
    course: &(Wanted, Vec<(Wanted, bool)>),
) -> (Vec<String>, Vec<Difference>) {
    let folder = tempfile::tempdir().unwrap();
    let mut outer = Undo::create(system, &folder.path().join("outer.undo"), "person").unwrap();
    let _ = queue::apply(system, name, &course.0, &mut outer);
    let before = Settings::read(system);
    let list = folder.path().join("one.undo");
    let mut undo = Undo::create(system, &list, "run-1").unwrap();
    let mut problems = Vec::new();
    for (wanted, killed) in &course.1 {
        // A scheduler that this kernel lacks ends the trial half way; that must come back too.
        let _ = queue::apply(system, name, wanted, &mut undo);
        if *killed {
            undo = Undo::open(system, &list).unwrap();
        } else {
            problems.extend(queue::restore(system, name, &mut undo).unwrap().problems);
        }
    }
    drop(undo);
    problems.extend(crate::undo::restore(system, &list).unwrap().problems);
    let (ours, _) = before.differences(&Settings::read(system), &touched(name));
    problems.extend(queue::restore(system, name, &mut outer).unwrap().problems);
    (problems, ours)
}

/// 1,000 courses: `SEEKWELL_COURSES=1000 cargo test -p seekwell-host random_settings`.
fn courses(few: u32) -> ProptestConfig {
    let cases = std::env::var("SEEKWELL_COURSES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or_else(|| seekwell_testing::cases(few / 4, few)),
        max_shrink_iters: 64,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(courses(200))]

    #[test]
    fn random_settings_come_back_on_a_queue_that_recomputes(course in course()) {
        let machine = Machine::new();
        machine.recomputing_queue("sda");
        let (problems, ours) = differences(&machine.system(), "sda", &course);
        prop_assert_eq!(problems, [""; 0]);
        prop_assert_eq!(ours, vec![]);
    }
}

#[test]
fn random_settings_come_back_on_a_real_loop_device() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "random_settings_come_back_on_a_real_loop_device",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = crate::fixture::ram_device(4);
    let name = device.kernel_name();
    proptest!(courses(24), |(course in course())| {
        let (problems, ours) = differences(&system, name, &course);
        prop_assert_eq!(problems, [""; 0]);
        prop_assert_eq!(ours, vec![]);
    });
}
