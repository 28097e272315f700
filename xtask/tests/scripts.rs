//! The scripts behind `make demo` and `make test`, run with a package manager and a program of the
//! test's own, so that nothing is installed.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helper functions too")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use seekwell_model::filesystems::FILESYSTEMS;
use tempfile::TempDir;

/// Programs that the scripts call.
const TOOLS: [&str; 8] = ["sh", "cat", "chmod", "dirname", "env", "mkdir", "mv", "rm"];

/// Notes each call; `install` makes a program out of every package that is offered.
const APT_GET: &str = r#"#!/bin/sh
echo "apt-get $*" >>calls
for word in "$@"; do
    case $word in
    a-tool | b-tool) echo '#!/bin/sh' >"bin/$word"; chmod +x "bin/$word" ;;
    esac
done
"#;

const APT_CACHE: &str = r#"#!/bin/sh
case $2 in a-tool | b-tool) exit 0 ;; *) exit 100 ;; esac
"#;

/// Stands for sudo: only says that it was asked.
const SUDO: &str = "#!/bin/sh\necho sudo >>calls\nexec \"$@\"\n";

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Held while a program is written and while one is started: a process that another test starts
/// meanwhile has the open file too, and the kernel starts no program that is open for writing.
static PROGRAMS: Mutex<()> = Mutex::new(());

fn programs() -> MutexGuard<'static, ()> {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder with a copy of one script, and `bin` as the only place for programs.
    fn new(script: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "scripts", "labs"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        {
            let _written = programs();
            let from = project().join("scripts").join(script);
            fs::copy(from, place.path("scripts").join(script)).unwrap();
        }
        for tool in TOOLS {
            let program = seekwell_testing::tool(tool).unwrap();
            symlink(program, place.path("bin").join(tool)).unwrap();
        }
        // As root the scripts ask nobody; these tests shall do the same under any user.
        place.program("id", "#!/bin/sh\necho 0\n");
        place.program("chown", "#!/bin/sh\n");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        let _written = programs();
        let _ = fs::remove_file(&path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.path("scripts").join(script));
        command.args(arguments).current_dir(self.folder.path());
        command.env_clear().env("PATH", self.path("bin"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = {
            let _started = programs();
            command.spawn().unwrap()
        };
        started.wait_with_output().unwrap()
    }

    fn install(&self, packages: &str) -> (Option<i32>, String) {
        fs::write(self.path("scripts/packages.txt"), packages).unwrap();
        let output = self.run("install-packages", &[]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn place_with_apt() -> Place {
    let place = Place::new("install-packages");
    place.program("apt-get", APT_GET);
    place.program("apt-cache", APT_CACHE);
    place.program("sudo", SUDO);
    place
}

#[test]
fn nothing_missing_means_nothing_done() {
    let place = place_with_apt();
    let packages = "# comment\n\na-tool sh need shells\nb-tool /dev/null want a file\n";
    assert_eq!(place.install(packages), (Some(0), String::new()));
    assert_eq!(place.read("calls"), None);
}

#[test]
fn what_is_missing_is_installed_once() {
    let place = place_with_apt();
    let packages = "a-tool a-tool need builds\nb-tool b-tool want tests\nold sh need there\n";
    let (code, said) = place.install(packages);
    assert_eq!((code, said.as_str()), (Some(0), "installing: a-tool b-tool\n"));
    let calls = "apt-get update -q\napt-get install -y -q --no-install-recommends a-tool b-tool\n";
    assert_eq!(place.read("calls").as_deref(), Some(calls));
    assert_eq!(place.install(packages), (Some(0), String::new()));
    assert_eq!(place.read("calls").as_deref(), Some(calls));
}

#[test]
fn another_user_goes_through_sudo() {
    let place = place_with_apt();
    place.program("id", "#!/bin/sh\necho 1000\n");
    assert_eq!(place.install("a-tool a-tool need builds\n").0, Some(0));
    assert_eq!(
        place.read("calls").as_deref(),
        Some(
            "sudo\napt-get update -q\nsudo\n\
             apt-get install -y -q --no-install-recommends a-tool\n"
        )
    );
    fs::remove_file(place.path("bin/sudo")).unwrap();
    fs::remove_file(place.path("bin/a-tool")).unwrap();
    let (code, said) = place.install("a-tool a-tool need builds\n");
    assert_eq!(
        (code, said.as_str()),
        (
            Some(1),
            "installing needs root and sudo was not found; run as root: apt-get install a-tool\n  \
             a-tool (a-tool): builds\n"
        )
    );
}

#[test]
fn a_wish_that_is_not_offered_is_said_and_not_asked_for_again() {
    let place = place_with_apt();
    let packages = "a-tool a-tool need builds\nrare rare-tool want a rare filesystem\n";
    let (code, said) = place.install(packages);
    let note = "not offered by this system; tests that need them are skipped: rare\n";
    assert_eq!((code, said), (Some(0), format!("installing: a-tool rare\n{note}")));
    let calls = place.read("calls");
    assert_eq!(place.install(packages), (Some(0), note.to_owned()));
    assert_eq!(place.read("calls"), calls);
}

#[test]
fn a_need_that_is_not_offered_stops_with_the_reason() {
    let place = place_with_apt();
    let (code, said) = place.install("rare rare-tool need holds the demo\n");
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "installing: rare\nstill missing, because this system's package sources do not offer them:\n  \
         rare (rare-tool): holds the demo\n"
    );
}

#[test]
fn without_apt_the_missing_are_listed() {
    let place = Place::new("install-packages");
    let head = "apt-get not found; install the equivalent of these Debian packages:\n";
    let (code, said) = place.install("a-tool a-tool need builds\nb-tool b-tool want tests\n");
    assert_eq!(
        (code, said),
        (Some(1), format!("{head}  a-tool (a-tool): builds\n  b-tool (b-tool): tests\n"))
    );
    let (code, said) = place.install("b-tool b-tool want tests\n");
    assert_eq!(
        (code, said),
        (
            Some(0),
            format!(
                "{head}  b-tool (b-tool): tests\ncontinuing without them; tests that need them are skipped and counted\n"
            )
        )
    );
}

#[test]
fn the_list_names_the_tools_of_every_filesystem_once() {
    let list = fs::read_to_string(project().join("scripts/packages.txt")).unwrap();
    let lines: Vec<Vec<&str>> = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    for line in &lines {
        assert!(line.len() > 3 && ["need", "want"].contains(&line[2]), "{line:?}");
    }
    let mut names: Vec<&str> = lines.iter().map(|line| line[0]).collect();
    // Debian 12 does not offer it.
    let not_offered = ["bcachefs-tools"];
    for filesystem in FILESYSTEMS {
        let package = filesystem.package;
        assert!(
            package.is_empty() || names.contains(&package) || not_offered.contains(&package),
            "scripts/packages.txt lacks {package}, which {} needs",
            filesystem.name
        );
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A program that writes a run file and a page, and ends with the given code.
fn demo(code: u8) -> (Place, Output) {
    let place = Place::new("demo");
    fs::write(place.path("demo.seekwell"), "old").unwrap();
    place.program(
        "seekwell",
        &format!(
            "#!/bin/sh\necho \"$*\" >>calls\ncase $1 in\nrun) echo new >\"$4\"; exit {code} ;;\n\
             report) [ $# -lt 4 ] && exec cat \"$2\"; cat \"$2\" >\"$4\" ;;\nesac\n"
        ),
    );
    let program = place.path("bin/seekwell");
    let output = place.run("demo", &[program.to_str().unwrap()]);
    (place, output)
}

#[test]
fn the_demo_replaces_an_older_run_when_it_is_complete() {
    // 4: not resolved, which is a verdict.
    for code in [0, 4] {
        let (place, output) = demo(code);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "new\n", "the report of what stays");
        assert_eq!(place.read("demo.seekwell").as_deref(), Some("new\n"));
        assert_eq!(place.read("demo.html").as_deref(), Some("new\n"));
        assert_eq!(place.read("demo.old.seekwell"), None);
        assert_eq!(
            place.read("calls").as_deref(),
            Some(
                "run labs/demo.toml -o demo.seekwell\nreport demo.seekwell\n\
                 report demo.seekwell --html demo.html\n"
            )
        );
    }
}

#[test]
fn a_demo_that_fails_keeps_the_older_run_and_hands_on_the_exit_code() {
    for code in [1, 3] {
        let (place, output) = demo(code);
        assert_eq!(place.read("calls").as_deref(), Some("run labs/demo.toml -o demo.seekwell\n"));
        assert_eq!(output.status.code(), Some(i32::from(code)));
        assert_eq!(place.read("demo.seekwell").as_deref(), Some("old"));
        assert_eq!(place.read("demo.html"), None);
        assert_eq!(place.read("demo.old.seekwell"), None);
    }
}
