use super::*;
use crate::LabText;

#[test]
fn loads_are_found_by_what_people_call_them() {
    assert_eq!(load("PostgreSQL"), Some("database"));
    assert_eq!(load("etcd"), Some("log"));
    assert_eq!(load("Mail server"), Some("mail"));
    // Neither syncs each append unless it is told to.
    assert_eq!(load("kafka").or(load("redis")), None);
    assert_eq!(load("sqlite"), Some("sqlite"));
    assert_eq!(load("frobnicator"), None);
    assert!(ALIASES.iter().all(|(name, _)| LOADS.iter().any(|(known, _)| known == name)));
    assert_eq!(device("microSD").map(|one| one.word), Some("sd"));
    assert!(DEVICE_ALIASES.iter().all(|(name, _)| DEVICES.iter().any(|one| one.word == *name)));
}

/// A partition that is larger than its device, a model that is gone, or a mistake in a lab fail here.
#[test]
fn every_lab_is_one_on_every_device() {
    let devices = seekwell_device::catalogue().unwrap();
    for one in DEVICES {
        let size: seekwell_model::units::Bytes = one.size.parse().unwrap();
        let has = seekwell_device::build(&devices[one.model], 1).geometry().sectors_512 * 512;
        assert!(size.0 <= has, "{} has {has} bytes", one.model);
    }
    let old = device("hdd-full").unwrap();
    assert_eq!(LOADS.iter().filter(|(name, _)| lab(name, old).is_some()).count(), SMALL.len());
    let labs = LOADS.iter().flat_map(|(name, _)| DEVICES.iter().map(move |one| (name, one)));
    let own = LOADS.iter().map(|(name, _)| (name, own_lab(name, device("raid5")).unwrap()));
    let own = own.chain(LOADS.iter().map(|(name, _)| (name, own_lab(name, None).unwrap())));
    for (name, text) in labs.filter_map(|(name, one)| Some((name, lab(name, one)?))).chain(own) {
        // An age that no table took would leave the filesystem new.
        assert_eq!(text.contains("-full\""), text.contains("kind = \"age\""), "{text}");
        let lab = LabText::new(*name, &text);
        let file = seekwell_spec::read_lab_bytes(&lab.bytes, &lab.name).unwrap();
        assert_eq!(file.lab.name, *name);
        assert_eq!(file.lab.workloads.len(), 1, "{name}");
    }
}

#[test]
fn a_disk_is_known_by_its_name_model_and_rotation() {
    assert_eq!(word_of("nvme0n1", "Samsung SSD 980 PRO 1TB", Some(false)), "nvme");
    assert_eq!(word_of("nvme0n1", "SAMSUNG MZQL2 PM9A3", Some(false)), "nvme-plp");
    assert_eq!(word_of("nvme1n1", "Amazon Elastic Block Store", Some(false)), "gp3");
    assert_eq!(word_of("sda", "ST2000DM006-2DM164", Some(true)), "hdd");
    assert_eq!(word_of("sdb", "ST8000AS0002-1NA17Z", Some(true)), "smr");
    assert_eq!(word_of("sdc", "Samsung SSD 870 QVO 4TB", Some(false)), "qlc");
    assert_eq!(word_of("mmcblk0", "SU04G", Some(false)), "sd");
    assert_eq!(word_of("sdd", "CT250MX500SSD1", Some(false)), "ssd");
    assert_eq!(word_of("sde", "WDC WD40EFRX-68WT0N0", Some(true)), "nas");
    assert_eq!(word_of("sdf", "SAMSUNG MZ7LH960HAJR-00005", Some(false)), "ssd-plp");
}

#[test]
fn a_disk_that_is_nothing_like_those_of_the_atlas_is_declined() {
    for name in ["loop0", "dm-0", "md0", "zram0", "vda"] {
        assert!(is_no_disk(name), "{name}");
    }
    assert!(!is_no_disk("sda") && !is_no_disk("nvme0n1") && !is_no_disk("mmcblk0"));
}

#[test]
fn an_array_of_the_atlas_is_known_by_its_level_and_whether_its_disks_turn() {
    let word = |level: &str, turns| array(level, turns).map(|device| device.word);
    assert_eq!(word("raid1", Some(true)), Some("raid1"));
    assert_eq!(word("raid1", Some(false)), Some("ssd-raid1"));
    assert_eq!(word("raid1", None), None);
    assert_eq!(word("raid5", Some(true)), Some("raid5"));
    assert_eq!(word("raid5", None), None);
    assert_eq!(word("raid5", Some(false)), None);
    assert_eq!(word("raid10", Some(true)), Some("raid10"));
    assert_eq!(word("raid0", Some(true)), None);
    assert_eq!(device("raid5").unwrap().made_of("sata-2tb-5400"), "RAID 5 of 4 × sata-2tb-5400");
    let words = ["RAID 5", "raid-10", "SSD RAID 1", "Hard disk", "sata ssd", "nvme"];
    let found = words.map(|word| device(word).map(|device| device.word));
    assert_eq!(found, ["raid5", "raid10", "ssd-raid1", "hdd", "ssd", "nvme"].map(Some));
}

#[test]
fn picks_for_recordings_are_counted_by_load() {
    let header = "program,device,load,distance,pick,bound,cost,own_pick,rounds";
    assert_eq!(KEPT_OUT.lines().next(), Some(header));
    let rows = || KEPT_OUT.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    assert!(rows().all(|row| row.len() == 9 && device(row[1]).is_some()));
    assert!(rows().all(|row| row[2].is_empty() || load(row[2]) == Some(row[2])));
    let is_near = |row: &Vec<&str>| row[3].parse::<f64>().unwrap() <= NEAR;
    let tried = rows().filter(|row| row[6].parse::<f64>().is_ok() && is_near(row)).count();
    let counted = LOADS.iter().filter_map(|(load, _)| kept_out(load)).collect::<Vec<_>>();
    assert_eq!(counted.iter().map(|one| one.picks).sum::<usize>(), tried);
    assert!(
        counted.iter().all(|one| (one.held == one.picks) == (one.worst * 100.0 <= HELD_PERCENT))
    );
    assert_eq!(kept_out("none"), None);
    assert_eq!(kept_out("build"), None, "no program is near to it");
    assert!(kept_out("log").unwrap().is_reliable());
}

#[test]
fn a_load_answers_for_recordings_where_its_picks_held_for_enough_programs() {
    let made = |programs, held| KeptOut { programs, devices: 2, picks: 20, held, worst: 0.25 };
    assert!(made(3, 18).is_reliable());
    assert!(!made(3, 17).is_reliable(), "too few held");
    assert!(!made(2, 20).is_reliable(), "too few programs");
    assert_eq!(made(3, 18).at_worst().unwrap(), "took 25 % longer at worst");
    assert_eq!(made(3, 20).at_worst(), None);
}

/// Recorded by `scripts/atlas-shapes SEEKWELL programs`.
const PROGRAMS: &str = include_str!("../../../../benches/runs/atlas/programs.jsonl");

#[test]
fn recorded_programs_are_like_the_loads_that_their_users_would_name() {
    let near = |line: &str| {
        let one: Shaped = serde_json::from_str(line).unwrap();
        let (load, distance) = nearest(&one.shape)[0];
        (one.load, load, distance <= NEAR)
    };
    let found: Vec<(String, &str, bool)> = PROGRAMS.lines().map(near).collect();
    let expected = [
        ("sqlite-rollback", "sqlite", true),
        ("sqlite-wal", "sqlite-wal", true),
        ("untar", "build", false),
        ("git-clone", "build", false),
        ("dd", "photos", false),
        // 8 KiB writes at random, a sync for 16 of them.
        ("fio-randwrite", "vm", false),
        // 4 KiB writes at random, a sync for 2 of them.
        ("fio-uring", "database", false),
        ("logger", "log", true),
        ("copy", "build", false),
        // Updates of mapped files, which are no calls.
        ("rrdtool", "build", false),
        ("pgbench", "database", true),
    ];
    assert_eq!(found, expected.map(|(program, load, is_near)| (program.to_owned(), load, is_near)));
}

#[test]
fn each_load_has_a_shape_and_is_nearest_to_itself() {
    for line in SHAPES.lines() {
        let one: Shaped = serde_json::from_str(line).unwrap();
        let near = nearest(&one.shape);
        assert_eq!((near[0].0, near.len()), (one.load.as_str(), LOADS.len()));
        assert!(near[0].1 < 1e-12 && near[1].1 > 0.02, "{near:?}");
    }
    assert_eq!(SHAPES.lines().count(), LOADS.len());
}

#[test]
fn a_drive_that_was_probed_is_known_by_its_model() {
    let probed = include_str!("../../../../testdata/probed/mine.toml");
    let file = seekwell_device::load(probed).unwrap();
    let devices = BTreeMap::from([(file.name().to_owned(), file)]);
    assert_eq!(
        probed_on(&devices, "Amazon Elastic Block Store").unwrap(),
        " (probed as mine, mixed trace at depths up to 32: device 2.97 ms, model 2.97 ms, demerit 0.0 %; run a lab on it with --on mine)"
    );
    assert_eq!(probed_on(&devices, "Amazon"), None);
    let devices = seekwell_device::catalogue().unwrap();
    assert_eq!(probed_on(&devices, ""), None);
}
