//! The virtual backend from outside: labs in real guests on modelled disks, through the program alone.
//! Needs a lab kernel in the user's cache; what needs none is tried everywhere.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test says which kernel it ran")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The program in a directory, with an environment that changes nothing.
fn seekwell(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(directory).env("NO_COLOR", "1").env("TERM", "dumb");
    command
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a lab kernel of this version was built; counts a skip when none was, or a program is missing.
fn can_run(test: &str, tools: &[&str]) -> bool {
    for tool in tools {
        if seekwell_testing::tool(tool).is_none() {
            seekwell_testing::skip(test, &format!("{tool} is not installed"));
            return false;
        }
    }
    let listed = data(&seekwell(Path::new("/")).args(["kernel", "list"]).output().unwrap());
    let current = listed.lines().skip(1).find(|line| !line.contains("made by another version"));
    match current {
        Some(line) => println!("lab kernel: {line}"),
        None => seekwell_testing::skip(test, "no lab kernel of this version is built"),
    }
    current.is_some()
}

/// The hint is that of the place that was asked for, and names a result to read meanwhile.
#[test]
fn a_lab_without_its_kernel_is_told_which_to_build_and_where_a_result_is() {
    let folder = tempfile::tempdir().unwrap();
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
    let output = seekwell(&labs)
        .args(["run", "luks.toml", "--place", "virtual", "-o"])
        .arg(folder.path().join("run.seekwell"))
        .env("XDG_CACHE_HOME", folder.path())
        .output()
        .unwrap();
    let said = talk(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("seekwell kernel build --set layers; meanwhile, ../benches/runs/layers/luks.txt has a kept result of this lab"), "{said}");
    assert!(!said.contains("--place"), "{said}");
}

#[test]
fn a_tried_command_brings_its_programs_into_guests() {
    if !can_run("a_tried_command_brings_its_programs_into_guests", &["mkfs.ext4", "tee", "ldd"]) {
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let tried = |work: &str| {
        let options = ["--place", "virtual", "--model", "ssd-sata-250gb", "--fs", "ext4"];
        let output =
            seekwell(here.path()).args(["try", work, "--for", "20s"]).args(options).output();
        let output = output.unwrap();
        (output.status.code(), talk(&output))
    };
    let (status, said) = tried("cp /etc/mke2fs.conf {dir}/a && tee {dir}/b < {dir}/a");
    assert!(matches!(status, Some(0 | 4)), "{said}");
    assert!(said.contains("/tee with its libraries"), "{said}");
    let again = "seekwell run try.toml --place virtual --bring /";
    assert!(said.contains(again) && said.contains(" --model ssd-sata-250gb -o NEW"), "{said}");
    // One that is nowhere is named, and what to do.
    let (status, said) = tried("nowhere-installed --now {dir}");
    assert_eq!(status, Some(1), "{said}");
    let missing = "no trial can run, workload command: nowhere-installed is not in the guest's root image; bring it";
    assert!(said.contains(missing), "{said}");
}

const DEVICE: &str =
    "[[device]]\nname = \"disk\"\nmodel = { name = \"maxtor-6y080l0\", size = \"512MiB\" }\n";

fn lab(device: &str) -> String {
    format!(
        "[lab]\nname = \"t\"\n{device}[[filesystem]]\ntype = \"ext4\"\n[scheduler]\nchoose = [\"none\", \"bfq\"]\n[[workload]]\nkind = \"mail\"\nfiles = 60\nsteps = []\n[judge]\nmetric = \"unpack.elapsed_durable\"\nrounds = 6\n"
    )
}

/// The same under one scheduler.
fn lab_of_one(device: &str) -> String {
    lab(device).replace("[\"none\", \"bfq\"]", "[\"none\"]")
}

/// Runs `lab.toml` of a directory in guests; the run as JSON.
fn run(directory: &Path, options: &[&str]) -> Value {
    let mut command = seekwell(directory);
    command.args(["run", "lab.toml", "--place", "virtual", "--json"]).args(options);
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}\n{}", output.status, talk(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The fingerprints of a run, by trial.
fn fingerprints(run: &Value) -> BTreeMap<u64, String> {
    let trials = run["trials"].as_array().unwrap().iter();
    let one = |trial: &Value| {
        assert_eq!(trial["status"], "ok", "{trial}");
        (trial["index"].as_u64().unwrap(), trial["fingerprint"].as_str().unwrap().to_owned())
    };
    trials.map(one).collect()
}

/// The run of the lab on [`DEVICE`], made once, and its fingerprints. Its folder is Cargo's: a static value is never
/// dropped, so that a temporary folder would stay.
fn shared() -> &'static (PathBuf, BTreeMap<u64, String>) {
    static SHARED: OnceLock<(PathBuf, BTreeMap<u64, String>)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("virtual");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("lab.toml"), lab(DEVICE)).unwrap();
        let found = fingerprints(&run(&folder, &["-o", "one.seekwell"]));
        (folder.join("one.seekwell"), found)
    })
}

#[test]
fn a_lab_runs_in_guests_and_the_same_everywhere() {
    if !can_run("a_lab_runs_in_guests_and_the_same_everywhere", &["mkfs.ext4"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let (file, first) = shared();
    assert_eq!(first.len(), 12);
    let different: BTreeSet<&String> = first.values().collect();
    assert!(
        different.len() > 6,
        "rounds differ, and a scheduler makes a difference in one at least"
    );
    std::fs::write(here.join("lab.toml"), lab(DEVICE)).unwrap();
    let again = fingerprints(&run(here, &["-o", "two.seekwell", "--jobs", "1", "--check"]));
    assert_eq!(again, *first);
    // The same rounds under one scheduler.
    std::fs::write(here.join("lab.toml"), lab_of_one(DEVICE)).unwrap();
    let charged = fingerprints(&run(here, &["-o", "three.seekwell", "--cpu", "300,40"]));
    assert_eq!(charged.len(), 6);
    assert!(charged.values().all(|fingerprint| !different.contains(fingerprint)));
    let report = seekwell(here).arg("report").arg(file).arg("--all").output().unwrap();
    let text = data(&report);
    assert!(text.contains("backend virtual"), "{text}");
    assert!(text.contains("virtual time counts no CPU time"), "{text}");
    let left: Vec<_> =
        std::fs::read_dir(here).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_run_in_guests_is_resumed_in_guests_alone() {
    if !can_run("a_run_in_guests_is_resumed_in_guests_alone", &["mkfs.ext4"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let (file, whole) = shared();
    std::fs::copy(file, here.join("t.seekwell")).unwrap();
    let again = seekwell(here)
        .args(["run", "--resume", "-o", "t.seekwell", "--place", "virtual", "--json"])
        .output()
        .unwrap();
    assert!(matches!(again.status.code(), Some(0 | 4)), "{}", talk(&again));
    assert_eq!(fingerprints(&serde_json::from_slice(&again.stdout).unwrap()), *whole);
    let charged = seekwell(here)
        .args(["run", "--resume", "-o", "t.seekwell", "--place", "virtual", "--cpu", "1,1"])
        .output()
        .unwrap();
    assert_eq!(charged.status.code(), Some(1));
    assert!(talk(&charged).contains("was started with another CPU"), "{}", talk(&charged));
}

#[test]
fn a_model_replaces_the_devices_of_any_lab_and_commands_are_brought() {
    let test = "a_model_replaces_the_devices_of_any_lab_and_commands_are_brought";
    if !can_run(test, &["mkfs.ext4", "sha256sum"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let lab = "[lab]\nname = \"t\"\n[[device]]\nname = \"scratch\"\nloop = \"256MiB\"\n[[filesystem]]\ntype = \"ext4\"\n[scheduler]\nchoose = [\"bfq\"]\n[[workload]]\nkind = \"command\"\nstep = \"own\"\nprepare = \"dd if=/dev/zero of={dir}/x bs=64k count=20\"\nrun = \"sha256sum {dir}/x\"\n[judge]\nmetric = \"own.elapsed\"\nrounds = 6\n";
    std::fs::write(here.join("lab.toml"), lab).unwrap();
    let model = ["--model", "cf-transcend-133x@usb2-reader"];
    let sum = seekwell_testing::tool("sha256sum").unwrap();
    let brought = ["--bring", sum.to_str().unwrap()];
    let run = run(here, &[model, brought].concat());
    assert_eq!(fingerprints(&run).len(), 6);
    let plan = seekwell(here)
        .args(["plan", "lab.toml", "--place", "virtual"])
        .args(model)
        .output()
        .unwrap();
    let text = data(&plan) + &talk(&plan);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("sha256sum is not in the guest's root image"), "{text}");
    assert!(words.contains("--bring \"$(command -v sha256sum)\""), "{text}");
}

#[test]
fn a_replayed_load_ends_in_a_verdict_on_modelled_disks() {
    let test = "a_replayed_load_ends_in_a_verdict_on_modelled_disks";
    if !can_run(test, &["mkfs.ext4", "mkfs.ext2"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let syncs = |nth: u32| {
        format!(
            "7 1700000000.0{nth:02}100 write(3</srv/a>, \"x\", 4096) = 4096 <0.000050>\n\
             7 1700000000.0{nth:02}200 fsync(3</srv/a>) = 0 <0.000700>\n"
        )
    };
    let open = "7 1700000000.000050 openat(AT_FDCWD</srv>, \"a\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</srv/a> <0.000020>\n";
    std::fs::write(here.join("s"), open.to_owned() + &(0..20).map(syncs).collect::<String>())
        .unwrap();
    let imported =
        seekwell(here).args(["trace", "import", "strace", "s", "-o", "t"]).output().unwrap();
    assert_eq!(imported.status.code(), Some(0), "{}", talk(&imported));
    let lab = format!(
        "[lab]\nname = \"t\"\n{DEVICE}[[filesystem]]\ntype = \"ext4\"\n[[filesystem]]\ntype = \"ext2\"\n\
         [scheduler]\nchoose = [\"none\"]\n[[workload]]\nkind = \"replay\"\ntrace = \"{}\"\n\
         [judge]\nmetric = \"replay.elapsed_durable\"\ndurability = \"any\"\nrounds = 6\n",
        here.join("t").display()
    );
    std::fs::write(here.join("lab.toml"), lab).unwrap();
    let run = run(here, &["-o", "t.seekwell"]);
    assert_eq!(fingerprints(&run).len(), 12);
    assert_eq!(run["verdict"]["decision"], "winner", "{}", run["verdict"]);
    let trials = run["trials"].as_array().unwrap().iter();
    let fidelity: Vec<f64> =
        trials.filter_map(|one| one["metrics"]["replay.fidelity"].as_f64()).collect();
    assert_eq!(fidelity, [1.0; 12]);
    let told = seekwell(here).args(["report", "t.seekwell"]).output().unwrap();
    assert!(data(&told).contains("replay"), "{}", data(&told));
}

#[test]
fn a_device_file_of_ones_own_is_a_device_everywhere() {
    let test = "a_device_file_of_ones_own_is_a_device_everywhere";
    if !can_run(test, &["mkfs.ext4"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shipped = std::fs::read_to_string(root.join("devices/maxtor-6y080l0.toml")).unwrap();
    let own = shipped.replace("name = \"maxtor-6y080l0\"", "name = \"mine\"");
    std::fs::create_dir(here.join("disks")).unwrap();
    std::fs::write(here.join("disks/own.toml"), &own).unwrap();

    let (_, of_shipped) = shared();
    let device = DEVICE.replace("maxtor-6y080l0", "disks/own.toml");
    std::fs::write(here.join("lab.toml"), lab(&device)).unwrap();
    let named = run(here, &["-o", "lab.seekwell"]);
    assert_eq!(fingerprints(&named), *of_shipped);
    assert_eq!(named["environment"]["device_files"]["mine"], own);
    for options in [["--model", "disks/own.toml"], ["--set", "mine:rotating.rpm=7100"]] {
        let mut plan = seekwell(here);
        plan.args(["plan", "lab.toml", "--place", "virtual", "--json"]).args(options);
        let output = plan.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
        assert!(data(&output).contains("\"mine\""), "{options:?}");
    }

    let mut several = seekwell(here);
    several.args(["plan", "lab.toml", "--place", "virtual", "--json"]);
    let output = several.args(["--on", "disks/own.toml", "--on", "ram"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["stacks"].as_array().unwrap().len(), 4);

    // The run file is complete without the device file.
    std::fs::remove_dir_all(here.join("disks")).unwrap();
    let again = seekwell(here)
        .args(["run", "--resume", "-o", "lab.seekwell", "--place", "virtual", "--json"])
        .output()
        .unwrap();
    assert!(matches!(again.status.code(), Some(0 | 4)), "{}", talk(&again));
    assert_eq!(fingerprints(&serde_json::from_slice(&again.stdout).unwrap()), *of_shipped);
}

#[test]
fn several_devices_run_to_a_verdict_that_compares_them_with_filesystems() {
    let test = "several_devices_run_to_a_verdict_that_compares_them_with_filesystems";
    if !can_run(test, &["mkfs.ext4", "mkfs.ext2"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let own = "[[device]]\nname = \"mine\"\nloop = \"512MiB\"\n[[filesystem]]\ntype = \"ext2\"\n";
    let text = lab_of_one(own).replace("rounds = 6", "durability = \"any\"\nrounds = 6");
    std::fs::write(here.join("lab.toml"), text).unwrap();
    let devices = ["--on", "cf-transcend-133x", "--on", "maxtor-6y080l0"];
    let prices = ["--price", "cf-transcend-133x=30", "--price", "maxtor-6y080l0=60"];
    let found = run(here, &[&devices[..], &prices, &["-o", "t.seekwell"]].concat());
    assert_eq!(fingerprints(&found).len(), 24);
    let winner = found["verdict"]["stacks"][0].as_str().unwrap().to_owned();
    assert!(winner.starts_with("maxtor-6y080l0/"), "{}", found["verdict"]);
    let price = |stack: &Value| (stack["device"]["base"].clone(), stack["device"]["price"].clone());
    let prices: Vec<(Value, Value)> =
        found["stacks"].as_array().unwrap().iter().map(price).collect();
    let pair = |name: &str, price: u32| (Value::from(name), Value::from(price));
    let [card, disk] = [pair("cf-transcend-133x", 30), pair("maxtor-6y080l0", 60)];
    assert_eq!(prices, [card.clone(), card, disk.clone(), disk]);

    let text = data(&seekwell(here).args(["report", "t.seekwell", "--all"]).output().unwrap());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("maxtor-6y080l0 instead of cf-transcend-133x, each with its"), "{text}");
    assert!(
        words.contains("costs 2.0 times as much as cf-transcend-133x (60 against 30)"),
        "{text}"
    );
    assert!(words.contains("On cf-transcend-133x, the choice of filesystem gains up to"), "{text}");
    // Both filesystems that lead are on the Maxtor, of which no figure is published: an advantage larger than the
    // assumed error is not known to hold. A turn of the disk more or fewer decides how large it is.
    let low = found["on_device"]["low"].as_f64().unwrap();
    let holds = if low > 1.0 { Value::Null } else { Value::Bool(false) };
    assert_eq!(found["on_device"]["holds"], holds, "{}", found["on_device"]);
    assert!(
        words.contains("small reads, small writes and flushes of maxtor-6y080l0 are unchecked"),
        "{text}"
    );

    let unknown = ["--price", "floppy=3"];
    let mut plan = seekwell(here);
    plan.args(["plan", "lab.toml", "--place", "virtual"]).args(devices).args(unknown);
    let output = plan.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        talk(&output),
        "seekwell: error: --price floppy=3: the lab has no device 'floppy'; its devices are cf-transcend-133x, maxtor-6y080l0\n"
    );
}

#[test]
fn an_ordinary_user_runs_a_lab_in_guests() {
    let test = "an_ordinary_user_runs_a_lab_in_guests";
    if !can_run(test, &["mkfs.ext4"]) || !seekwell_testing::root() {
        return; // Without root, every other test here is this one.
    }
    let Some(setpriv) = seekwell_testing::tool("setpriv") else {
        return seekwell_testing::skip(test, "setpriv is not installed (package util-linux)");
    };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let open = |path: &Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    open(here, 0o777);
    std::fs::write(here.join("lab.toml"), lab_of_one(DEVICE)).unwrap();
    let program = here.join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_seekwell"), &program).unwrap();
    let cache = here.join("cache");
    let home = std::env::var_os("HOME").unwrap_or_default();
    let from = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| Path::new(&home).join(".cache"), PathBuf::from);
    let copied = Command::new("cp").arg("-r").arg(from.join("seekwell")).arg(&cache).status();
    assert!(copied.unwrap().success());
    std::fs::rename(&cache, here.join("inner")).unwrap();
    std::fs::create_dir(&cache).unwrap();
    std::fs::rename(here.join("inner"), cache.join("seekwell")).unwrap();
    let output = Command::new(setpriv)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"])
        .arg(program)
        .args(["run", "lab.toml", "--place", "virtual", "--json"])
        .env("XDG_CACHE_HOME", &cache)
        .env("HOME", "/nonexistent")
        .env("TMPDIR", here)
        .current_dir(here)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}\n{}", output.status, talk(&output));
    let found = fingerprints(&serde_json::from_slice(&output.stdout).unwrap());
    assert_eq!(found.len(), 6);
}

#[test]
fn a_change_of_a_device_that_the_lab_has_not_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lab.toml"), lab(DEVICE)).unwrap();
    let change = "sata-2tb-5400:rotating.rpm=5900";
    let words = ["plan", "lab.toml", "--place", "virtual", "--set", change];
    let (status, _, text) = said(directory.path(), &words);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("the lab does not use that device; it has maxtor-6y080l0"), "{text}");
}

#[test]
fn what_the_virtual_backend_does_not_take_is_said_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let said = |device: &str, options: &[&str]| {
        std::fs::write(here.join("lab.toml"), lab(device)).unwrap();
        let output = seekwell(here)
            .args(["plan", "lab.toml", "--place", "virtual"])
            .args(options)
            .env("XDG_CACHE_HOME", here)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        talk(&output)
    };
    assert_eq!(
        said("[[device]]\nname = \"d\"\nloop = \"1GiB\"\n", &[]),
        "seekwell: error: d is a device of the host, and the virtual backend needs a modelled one; write model = \"NAME\" into the lab, or run it with --model NAME (seekwell device list)\n"
    );
    assert_eq!(
        said(DEVICE, &["--model", "floppy"]),
        "seekwell: error: modelled device 'floppy' not found; list the devices with seekwell device list, or give the path of a .toml file\n"
    );
    assert_eq!(
        said(DEVICE, &["--on", "ssd-nvme"]),
        "seekwell: error: modelled device 'ssd-nvme' not found; did you mean ssd-nvme-1920gb-plp? Otherwise list the devices with seekwell device list, or give the path of a .toml file\n"
    );
    let own = DEVICE.replace("maxtor-6y080l0", "own.toml");
    std::fs::write(here.join("own.toml"), "name = \"own\"\nkind = 3\n").unwrap();
    assert_eq!(
        said(&own, &[]),
        format!(
            "seekwell: error: own.toml, line 2: kind: invalid type: unit variant, expected string only\n"
        )
    );
    let start = "seekwell: error: no lab kernel of this version found for this lab; build the lab kernel of the set";
    let advice = |text: &str, set: &str| {
        let start = format!("{start} {set}, which takes about ");
        assert!(text.starts_with(&start), "{text}");
        text.split_once(" min here: ").unwrap().1.to_owned()
    };
    let small = said(DEVICE, &[]);
    assert_eq!(advice(&small, "reduced"), "seekwell kernel build --set reduced\n");
    let layers = format!("{DEVICE}[[layer]]\nname = \"luks\"\nkind = \"crypt\"\n");
    let layers = said(&layers, &[]);
    assert_eq!(advice(&layers, "layers"), "seekwell kernel build --set layers\n");
    assert_eq!(
        said(DEVICE, &["--kernel", "abc"]),
        "seekwell: error: lab kernel abc not found; list built kernels with seekwell kernel list\n"
    );
    let list =
        seekwell(here).args(["kernel", "list"]).env("XDG_CACHE_HOME", here).output().unwrap();
    assert_eq!(talk(&list), "no lab kernel found; build one: seekwell kernel build\n");
    let build = seekwell(here)
        .args(["kernel", "build", "--source", "/etc"])
        .env("XDG_CACHE_HOME", here)
        .output()
        .unwrap();
    assert_eq!(
        talk(&build),
        "seekwell: error: /etc has no User-Mode Linux; name the top directory of a Linux source tree\n"
    );
}

#[test]
fn devices_are_listed_and_shown() {
    let here = Path::new("/");
    let list = data(&seekwell(here).args(["device", "list"]).output().unwrap());
    assert!(list.starts_with("device "), "{list}");
    assert!(list.lines().any(|line| line.starts_with("maxtor-6y080l0 ")), "{list}");
    let show = data(&seekwell(here).args(["device", "show", "maxtor-6y080l0"]).output().unwrap());
    for words in ["maxtor-6y080l0\n", "queue depth      1\n", "Where the values come from\n"] {
        assert!(show.contains(words), "{words}\n{show}");
    }
    let none = seekwell(here).args(["device", "show", "floppy"]).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(talk(&none).contains("modelled device 'floppy' not found"), "{}", talk(&none));
}

#[test]
fn calibrating_prints_what_run_takes() {
    let output = seekwell(Path::new("/")).arg("calibrate").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let charge = data(&output);
    let numbers: Vec<u32> = charge.trim().split(',').map(|part| part.parse().unwrap()).collect();
    assert_eq!(numbers.len(), 2);
    assert!(numbers.iter().all(|number| *number > 0), "{charge}");
    assert!(talk(&output).contains(&format!("--cpu {}", charge.trim())), "{}", talk(&output));
}

#[test]
fn a_model_that_misses_published_figures_is_marked_in_every_report() {
    let test = "a_model_that_misses_published_figures_is_marked_in_every_report";
    if !can_run(test, &["mkfs.ext4"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mark = |device: &str| {
        let named = DEVICE.replace("maxtor-6y080l0", device);
        std::fs::write(here.join("lab.toml"), lab_of_one(&named)).unwrap();
        let run = run(here, &["-o", &format!("{device}.seekwell")]);
        let [html, markdown] = ["html", "md"].map(|suffix| format!("{device}.{suffix}"));
        let mut report = seekwell(here);
        report.arg("report").arg("--all").arg(format!("{device}.seekwell"));
        let text = data(&report.args(["--html", &html, "--markdown", &markdown]).output().unwrap());
        let mut printed = seekwell(here);
        printed.arg("report").arg("--all").arg(format!("{device}.seekwell"));
        let printed = printed.output().unwrap();
        let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
        let sentence =
            format!("the model {device} misses 1 of 2 published figures by more than 10");
        let said =
            [text + &data(&printed), read(&html), read(&markdown), run["environment"].to_string()];
        said.map(|said| said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&sentence))
    };
    assert_eq!(mark("cf-duracell-300x"), [true; 4]);
    // Within 10 % at both.
    assert_eq!(mark("cf-lexar-233x"), [false; 4]);
}

/// Each kind of work has a number that `run` takes, or a reason why there is none.
#[test]
fn calibrating_layers_says_what_it_found_and_what_not() {
    let output = seekwell(Path::new("/")).args(["calibrate", "--layers"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let charge = data(&output);
    let said = talk(&output);
    for work in ["cipher", "hash", "parity", "compress", "decompress"] {
        let number = charge
            .trim()
            .split(',')
            .find_map(|part| part.strip_prefix(work)?.strip_prefix('=')?.parse::<u32>().ok());
        let line = match number {
            Some(ns) => format!("{work}: {ns} ns for each KiB, by "),
            None => format!("{work}: not measured and not charged: "),
        };
        assert!(number != Some(0) && said.contains(&line), "{line}: {said}");
    }
    assert!(said.contains(&format!("--cpu {}", charge.trim())), "{said}");
}

/// The cause of a difference is the law that was made worse, in a run that says so from then on.
#[test]
fn why_names_the_law_that_one_of_two_disks_is_worse_in() {
    if !can_run("why_names_the_law_that_one_of_two_disks_is_worse_in", &["mkfs.ext4"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let disk = |name: &str, model: &str| {
        format!(
            "[[device]]\nname = \"{name}\"\nmodel = {{ name = \"{model}\", size = \"512MiB\" }}\n"
        )
    };
    let worse = "maxtor-6y080l0,rotating.overhead.flush_us=30000";
    let disks = disk("plain", "maxtor-6y080l0") + &disk("worse", worse);
    std::fs::write(here.join("lab.toml"), lab(&disks).replace(", \"bfq\"", "")).unwrap();
    run(here, &["-o", "run.seekwell"]);
    // One law with a share of its own needs the fewest trials; `make test-all` takes the usual number.
    let laws: &[&str] = if seekwell_testing::all() { &[] } else { &["--single", "1"] };
    let asked = ["why", "run.seekwell", "--json"];
    let output = seekwell(here).args(asked).args(laws).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let why: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(why["repeats"], true, "{why}");
    assert_eq!(why["causes"][0]["laws"], serde_json::json!(["flush"]), "{why}");
    let number = |value: &Value| value.as_f64().unwrap();
    let amounts = why["causes"].as_array().unwrap().iter().map(|cause| number(&cause["amount"]));
    let sum = amounts.sum::<f64>() + number(&why["rest"]);
    let difference = number(&why["at_worse"]) - number(&why["at_better"]);
    assert!((sum - difference).abs() < 1e-9, "{why}");
    // The same causes again, with single improvements; the report shows both.
    let asked = ["why", "run.seekwell", "--json", "--jobs", "1", "--what-if"];
    let again = seekwell(here).args(asked).args(laws).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", talk(&again));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["causes"], why["causes"]);
    let better = again["what_if"].as_array().unwrap();
    let cost = |part: &str, to: &str| {
        let found = better.iter().find(|one| one["part"] == part && one["to"] == to);
        number(&found.unwrap_or_else(|| panic!("{part} {to}: {again}"))["cost"])
    };
    let without = why["improvements"].as_array().unwrap();
    let without = without.iter().find(|one| one["law"] == "flush").unwrap();
    assert_eq!(cost("law", "flush"), number(&without["at_better"]));
    assert_eq!(cost("device", "worse"), number(&why["at_worse"]));
    assert!(cost("model", "ssd-nvme-512gb") < number(&why["at_better"]) / 4.0, "{again}");
    assert!(cost("write cache", "2MiB") > 0.0 && cost("memory", "1GiB") > 0.0);
    let report = data(&seekwell(here).args(["report", "run.seekwell"]).output().unwrap());
    assert!(report.contains("waiting for flushes"), "{report}");
    let verified = seekwell(here).args(["verify", "run.seekwell"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", talk(&verified));
    let wrong = seekwell(here).args(["why", "run.seekwell", "plain", "none"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(talk(&wrong).contains("the run has no stack 'none' with values"), "{}", talk(&wrong));
    let wrong = seekwell(here).args(["why", "run.seekwell", "plain", "plain"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(talk(&wrong).contains("plain is on both sides"), "{}", talk(&wrong));
}

/// Runs the program in an empty folder; its exit status, data and talk.
fn said(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let output = seekwell(folder).args(words).output().unwrap();
    (output.status.code(), data(&output), talk(&output))
}

#[test]
fn a_question_is_answered_without_a_kernel_or_declined_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (status, text, _) =
        said(folder.path(), &["ask", "--load", "postgresql", "--device", "nvme", "--now", "btrfs"]);
    assert_eq!(status, Some(0), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "database on NVMe SSD",
        "postgresql is answered by the load database",
        "CPU time not counted",
        "Pick ",
        "after power cut",
        "error bar",
        "seekwell atlas check database/",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (status, _, text) = said(folder.path(), &["ask", "--load", "frob"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("no load 'frob'") && text.contains("seekwell init"), "{text}");
    let (status, _, text) = said(folder.path(), &["ask", "--load", "log"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.ends_with("'On which device?'; give it with --device ANSWER\n"), "{text}");
    let (status, _, text) =
        said(folder.path(), &["ask", "--load", "postgrsql", "--device", "NVMe"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("did you mean postgresql?"), "{text}");
    let typo = ["ask", "--load", "log", "--device", "nvme", "--now", "xfss"];
    let (status, _, text) = said(folder.path(), &typo);
    assert!(status == Some(2) && text.contains("did you mean xfs?"), "{text}");
    let (status, ..) = said(folder.path(), &["atlas", "check", "--jobs", "1"]);
    assert_eq!(status, Some(2), "no cell is named");
    let (status, _, text) = said(folder.path(), &["ask", "--load", "log", "--device", "nmve"]);
    assert!(text.contains("did you mean nvme?"), "{status:?} {text}");
    let (status, ..) = said(folder.path(), &["ask", "--load", "VM", "--lab", "vm.toml"]);
    assert_eq!(status, Some(0));
    let (status, ..) = said(folder.path(), &["plan", "vm.toml", "--place", "host"]);
    assert_eq!(status, Some(0));
    let (status, _, text) = said(folder.path(), &["ask", "--load", "log", "--device", "/dev/null"]);
    assert_eq!((status, text.contains("is not a block device")), (Some(1), true), "{text}");
    // What has no run is drafted with its age, and what has no room is refused.
    let full = ["ask", "--load", "vm", "--device", "hdd-full"];
    let (status, text, _) = said(folder.path(), &full);
    assert_eq!(status, Some(4), "{text}");
    assert!(text.ends_with("On a new one:\n  seekwell ask --load vm --device hdd\n"), "{text}");
    let (status, line, _) = said(folder.path(), &[&full[..], &["--json"]].concat());
    let declined: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((status, line.lines().count()), (Some(4), 1));
    assert_eq!(declined["commands"][0], "seekwell ask --load vm --device hdd", "{line}");
    let (status, _, text) = said(folder.path(), &[&full[..], &["--lab", "old.toml"]].concat());
    assert!(status == Some(2) && text.contains("has no room for vm"), "{text}");
    assert!(!folder.path().join("old.toml").exists());
    let words = ["ask", "--load", "log", "--device", "hdd-full", "--lab", "old.toml"];
    said(folder.path(), &words);
    let drafted = std::fs::read_to_string(folder.path().join("old.toml")).unwrap();
    assert!(drafted.contains("kind = \"age\""), "{drafted}");
    let (_, _, text) =
        said(folder.path(), &["plan", "vm.toml", "--place", "host", "--device", "/dev/none"]);
    assert!(text.contains("/dev/none is not on this machine"), "{text}");
}

/// Two cells of loads with one thread that syncs each write: with more threads, who comes first may depend on the
/// build, see `atlas check`.
#[test]
fn two_random_cells_of_the_atlas_come_out_again() {
    if !can_run(
        "two_random_cells_of_the_atlas_come_out_again",
        &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"],
    ) {
        return;
    }
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../atlas/cells.jsonl");
    let lines = std::fs::read_to_string(table).unwrap();
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names = entries.flat_map(|entry| {
        let cells = entry["cells"].as_array().unwrap().clone();
        let (load, device) = (entry["load"].as_str().unwrap(), entry["device"].as_str().unwrap());
        // An age takes a minute.
        let is_one = ["log", "sqlite", "sqlite-wal"].contains(&load) && !device.ends_with("-full");
        let name = format!("{load}/{device}/");
        let of_load = cells.into_iter().filter(move |_| is_one);
        of_load.map(move |cell| format!("{name}{}", cell["stack"].as_str().unwrap()))
    });
    let mut names: Vec<String> = names.collect();
    let drawn = |number: usize| {
        use std::hash::{BuildHasher, Hasher};
        std::hash::RandomState::new().build_hasher().finish() as usize % number
    };
    let two = [names.swap_remove(drawn(names.len())), names.swap_remove(drawn(names.len()))];
    println!("{two:?}");
    let (status, text, talk) = said(Path::new("/tmp"), &["atlas", "check", &two[0], &two[1]]);
    assert_eq!(status, Some(0), "{text}{talk}");
    let kept = |line: &&str| line.starts_with("same ") || line.starts_with("near ");
    assert_eq!(text.lines().filter(kept).count(), 2, "{text}");
}

#[test]
fn a_search_of_options_ends_with_a_run_of_the_best_few() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, text) = said(folder.path(), &["tune", "--load", "frob", "--device", "nvme"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("frob is neither a load of the atlas"), "{text}");
    if !can_run(
        "a_search_of_options_ends_with_a_run_of_the_best_few",
        &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"],
    ) {
        return;
    }
    let lab = "[[workload]]\nkind = \"mail\"\nfiles = 5\n[judge]\nmetric = \"unpack.elapsed_durable\"\nrounds = 6\n";
    std::fs::write(folder.path().join("own.toml"), lab).unwrap();
    let words = ["tune", "--load", "own.toml", "--device", "cf", "--trials", "30"];
    let (status, text, talk) = said(folder.path(), &words);
    assert!(matches!(status, Some(0 | 4)), "{text}{talk}");
    assert!(text.contains("Searched ") && text.contains("Each option alone, against "), "{text}");
    assert!(talk.contains("ext4, xfs, btrfs on cf-transcend-133x; at most 30 trials"), "{talk}");
    let output = seekwell(folder.path()).args(["report", "tune.seekwell", "--json"]).output();
    let run: Value = serde_json::from_str(&data(&output.unwrap())).unwrap();
    // The best and the default of each filesystem, where they differ.
    let stacks = run["stacks"].as_array().unwrap().len();
    assert!((3..=8).contains(&stacks), "{stacks}");
    let (status, text, _) =
        said(folder.path(), &["plan", "tune.toml", "--on", "cf-transcend-133x"]);
    assert_eq!(status, Some(0), "{text}");
}
