//! The folders of claims, undo lists and notes as another user or an earlier version could have left them, and every
//! umask: nothing of others is believed, followed or changed, and what is made is private.

use super::devices::Loop;
use super::{CANARY, Place, Told, difference, snapshot, try_family};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

/// A user who is not root.
const STRANGER: Option<u32> = Some(65_534);

const FOLDERS: [&str; 4] = ["seekwell", "seekwell/undo", "seekwell/claims", "seekwell/planned"];

/// Makes something at a path; the second one is the folder of others.
type Make = fn(&Path, &Path);

fn folder(path: &Path, mode: u32) {
    fs::create_dir_all(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Things in the place of a folder.
const IN_PLACE: [(&str, Make); 10] = [
    ("nothing", |_, _| {}),
    ("a folder for everybody", |path, _| folder(path, 0o777)),
    ("a folder to read", |path, _| folder(path, 0o755)),
    ("a sticky folder for everybody", |path, _| folder(path, 0o1777)),
    ("a folder without any right", |path, _| folder(path, 0o000)),
    ("the folder of a stranger", |path, _| {
        folder(path, 0o700);
        chown(path, STRANGER, STRANGER).unwrap();
    }),
    ("a link to a folder of others", |path, others| symlink(others.join("folder"), path).unwrap()),
    ("a dangling link", |path, others| symlink(others.join("new"), path).unwrap()),
    ("a file", |path, _| fs::write(path, CANARY).unwrap()),
    ("a link to itself", |path, _| symlink(path.file_name().unwrap(), path).unwrap()),
];

/// An undo list that would write to a file of others, if it were believed.
fn forged(others: &Path) -> String {
    let header = r#"{"line":"header","format":1,"run":"r","boot":"b"}"#;
    let change = |target: &str| format!(r#"{{"line":"change","target":{target},"old":"forged"}}"#);
    let targets = [
        r#"{"kind":"file","path":"/canary/canary"}"#,
        r#"{"kind":"file","path":"/proc/sys/vm/../../../canary/canary"}"#,
        r#"{"kind":"file","path":"/proc/sys/kernel/domainname"}"#,
        r#"{"kind":"queue","device":"../../../canary","attribute":"canary"}"#,
        r#"{"kind":"tunable","device":"..","scheduler":"none","name":"../canary/canary"}"#,
        r#"{"kind":"hdparm","device":"sda","flag":"--security-erase"}"#,
        r#"{"kind":"directory","path":"/canary/folder"}"#,
        r#"{"kind":"cgroup-directory","path":"/canary/seekwell-folder"}"#,
    ];
    let changes: Vec<String> = targets.iter().map(|target| change(target)).collect();
    format!("{header}\n{}\n", changes.join("\n"))
        .replace("/canary/", &format!("{}/", others.display()))
}

/// Files in the place of an undo list, a claim or a note.
const FILES: [(&str, Make); 13] = [
    ("a forged list", |path, others| {
        fs::write(path, forged(others)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }),
    ("a forged list for everybody", |path, others| {
        fs::write(path, forged(others)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
    }),
    ("the list of a stranger", |path, others| {
        fs::write(path, forged(others)).unwrap();
        chown(path, STRANGER, STRANGER).unwrap();
    }),
    ("a link to a canary", |path, others| symlink(others.join("canary"), path).unwrap()),
    ("a second name of a canary", |path, others| {
        fs::hard_link(others.join("canary"), path).unwrap()
    }),
    ("a folder", |path, _| fs::create_dir(path).unwrap()),
    ("an empty file", |path, _| drop(File::create(path).unwrap())),
    ("a text", |path, _| fs::write(path, CANARY).unwrap()),
    ("zeroes", |path, _| fs::write(path, vec![0; 1 << 20]).unwrap()),
    ("no text", |path, _| fs::write(path, vec![0xff; 4096]).unwrap()),
    ("deep brackets", |path, _| fs::write(path, "[".repeat(1 << 20)).unwrap()),
    ("a list of the next format", |path, _| {
        fs::write(path, r#"{"line":"header","format":2,"run":"r","boot":"b"}"#).unwrap();
    }),
    ("endless zeroes", |path, _| symlink("/dev/zero", path).unwrap()),
];

const NAMES: [&str; 4] = [
    "seekwell/undo/0123456789abcdef.undo",
    "seekwell/undo/lock",
    "seekwell/claims/number_7_0.json",
    "seekwell/planned/0123456789abcdef0123456789abcdef",
];

const UMASKS: [&str; 3] = ["0000", "0022", "0777"];

/// Runs commands that use the folders, with a state of the place's own below `/var/lib` and a umask.
fn run(place: &Place, umask: &str) -> Result<Told, String> {
    let image = place.home().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let lab = "[lab]\nname = \"lab\"\n[[device]]\nname = \"d\"\nloop = \"64MiB\"\n[[filesystem]]\n\
               type = \"ext4\"\n[[workload]]\nkind = \"mail\"\nfiles = 50\n";
    fs::write(place.home().join("lab.toml"), lab).unwrap();
    let device = Loop::attach(&image);
    let path = device.path();
    let program = env!("CARGO_BIN_EXE_seekwell");
    let script = format!(
        "mount --make-rprivate / && mount --bind '{}/state' /var/lib && umask {umask} || exit 99
        '{program}' doctor
        '{program}' plan lab.toml --device {path}
        '{program}' claim {path} --confirm 32768
        '{program}' plan lab.toml --device {path}
        '{program}' release {path}
        exit 0",
        place.home().display(),
    );
    let told = place.run_program("unshare", &["--mount", "--uts", "sh", "-c", &script])?;
    if told.text.contains("panicked at") {
        return Err(format!("it panicked: {:.400}", told.text));
    }
    if told.code == 0 { Ok(told) } else { Err(format!("no state of its own: {}", told.text)) }
}

/// Tries one thing in the place of a folder or file of the state.
fn attempt(name: &str, make: Make, umask: &str) -> Result<(), String> {
    let place = Place::new();
    let state = place.home().join("state");
    fs::create_dir(&state).unwrap();
    let path = state.join(name);
    let around = path.parent().unwrap();
    fs::create_dir_all(around).unwrap();
    // As the program makes them, so that the thing itself is what is tried.
    for folder in around.ancestors().take_while(|folder| *folder != state) {
        fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    }
    make(&path, &place.others());
    let (others, before) = (snapshot(&place.others()), snapshot(&state));
    run(&place, umask)?;
    if let Some(what) = difference(&others, &snapshot(&place.others()), true) {
        return Err(what);
    }
    let after = snapshot(&state);
    for made in after.keys().filter(|path| !before.contains_key(*path)) {
        let about = fs::symlink_metadata(made).unwrap();
        // The folder around them can be entered, as others below /var/lib.
        let private = match (about.is_dir(), made.ends_with("state/seekwell")) {
            (true, true) => 0o755,
            (true, false) => 0o700,
            (false, _) => 0o600,
        };
        if about.mode() & 0o7777 != private || about.uid() != 0 {
            return Err(format!("{} is made with mode {:o}", made.display(), about.mode()));
        }
    }
    Ok(())
}

fn can_run(test: &str) -> bool {
    let tools = ["losetup", "unshare"].map(seekwell_testing::tool);
    let can = seekwell_testing::root() && tools.iter().all(Option::is_some);
    if !can {
        seekwell_testing::skip(test, "needs root, losetup and unshare for a state of its own");
    }
    can
}

#[test]
fn folders_of_others_are_not_believed() {
    if !can_run("folders_of_others_are_not_believed") {
        return;
    }
    let folders = FOLDERS.iter().flat_map(|name| IN_PLACE.iter().map(move |thing| (*name, *thing)));
    // Root alone can put a link into /var/lib, and may keep its state elsewhere.
    let folders = folders
        .filter(|(name, thing)| *name != "seekwell" || !thing.0.starts_with("a link to a folder"));
    let all = folders.flat_map(|(name, thing)| UMASKS.map(|umask| (name, thing, umask)));
    try_family("state folders", all.collect(), |(name, (what, make), umask)| {
        attempt(name, *make, umask).map_err(|why| format!("{what} as {name}, umask {umask}: {why}"))
    });
}

#[test]
fn files_of_others_are_not_believed() {
    if !can_run("files_of_others_are_not_believed") {
        return;
    }
    let files = NAMES.iter().flat_map(|name| FILES.iter().map(move |thing| (*name, *thing)));
    try_family("state files", files.collect(), |(name, (what, make))| {
        attempt(name, *make, "0022").map_err(|why| format!("{what} as {name}: {why}"))
    });
}

/// The epilog of a node finds out by the exit status whether something is left.
#[test]
fn doctor_fails_when_something_cannot_be_put_back() {
    if !can_run("doctor_fails_when_something_cannot_be_put_back") {
        return;
    }
    let doctor = |make: &dyn Fn(&Path)| {
        let place = Place::new();
        let state = place.home().join("state");
        for name in ["", "seekwell", "seekwell/undo"] {
            let mode = if name == "seekwell" { 0o755 } else { 0o700 };
            folder(&state.join(name), mode);
        }
        make(&state.join("seekwell/undo/0123456789abcdef.undo"));
        let script = format!(
            "mount --make-rprivate / && mount --bind '{}' /var/lib || exit 99; exec '{}' doctor",
            state.display(),
            env!("CARGO_BIN_EXE_seekwell")
        );
        place.run_program("unshare", &["--mount", "--uts", "sh", "-c", &script]).unwrap()
    };
    let told = doctor(&|_| {});
    assert_eq!(told.code, 0, "{}", told.text);
    let told = doctor(&|list| {
        fs::write(list, CANARY).unwrap();
        fs::set_permissions(list, Permissions::from_mode(0o600)).unwrap();
    });
    assert_eq!(told.code, 1, "{}", told.text);
    assert!(told.text.contains("cannot be put back"), "{}", told.text);
}
