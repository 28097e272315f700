use super::*;
use seekwell_spec::{expand, read_lab_bytes};

fn facts() -> BackendFacts {
    let all = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    BackendFacts {
        schedulers: all(&["none", "mq-deadline", "kyber", "bfq"]),
        kernel_filesystems: all(&["ext4", "xfs", "btrfs", "f2fs"]),
        layers: all(&["raid5", "raid10"]),
        programs: all(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.f2fs", "mdadm"]),
        ..BackendFacts::default()
    }
}

fn base() -> Table {
    "[[device]]\nname = \"d\"\nmodel = { name = \"m\", size = \"3GiB\" }\n\
     [[workload]]\nkind = \"mail\"\nfiles = 10\n[judge]\nmetric = \"unpack.elapsed_durable\"\nrounds = 6\n"
        .parse()
        .expect("a table")
}

#[test]
fn a_configuration_is_named_as_a_lab_names_it() {
    let spaces = spaces(&facts(), None);
    let ext4 = spaces.iter().find(|one| one.filesystem.name == "ext4").expect("there");
    let mut levels = vec![0; ext4.space().axes.len()];
    assert_eq!(ext4.configured(&levels).label(), "ext4/none");
    let last = levels.len() - 1;
    (levels[0], levels[2], levels[last - 2], levels[last]) = (1, 1, 2, 2);
    let configured = ext4.configured(&levels);
    assert_eq!(
        configured.label(),
        "ext4[-I 512,noatime]/mq-deadline[fifo_batch=1,read_ahead_kb=1024]"
    );
}

fn array(kind: &str) -> Table {
    format!("name = \"array\"\nkind = \"{kind}\"\ndevices = 4\n").parse().expect("a table")
}

#[test]
fn options_of_an_array_are_searched_too() {
    let spaces = spaces(&facts(), Some(&array("raid5")));
    let ext4 = spaces.iter().find(|one| one.filesystem.name == "ext4").expect("there");
    let mut levels = vec![0; ext4.space().axes.len()];
    assert_eq!(ext4.configured(&levels).label(), "ext4/none/raid5");
    let last = levels.len() - 1;
    (levels[last - 1], levels[last]) = (1, 1);
    let configured = ext4.configured(&levels);
    assert_eq!(configured.label(), "ext4/none/raid5[chunk=64KiB,stripe_cache=4096]");
    let layer = configured.layer.expect("there");
    assert_eq!(layer["stripe_cache"].as_integer(), Some(4096));
    assert_eq!(layer["devices"].as_integer(), Some(4));
}

#[test]
fn every_option_that_is_searched_can_be_written_in_a_lab() {
    let arrays = LAYERS.iter().map(|(kind, _)| array(kind)).collect::<Vec<_>>();
    let of_arrays = arrays.iter().flat_map(|array| spaces(&facts(), Some(array)));
    for searched in spaces(&facts(), None).into_iter().chain(of_arrays) {
        let axes = searched.space().axes;
        let single = |axis: usize, level: usize| {
            let mut levels = vec![0; axes.len()];
            levels[axis] = level;
            searched.configured(&levels)
        };
        let singles =
            (0..axes.len()).flat_map(|axis| (1..axes[axis]).map(move |level| (axis, level)));
        // The last has every option, and the longest name.
        let whole: Vec<usize> = axes.iter().map(|levels| levels - 1).collect();
        let all: Vec<Configured> = singles
            .map(|(axis, level)| single(axis, level))
            .chain([searched.configured(&whole)])
            .collect();
        let text = toml::to_string(&lab_of(&base(), &all)).expect("a lab");
        let file = read_lab_bytes(text.as_bytes(), "lab.toml")
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let stacks =
            expand(&file, &facts()).unwrap_or_else(|error| panic!("{error}\n{text}")).stacks;
        assert_eq!(stacks.len(), all.len(), "{text}");
    }
}

#[test]
fn what_the_kernel_or_the_programs_lack_is_not_searched() {
    let mut facts = facts();
    facts.kernel_filesystems.retain(|name| name != "f2fs");
    facts.programs.retain(|name| name != "mkfs.xfs");
    facts.schedulers = vec!["none".into(), "bfq".into()];
    let spaces = spaces(&facts, None);
    let names: Vec<&str> = spaces.iter().map(|one| one.filesystem.name).collect();
    assert_eq!(names, ["ext4", "btrfs"]);
    let kinds: Vec<&str> = spaces[0].schedulers.iter().map(|index| SCHEDULERS[*index].0).collect();
    assert_eq!(kinds, ["none", "bfq", "bfq"]);
}

#[test]
fn no_option_gives_up_what_was_synced() {
    for searched in spaces(&facts(), None) {
        let unsafe_words = searched.filesystem.no_flush_mount;
        for choice in searched.filesystem.choices {
            let words: Vec<&str> =
                choice.values().iter().flat_map(|value| value.iter().copied()).collect();
            assert!(words.iter().all(|word| !unsafe_words.contains(word)), "{words:?}");
            let others = ["data=writeback", "fast_commit", "nodatacow", "nodatasum", "nobarrier"];
            assert!(words.iter().all(|word| !others.contains(word)), "{words:?}");
        }
    }
}
