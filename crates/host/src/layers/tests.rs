use super::*;
use crate::undo::Target;
use seekwell_model::field::Values;
use seekwell_model::layers::layer_kind;
use std::fs;

/// A system whose only program is `mdadm`: it keeps its arguments and input, and fails when the first
/// argument is `--fail`.
fn system(root: &Path) -> System {
    let program = root.join("bin/mdadm");
    let log = root.join("log").display().to_string();
    let script = format!(
        "#!/bin/sh\nread -r line\necho \"$* <$line> $DM_DISABLE_UDEV\" >> {log}\n[ \"$1\" != --fail ]\n"
    );
    seekwell_testing::program(&program, &script);
    System::rooted_at(root)
}

fn run_of(word: &str, input: &str) -> Action {
    let arguments = vec![word.to_owned(), "/dev/md0".to_owned()];
    Action::Run { program: "mdadm", arguments, input: input.to_owned() }
}

#[test]
fn every_layer_is_taken_down_the_last_first_also_after_one_that_fails() {
    let root = tempfile::tempdir().unwrap();
    let system = system(root.path());
    let mut up = Assembled {
        commands: vec![],
        added: vec![],
        watched: vec![],
        close: vec![vec![run_of("--stop", "")], vec![run_of("--fail", ""), run_of("--zero", "")]],
    };
    let error = up.take_down(&system).unwrap_err().to_string();
    assert!(error.contains("mdadm --fail /dev/md0"), "{error}");
    let log = fs::read_to_string(root.path().join("log")).unwrap();
    assert_eq!(log, "--fail /dev/md0 <> 1\n--zero /dev/md0 <> 1\n--stop /dev/md0 <> 1\n");
    up.take_down(&system).unwrap();
}

#[test]
fn a_layer_that_fails_half_way_is_left_to_the_undo_list() {
    let root = tempfile::tempdir().unwrap();
    let system = System::rooted_at(root.path());
    let layer = Layer::new(layer_kind("raid1").unwrap(), None, None, &Values::default());
    let parts = vec![layer];
    let below = |node: &str| Below { node: node.to_owned(), sectors: 1 << 20 };
    // All other numbers are taken.
    for number in (0..120).filter(|number| *number != 101) {
        fs::create_dir_all(system.block(&format!("md{number}"))).unwrap();
    }
    let mut up = Assembled::default();
    let mut undo = Undo::in_memory(&system);
    let mut supply = Supply {
        system: &system,
        how: How::Make,
        devices: vec![below("/dev/a"), below("/dev/b")].into_iter(),
        fast: vec![].into_iter(),
        index: 0,
        undo: &mut undo,
        up: &mut up,
    };
    let error = supply.build(&parts).unwrap_err().to_string();
    assert_eq!(error, "mdadm is not installed; install it with: apt-get install mdadm");
    // Stopping the array by its number could stop one that another program has made meanwhile.
    assert!(up.close.is_empty());
    assert!(up.commands[0].starts_with("mdadm --create /dev/md101 "), "{:?}", up.commands);
    assert!(undo.has(&Target::Array { device: "md101".to_owned() }));
}

#[test]
fn a_program_gets_its_input_and_its_command_is_shown_with_it() {
    let root = tempfile::tempdir().unwrap();
    let system = system(root.path());
    let action = run_of("create", "0 8 linear\n");
    act(&system, &action).unwrap();
    let log = fs::read_to_string(root.path().join("log")).unwrap();
    assert_eq!(log, "create /dev/md0 <0 8 linear> 1\n");
    assert_eq!(shown(&action), "mdadm create /dev/md0 <<< '0 8 linear'");
}

#[test]
fn a_layer_that_stopped_working_is_told_with_its_status() {
    let root = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\ncase $2 in *-5-snap) echo 0 157696 snapshot Invalid;; *) echo 0 157696 snapshot 16/39424 16;; esac\n";
    seekwell_testing::program(&root.path().join("bin/dmsetup"), script);
    let system = System::rooted_at(root.path());
    let below = [Below { node: "/dev/a".to_owned(), sectors: 1 << 20 }];
    let layer = Layer::new(layer_kind("snapshot").unwrap(), None, None, &Values::default());
    let up = |index| {
        let site = Site { layer: &layer, index, below: &below, fast: None };
        let watched = layer.find().unwrap().watched(&site).into_iter().collect();
        Assembled { watched, ..Assembled::default() }
    };
    up(4).check(&system).unwrap();
    assert_eq!(
        up(5).check(&system).unwrap_err().to_string(),
        "the layer seekwell-5-snap stopped working (0 157696 snapshot Invalid): its space for copies is full, and later writes copied nothing; use a larger device, or write less"
    );
}
