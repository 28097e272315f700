use super::*;
use crate::lab_file::read_lab_bytes;
use proptest::prelude::*;
use seekwell_model::units::Bytes;
use std::collections::BTreeSet;

fn file(text: &str) -> LabFile {
    read_lab_bytes(text.as_bytes(), "lab.toml").unwrap_or_else(|mistake| panic!("{mistake}"))
}

fn facts() -> BackendFacts {
    BackendFacts {
        schedulers: ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec(),
        ram: Some(Bytes::gib(8)),
        ..BackendFacts::default()
    }
}

fn codes(expansion: &Expansion) -> Vec<&str> {
    expansion.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn labels_hold_the_names_on_axes_with_several_values_and_nothing_else() {
    let one = "[scheduler]\nchoose = [\"none\"]\n[[workload]]\nkind = \"seek\"\n";
    let expansion = expand(&file(one), &facts()).unwrap();
    assert_eq!(expansion.stacks[0].label, "default");
    assert_eq!(codes(&expansion), ["one-stack"]);
    let three = "[[workload]]\nkind = \"seek\"\n";
    let expansion = expand(&file(three), &facts()).unwrap();
    let labels: Vec<&str> = expansion.stacks.iter().map(|stack| stack.label.as_str()).collect();
    assert_eq!(labels, ["none", "mq-deadline", "bfq"]);
}

#[test]
fn a_place_that_does_not_say_its_schedulers_needs_a_lab_that_names_them() {
    let all = "[[workload]]\nkind = \"seek\"\n";
    let mistake = expand(&file(all), &BackendFacts::default()).unwrap_err();
    assert!(mistake.message.contains("does not say which"), "{mistake}");
    let named = format!("[scheduler]\nchoose = [\"kyber\"]\n{all}");
    assert_eq!(expand(&file(&named), &BackendFacts::default()).unwrap().candidates.len(), 1);
}

#[test]
fn the_journal_has_the_same_size_inside_and_outside() {
    let lab = "[[journal]]\nname = \"in\"\n[[journal]]\nname = \"out\"\nram = \"48MiB\"\n\
               [[filesystem]]\ntype = \"ext3\"\n[[filesystem]]\ntype = \"reiserfs\"\n\
               [[filesystem]]\ntype = \"jfs\"\n[scheduler]\nchoose = [\"none\"]\n\
               [[workload]]\nkind = \"mail\"\n";
    let expansion = expand(&file(lab), &facts()).unwrap();
    let sizes: Vec<(&str, Option<Bytes>)> =
        expansion.stacks.iter().map(|stack| (stack.label.as_str(), stack.journal.size)).collect();
    let mib = |size| Some(Bytes::mib(size));
    assert_eq!(
        sizes,
        [
            ("in/ext3", mib(48)),
            ("in/reiserfs", mib(32)),
            ("in/jfs", mib(48)),
            ("out/ext3", mib(48)),
            ("out/reiserfs", mib(32)),
            ("out/jfs", mib(48)),
        ]
    );
}

#[test]
fn a_size_that_the_lab_gives_to_one_placement_holds_for_the_other() {
    let lab = |inside: &str, outside: &str| {
        format!(
            "[[journal]]\nname = \"in\"\n{inside}\n[[journal]]\nname = \"out\"\nram = \"128MiB\"\n\
             {outside}\n[scheduler]\nchoose = [\"none\"]\n[[workload]]\nkind = \"mail\"\n"
        )
    };
    let sizes = |text: &str| -> Vec<u64> {
        let expansion = expand(&file(text), &facts()).unwrap();
        expansion.stacks.iter().map(|stack| stack.journal.size.unwrap().0 >> 20).collect()
    };
    assert_eq!(sizes(&lab("", "")), [64, 64]);
    assert_eq!(sizes(&lab("size = \"8MiB\"", "")), [8, 8]);
    assert_eq!(sizes(&lab("", "size = \"96MiB\"")), [96, 96]);
    assert_eq!(sizes(&lab("size = \"8MiB\"", "size = \"96MiB\"")), [8, 96]);
}

#[test]
fn a_journal_inside_a_small_device_is_made_smaller() {
    let lab = "[[device]]\nloop = \"128MiB\"\n[scheduler]\nchoose = [\"none\"]\n\
               [[workload]]\nkind = \"mail\"\nfiles = 100\n";
    let expansion = expand(&file(lab), &facts()).unwrap();
    assert_eq!(expansion.stacks[0].journal.size, Some(Bytes::mib(32)));
}

#[test]
fn facts_that_nobody_gathered_refuse_nothing() {
    let lab =
        "[[filesystem]]\ntype = \"jfs\"\n[[workload]]\nkind = \"mail\"\n[trial]\nfsck = true\n";
    let expansion = expand(&file(lab), &facts()).unwrap();
    assert_eq!(expansion.candidates.len(), 3);
    assert!(expansion.left_out.is_empty());
}

/// A machine without jfs and without the programs of f2fs.
fn a_machine() -> BackendFacts {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    BackendFacts {
        kernel_filesystems: texts(&["ext4", "xfs", "f2fs"]),
        programs: texts(&["mkfs.ext4", "mkfs.xfs"]),
        ..facts()
    }
}

#[test]
fn a_workload_whose_program_is_missing_is_left_out_with_its_package() {
    let database = "[[workload]]\nname = \"database\"\nkind = \"pgbench\"\n";
    let mail = "[[workload]]\nname = \"mail\"\nkind = \"mail\"\nfiles = 100\n";
    let schedulers = "[scheduler]\nchoose = [\"none\", \"bfq\"]\n";
    let lab = format!("{schedulers}{mail}{database}");
    let expansion = expand(&file(&lab), &a_machine()).unwrap();
    assert_eq!(expansion.candidates.len(), 2, "mail on each scheduler");
    let warnings = expansion.warnings.iter().filter(|warning| warning.code == "not-available");
    let told: Vec<&str> = warnings.clone().map(|warning| warning.text.as_str()).collect();
    assert_eq!(told, ["workload \"database\" is left out: postgres is not installed"]);
    let remedies: Vec<&str> = warnings.map(|warning| warning.remedy.as_str()).collect();
    assert_eq!(remedies, ["install it: apt-get install postgresql"]);
    let alone = expand(&file(&format!("{schedulers}{database}")), &a_machine()).unwrap_err();
    assert!(alone.to_string().contains("postgres is not installed"), "{alone}");
    let mut with_both = a_machine();
    with_both.programs.extend(["postgres", "pgbench"].map(str::to_owned));
    assert_eq!(expand(&file(&lab), &with_both).unwrap().candidates.len(), 4);
}

#[test]
fn what_the_machine_lacks_is_left_out_with_a_warning_while_two_stacks_are_left() {
    let lab = |schedulers: &str, kinds: &[&str]| {
        let kinds: String =
            kinds.iter().map(|kind| format!("[[filesystem]]\ntype = \"{kind}\"\n")).collect();
        let rest = "[[workload]]\nkind = \"mail\"\nfiles = 100\n";
        expand(&file(&format!("{kinds}[scheduler]\nchoose = {schedulers}\n{rest}")), &a_machine())
    };
    let expansion = lab("[\"none\", \"kyber\"]", &["ext4", "jfs", "xfs", "f2fs"]).unwrap();
    assert_eq!(expansion.stacks.len(), 2);
    let mut told: Vec<&str> = expansion
        .warnings
        .iter()
        .filter(|warning| warning.code == "not-available")
        .map(|warning| warning.text.as_str())
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "filesystem \"f2fs\" is left out: mkfs.f2fs is not installed",
            "filesystem \"jfs\" is left out: this kernel does not mount jfs",
            "scheduler \"kyber\" is left out: this kernel offers none, mq-deadline, bfq",
        ]
    );
    let alone = lab("[\"none\"]", &["ext4", "jfs"]).unwrap_err().to_string();
    assert!(alone.contains("this kernel does not mount jfs"), "{alone}");
    let one = lab("[\"none\", \"kyber\"]", &["ext4"]).unwrap_err().to_string();
    assert!(one.contains("only one stack is left on this machine"), "{one}");
    assert_eq!(lab("[\"none\"]", &["ext4"]).unwrap().stacks.len(), 1, "nothing was left out");
}

#[test]
fn a_named_stack_that_the_machine_lacks_is_left_out_too() {
    let text = "[lab]\nstacks_only = true\n[[filesystem]]\ntype = \"ext4\"\n[[filesystem]]\ntype = \"jfs\"\n\
                [[filesystem]]\ntype = \"xfs\"\n[scheduler]\nchoose = [\"none\"]\n\
                [[stack]]\nfilesystem = [\"jfs\", \"ext4\", \"xfs\"]\n\
                [[workload]]\nkind = \"mail\"\nfiles = 100\n";
    let expansion = expand(&file(text), &a_machine()).unwrap();
    assert_eq!(expansion.stacks.len(), 2);
    assert!(expansion.warnings.iter().any(|warning| warning.code == "not-available"));
}

#[test]
fn a_large_lab_is_said_to_be_large() {
    let large_lab = |filesystems, memories| {
        let expansion = expand(&file(&large(filesystems, memories, "")), &facts()).unwrap();
        let mut found = expansion.warnings.into_iter().filter(|one| one.code == "large-lab");
        found.next().map(|warning| warning.text)
    };
    assert_eq!(large_lab(10, 10), None);
    assert_eq!(
        large_lab(50, 50).unwrap(),
        "5000 stacks: one round is 5000 trials with 1.3 TB of data, and a verdict takes several rounds"
    );
}

/// Many values on every axis, so that the product has this many pairs.
fn large(filesystems: usize, memories: usize, rest: &str) -> String {
    let mut text = String::new();
    for index in 0..filesystems {
        text += &format!("[[filesystem]]\ntype = \"ext4\"\nname = \"f{index}\"\n");
    }
    for index in 0..memories {
        text += &format!("[[memory]]\nlimit = \"{}MiB\"\n", 16 + index);
    }
    text + "[scheduler]\nchoose = [\"none\", \"bfq\"]\n[[workload]]\nkind = \"seek\"\n" + rest
}

#[test]
fn the_largest_lab_is_planned_and_the_next_one_is_refused() {
    let expansion = expand(&file(&large(250, 200, "")), &facts()).unwrap();
    assert_eq!(expansion.candidates.len(), 100_000);
    let labels: BTreeSet<&str> =
        expansion.stacks.iter().map(|stack| stack.label.as_str()).collect();
    assert_eq!(labels.len(), 100_000);
    let mistake = expand(&file(&large(251, 200, "")), &facts()).unwrap_err();
    assert!(mistake.message.contains("the limit is 100000"), "{mistake}");
    let many = large(250, 200, "[judge]\nrounds = 11\n");
    let mistake = expand(&file(&many), &facts()).unwrap_err();
    assert!(mistake.message.contains("the limit is 1000000"), "{mistake}");
}

#[test]
fn named_stacks_are_not_multiplied_by_a_product_that_is_not_wanted() {
    let only = "[lab]\nstacks_only = true\n[[stack]]\nfilesystem = \"f7\"\nmemory = \"17MiB\"\n";
    let expansion = expand(&file(&(only.to_owned() + &large(900, 900, ""))), &facts()).unwrap();
    assert_eq!(expansion.candidates.len(), 2);
}

const KINDS: [&str; 5] = ["ext3", "ext4", "xfs", "btrfs", "raw"];

/// A lab with a choice of values on every axis, some exclusions and some named stacks.
fn labs() -> impl Strategy<Value = String> {
    let some =
        |all: &'static [&'static str]| proptest::sample::subsequence(all.to_vec(), 1..=all.len());
    let journals = some(&["in", "small", "out", "mode"]);
    let rules = || {
        let rule = (
            proptest::option::of(0..5_usize),
            proptest::option::of(0..3_usize),
            proptest::option::of(0..4_usize),
            proptest::option::of(0..2_usize),
        );
        proptest::collection::vec(rule, 0..3)
    };
    let workloads = some(&["seek", "mail"]);
    (some(&KINDS), journals, some(&["none", "bfq", "kyber"]), workloads, rules(), rules()).prop_map(
        |(kinds, journals, schedulers, workloads, exclusions, stacks)| {
            let mut text = String::new();
            for journal in &journals {
                let rest = match *journal {
                    "small" => "size = \"8MiB\"\n",
                    "out" => "ram = \"128MiB\"\n",
                    "mode" if kinds.contains(&"ext3") || kinds.contains(&"ext4") => {
                        "data = \"writeback\"\n"
                    }
                    _ => "",
                };
                text += &format!("[[journal]]\nname = \"{journal}\"\n{rest}");
            }
            for kind in &kinds {
                text += &format!("[[filesystem]]\ntype = \"{kind}\"\n");
            }
            text += &format!("[scheduler]\nchoose = {schedulers:?}\n");
            for workload in &workloads {
                text += &format!("[[workload]]\nkind = \"{workload}\"\n");
            }
            for (header, rules) in [("exclude", exclusions), ("stack", stacks)] {
                for (kind, scheduler, journal, workload) in rules {
                    let picks = [
                        ("filesystem", kind.and_then(|at| kinds.get(at))),
                        ("scheduler", scheduler.and_then(|at| schedulers.get(at))),
                        ("journal", journal.and_then(|at| journals.get(at))),
                        ("workload", workload.and_then(|at| workloads.get(at))),
                    ];
                    let named = picks.iter().filter_map(|(axis, name)| {
                        name.map(|name| format!("{axis} = \"{name}\"\n"))
                    });
                    let named: String = named.collect();
                    if !named.is_empty() {
                        text += &format!("[[{header}]]\n{named}");
                    }
                }
            }
            text
        },
    )
}

/// Whether a pair can run on a place with these facts, worked out from the names alone.
fn can_run(lab: &Lab, kind: &str, journal: &str, scheduler: &str, workload: &str) -> bool {
    let has_mode = lab.journals.iter().any(|one| one.name == journal && one.data.is_some());
    let journalled = matches!(kind, "ext3" | "ext4" | "xfs");
    let misfits = [
        scheduler == "kyber",
        kind == "raw" && workload == "mail",
        journal == "out" && !journalled,
        journal == "small" && kind == "xfs",
        has_mode && kind == "xfs",
    ];
    !misfits.contains(&true)
}

fn matches(rule: &Match, kind: &str, journal: &str, scheduler: &str, workload: &str) -> bool {
    let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|one| one == name);
    is(&rule.filesystem, kind)
        && is(&rule.journal, journal)
        && is(&rule.scheduler, scheduler)
        && is(&rule.workload, workload)
}

type Quad = (String, String, String, String);

/// All pairs that must be there, the journal of a filesystem without one left empty; `None` when
/// the lab must be refused.
fn oracle(lab: &Lab) -> Option<BTreeSet<Quad>> {
    let SchedulerAxis::These(schedulers) = &lab.schedulers else { return None };
    let mut wanted = BTreeSet::new();
    let mut possible = vec![0; lab.stacks.len()];
    let mut only_lacking: Vec<Option<bool>> = vec![None; lab.stacks.len()];
    let mut lacks = false;
    for (journal, kind, scheduler, workload) in lab.journals.iter().flat_map(|journal| {
        lab.filesystems.iter().flat_map(move |kind| {
            schedulers.iter().flat_map(move |scheduler| {
                lab.workloads.iter().map(move |workload| (journal, kind, scheduler, workload))
            })
        })
    }) {
        let names = (&kind.kind, &journal.name, &scheduler.name, &workload.name);
        let hit = |rule: &Match| matches(rule, names.0, names.1, names.2, names.3);
        // The machine does not offer it: its stacks are left out, also those that are named.
        let lacking = names.2 == "kyber";
        for (index, _) in lab.stacks.iter().enumerate().filter(|(_, rule)| hit(rule)) {
            only_lacking[index] = Some(only_lacking[index].unwrap_or(true) && lacking);
        }
        let wanted_here = !lab.exclusions.iter().any(hit) || lab.stacks.iter().any(hit);
        lacks |= lacking && wanted_here;
        if !can_run(lab, names.0, names.1, names.2, names.3) {
            continue;
        }
        for (index, rule) in lab.stacks.iter().enumerate().filter(|(_, rule)| hit(rule)) {
            let _ = rule;
            possible[index] += 1;
        }
        if wanted_here {
            let journalled = matches!(names.0.as_str(), "ext3" | "ext4" | "xfs");
            let journal = if journalled { names.1.clone() } else { String::new() };
            wanted.insert((names.0.clone(), journal, names.2.clone(), names.3.clone()));
        }
    }
    let used = |name: &str| wanted.iter().any(|quad| quad.0 == name || quad.3 == name);
    let all_used = lab.filesystems.iter().all(|kind| used(&kind.kind))
        && lab.workloads.iter().all(|workload| used(&workload.name));
    let mut named = possible.iter().zip(&only_lacking);
    let all_named = named.all(|(count, lacking)| *count > 0 || *lacking == Some(true));
    let stacks: BTreeSet<_> = wanted.iter().map(|quad| (&quad.0, &quad.1, &quad.2)).collect();
    let enough = !lacks || stacks.len() >= 2;
    (all_used && all_named && enough).then_some(wanted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// The product agrees with a search through all names, and nothing is lost unaccounted.
    #[test]
    fn the_expansion_is_what_a_search_through_all_names_finds(text in labs()) {
        let file = file(&text);
        let expansion = expand(&file, &facts());
        let Some(wanted) = oracle(&file.lab) else {
            prop_assert!(expansion.is_err());
            return Ok(());
        };
        let expansion = expansion.map_err(|mistake| TestCaseError::fail(mistake.to_string()))?;
        let found: Vec<Quad> = expansion.candidates.iter().map(|candidate| {
            let stack = &expansion.stacks[candidate.stack as usize];
            let journalled = matches!(stack.filesystem.kind.as_str(), "ext3" | "ext4" | "xfs");
            let journal = if journalled { stack.journal.name.clone() } else { String::new() };
            let workload = file.lab.workloads[candidate.workload as usize].name.clone();
            (stack.filesystem.kind.clone(), journal, stack.scheduler.name.clone(), workload)
        }).collect();
        prop_assert_eq!(found.len(), wanted.len(), "a pair comes twice");
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
        let labels: BTreeSet<&str> =
            expansion.stacks.iter().map(|stack| stack.label.as_str()).collect();
        prop_assert_eq!(labels.len(), expansion.stacks.len(), "a label comes twice");
        if file.lab.stacks.is_empty() {
            let SchedulerAxis::These(schedulers) = &file.lab.schedulers else { unreachable!() };
            let product = file.lab.journals.len() * file.lab.filesystems.len()
                * schedulers.len() * file.lab.workloads.len();
            let lost: u64 = expansion.left_out.iter().map(|left| left.count).sum();
            prop_assert_eq!(lost + expansion.candidates.len() as u64, product as u64);
        }
        for left in &expansion.left_out {
            prop_assert!(left.count > 0 && !left.reason.is_empty() && !left.what.is_empty());
        }
    }
}

const RAID_LAB: &str = "[scheduler]\nchoose = [\"none\"]\n[[device]]\nloop = \"1GiB\"\n\
    [[layer]]\nkind = \"none\"\n[[layer]]\nkind = \"raid5\"\ndevices = 4\n[[layer.then]]\nkind = \"crypt\"\n\
    [[layer]]\nname = \"mirror\"\nkind = \"raid1\"\n[[workload]]\nkind = \"seek\"\n";

#[test]
fn a_filesystem_that_is_written_here_is_not_planned_where_it_cannot_be_made() {
    let lab = |devices: &[&str], mkfs: &str| {
        let devices: String =
            devices.iter().map(|size| format!("[[device]]\nloop = {size}\n")).collect();
        let text = format!(
            "[scheduler]\nchoose = [\"none\"]\n{devices}[[filesystem]]\ntype = \"ext4\"\n[[filesystem]]\ntype = \"ufs2\"\nmkfs = {mkfs}\n[[workload]]\nkind = \"mail\"\nfiles = 100\n"
        );
        expand(&file(&text), &facts()).map_err(|mistake| mistake.message)
    };
    let count = |devices: &[&str], mkfs: &str| lab(devices, mkfs).map(|found| found.stacks.len());
    let plain = ["\"1GiB\""];
    assert_eq!(count(&plain, "[]"), Ok(2));
    assert_eq!(count(&plain, "[\"-f\", \"2048\", \"-b\", \"16384\"]"), Ok(2));
    let refused = "no stack is left for filesystem \"ufs2[-f 2048]\": on device \"loop\", newfs -b 32768 -f 2048: a block has 1 to 8 fragments";
    assert_eq!(count(&plain, "[\"-f\", \"2048\"]"), Err(refused.to_owned()));
    let large = "{ size = \"1GiB\", sector = \"4KiB\" }";
    let refused = "no stack is left for filesystem \"ufs2\": on device \"loop\", Linux mounts it on sectors of 512B, and these have 4KiB";
    assert_eq!(count(&[large], "[]"), Err(refused.to_owned()));
    let named = format!("{large}\nname = \"large\"");
    let both = lab(&["\"1GiB\"\nname = \"small\"", &named], "[]").unwrap();
    assert_eq!(both.stacks.len(), 3);
    let lost = &both.left_out[0];
    assert_eq!(
        format!("{}: {}", lost.what, lost.reason),
        "filesystem \"ufs2\" on device \"large\": Linux mounts it on sectors of 512B, and these have 4KiB; use a device with sectors of 512B"
    );
}

#[test]
fn a_filesystem_that_the_kernel_only_reads_is_left_out_with_a_warning() {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut facts = facts();
    facts.kernel_filesystems = words(&["ext4", "ufs"]);
    facts.programs = words(&["mkfs.ext4"]);
    let text = "[scheduler]\nchoose = [\"none\", \"bfq\"]\n[[filesystem]]\ntype = \"ext4\"\n[[filesystem]]\ntype = \"ufs2\"\n[[workload]]\nkind = \"mail\"\nfiles = 100\n";
    assert_eq!(expand(&file(text), &facts).unwrap().stacks.len(), 4);
    facts.read_only_filesystems = words(&["ufs"]);
    let expansion = expand(&file(text), &facts).unwrap();
    assert_eq!(expansion.stacks.len(), 2);
    assert_eq!(
        expansion.warnings[0].text,
        "filesystem \"ufs2\" is left out: this kernel reads ufs and does not write it"
    );
}

#[test]
fn a_server_of_nfs_that_the_kernel_lacks_is_left_out_with_what_is_missing() {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut facts = facts();
    facts.kernel_filesystems = words(&["ext4"]);
    facts.programs = words(&["mkfs.ext4", "ip", "tc"]);
    facts.nfs_lacks = words(&["NFS server", "delay of a link"]);
    let text = "[scheduler]\nchoose = [\"none\", \"bfq\"]\n[[filesystem]]\ntype = \"ext4\"\n[[filesystem]]\ntype = \"ext4\"\nname = \"far\"\nnfs = \"4.2\"\n[[workload]]\nkind = \"mail\"\nfiles = 100\n";
    let expansion = expand(&file(text), &facts).unwrap();
    assert_eq!(expansion.stacks.len(), 2);
    assert_eq!(
        expansion.warnings[0].text,
        "filesystem \"far\" is left out: this kernel has no NFS server and no delay of a link"
    );
    facts.kernel_filesystems = words(&["ext4", "nfsd"]);
    facts.nfs_lacks.clear();
    assert_eq!(expand(&file(text), &facts).unwrap().stacks.len(), 4);
}

#[test]
fn layers_are_an_axis_between_device_and_filesystem() {
    let lab = file(RAID_LAB);
    let expansion = expand(&lab, &facts()).unwrap();
    let labels: Vec<&str> = expansion.stacks.iter().map(|stack| stack.label.as_str()).collect();
    assert_eq!(labels, ["none", "raid5[4]+crypt", "mirror"]);
    let layers = &expansion.stacks[1].layers;
    let kinds: Vec<&str> = layers.parts.iter().map(|layer| layer.kind.as_str()).collect();
    assert_eq!((kinds, layers.devices()), (vec!["raid5", "crypt"], 4));
    assert_eq!(layers.parts[0].text("chunk"), "512KiB");
    let named = format!("{RAID_LAB}[[exclude]]\nlayer = \"mirror\"\n");
    assert_eq!(expand(&file(&named), &facts()).unwrap().stacks.len(), 2);
}

#[test]
fn layers_that_a_backend_lacks_are_left_out_with_what_to_do() {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut facts = facts();
    facts.kernel_filesystems = words(&["ext4"]);
    facts.programs = words(&["mkfs.ext4", "mdadm"]);
    facts.layers = words(&["raid1", "raid5"]);
    let lab = file(RAID_LAB);
    let expansion = expand(&lab, &facts).unwrap();
    let labels: Vec<&str> = expansion.stacks.iter().map(|stack| stack.label.as_str()).collect();
    assert_eq!(labels, ["none", "mirror"]);
    assert_eq!(
        expansion.warnings[0].text,
        "layer \"raid5[4]+crypt\" is left out: the layer crypt is not available here"
    );
    facts.programs = words(&["mkfs.ext4"]);
    let mistake = expand(&lab, &facts).unwrap_err();
    assert!(mistake.message.contains("only one stack is left"), "{mistake}");
}

#[test]
fn layers_of_several_devices_are_not_on_one_disk() {
    let disk = RAID_LAB.replace("loop = \"1GiB\"", "disk = \"/dev/disk/by-id/x\"");
    let more = disk.replace("[[workload]]", "[[layer]]\nkind = \"crypt\"\n[[workload]]");
    let expansion = expand(&file(&more), &facts()).unwrap();
    let labels: Vec<&str> = expansion.stacks.iter().map(|stack| stack.label.as_str()).collect();
    assert_eq!(labels, ["none", "crypt"]);
    let lost = &expansion.left_out[1];
    let text = format!("{}: {}", lost.what, lost.reason);
    assert_eq!(
        text,
        "layer \"mirror\" on device \"disk\": it joins 2 devices, and this is one disk; use loop, ram or model, of which every device of the layers is made"
    );
}

#[test]
fn a_layer_decides_what_fits() {
    let fits = |kind: &str, data: &str| {
        let text = format!(
            "[scheduler]\nchoose = [\"none\"]\n[[device]]\nloop = \"64MiB\"\n[[layer]]\nkind = \"{kind}\"\n[[filesystem]]\ntype = \"raw\"\n[[workload]]\nkind = \"seek\"\nfile_size = \"{data}\"\n"
        );
        let lab = read_lab_bytes(text.as_bytes(), "lab.toml");
        lab.is_ok_and(|lab| expand(&lab, &facts()).is_ok())
    };
    assert!(!fits("raid1", "128MiB"));
    assert!(fits("raid0", "128MiB"));
    assert!(fits("raid5", "192MiB"));
    assert!(!fits("raid6", "192MiB"));
}

#[test]
fn a_drafted_mail_lab_has_no_doubt_about_memory() {
    let answers = crate::draft::Answers::from_list(
        ["mail", "scratch", "usual", "scheduler", "throughput", "10min"].map(str::to_owned),
    );
    let text = crate::draft::lab_text("mine", &answers, crate::draft::FRUGALITIES[0], None);
    let doubts = |text: &str| codes(&expand(&file(text), &facts()).unwrap()).join(" ");
    assert!(!doubts(&text).contains("data-set-in-memory"), "{}", doubts(&text));
    // Deliveries that nothing syncs may stay in memory.
    let early = text.replace("kind = \"maildir\"", "kind = \"maildir\"\nsync = \"none\"");
    assert!(doubts(&early).contains("data-set-in-memory"), "{}", doubts(&early));
    // Bytes that the device has to write are counted after the sync.
    let worn = early.replace("delivery.deliveries_per_s", "delivery.device_written_bytes");
    assert!(!doubts(&worn).contains("data-set-in-memory"), "{}", doubts(&worn));
}
