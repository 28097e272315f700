//! Files of others that are no runs, reports, labs, jobs or devices, given to the commands that read such.

use super::{CANARY, Place, bring, bring_to, difference, fifo, snapshot, try_family};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

const READERS: [(&str, &[&str]); 16] = [
    ("report", &["report", "IN", "--json"]),
    ("verify", &["verify", "IN"]),
    ("repair", &["repair", "IN", "-o", "new"]),
    ("extract", &["extract", "IN", "-o", "new"]),
    ("compare", &["compare", "IN", "run.seekwell"]),
    ("compare with", &["compare", "run.seekwell", "IN"]),
    ("resume", &["run", "--resume", "-o", "IN"]),
    ("plan", &["plan", "IN"]),
    ("import", &["device", "import", "IN"]),
    ("text", &["report", "IN"]),
    ("html", &["report", "IN", "--html", "new"]),
    ("merge", &["merge", "IN", "run.seekwell", "-o", "new"]),
    ("merge with", &["merge", "run.seekwell", "IN", "-o", "new"]),
    ("show", &["device", "show", "./IN"]),
    ("run", &["run", "IN"]),
    ("job", &["bench", "fio", "data", "--job-file", "IN"]),
];

type Make = fn(&Path);

const INPUTS: [(&str, Make); 27] = [
    ("nothing", |_| {}),
    ("an empty file", |path| drop(File::create(path).unwrap())),
    ("a text", |path| fs::write(path, CANARY).unwrap()),
    ("a directory", |path| fs::create_dir(path).unwrap()),
    ("a link to itself", |path| symlink("in", path).unwrap()),
    ("a dangling link", |path| symlink("../others/new", path).unwrap()),
    ("a link to a canary", |path| symlink("../others/canary", path).unwrap()),
    ("endless zeroes", |path| symlink("/dev/zero", path).unwrap()),
    ("endless noise", |path| symlink("/dev/urandom", path).unwrap()),
    ("a FIFO", fifo),
    ("its own memory", |path| symlink("/proc/self/mem", path).unwrap()),
    ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("a hole of 1 TiB", |path| File::create(path).unwrap().set_len(1 << 40).unwrap()),
    ("a head of SQLite", |path| fs::write(path, b"SQLite format 3\0\x04\0\x01\x01").unwrap()),
    ("zeroes behind a head", |path| {
        let mut bytes = b"SQLite format 3\0".to_vec();
        bytes.resize(1 << 16, 0);
        fs::write(path, bytes).unwrap();
    }),
    ("deep brackets", |path| fs::write(path, "[".repeat(200_000)).unwrap()),
    ("a run with an endless view", |path| {
        changed(path, &format!("DROP VIEW last_attempt; CREATE VIEW last_attempt {ENDLESS}"))
    }),
    ("a run with an endless table", |path| {
        changed(path, &format!("ALTER TABLE attempt RENAME TO a; CREATE VIEW attempt {ENDLESS}"))
    }),
    ("a run with a trigger", |path| {
        changed(path, "CREATE TRIGGER t AFTER UPDATE ON meta BEGIN UPDATE meta SET value = 1; END")
    }),
    ("a second name of a canary", |path| {
        fs::hard_link(path.with_file_name("../others/canary"), path).unwrap()
    }),
    ("a link to a folder of others", |path| symlink("../others/folder", path).unwrap()),
    ("a run turned round", |path| {
        bring_to(path, "run.seekwell");
        let bytes: Vec<u8> = fs::read(path).unwrap().into_iter().rev().collect();
        fs::write(path, bytes).unwrap();
    }),
    ("a lab in UTF-16", |path| {
        let text = "[lab]\nname = \"lab\"\n".encode_utf16();
        fs::write(path, text.flat_map(u16::to_le_bytes).collect::<Vec<_>>()).unwrap();
    }),
    ("a program", |path| fs::copy("/bin/true", path).map(drop).unwrap()),
    ("a head of gzip", |path| fs::write(path, [&[0x1f, 0x8b, 8][..], &[7; 999]].concat()).unwrap()),
    ("quotes", |path| fs::write(path, "\"".repeat(1 << 22)).unwrap()),
    ("control characters", |path| {
        fs::write(path, "\u{1b}]0;title\u{7}\u{1b}[2J = \"\u{202e}").unwrap()
    }),
];

/// Rows of attempts without end.
const ENDLESS: &str = "AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT i AS id, i AS trial, 0 AS round, 0 AS candidate, 0 AS seed, 'ok' AS status FROM n WHERE i < 0";

/// A run file whose schema another program has changed.
fn changed(path: &Path, how: &str) {
    bring_to(path, "run.seekwell");
    rusqlite::Connection::open(path).unwrap().execute_batch(how).unwrap();
}

#[test]
fn inputs_stay_as_they_are() {
    let all = READERS.iter().flat_map(|reader| INPUTS.iter().map(move |input| (reader, input)));
    try_family("inputs", all.collect(), |((name, arguments), (what, make))| {
        attempt(arguments, *make).map_err(|why| format!("{name} {what}: {why}"))
    });
}

fn attempt(arguments: &[&str], make: Make) -> Result<(), String> {
    let place = Place::new();
    bring(&place, &["run.seekwell", "data"]);
    let input = place.home().join("in");
    make(&input);
    let hole = fs::metadata(&input).is_ok_and(|about| about.len() > 1 << 30);
    let (others, home) =
        (snapshot(&place.others()), if hole { None } else { Some(snapshot(&place.home())) });
    let words: Vec<String> = arguments.iter().map(|word| word.replace("IN", "in")).collect();
    let told = place.run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    if let Some(what) = difference(&others, &snapshot(&place.others()), true) {
        return Err(what);
    }
    match home {
        Some(home) => {
            if let Some(what) = difference(&home, &snapshot(&place.home()), true) {
                return Err(what);
            }
        }
        None if fs::metadata(&input).unwrap().len() != 1 << 40 => {
            return Err("the hole has another size".to_owned());
        }
        None => {}
    }
    if told.code == 0 { Err(format!("it ends well: {:.300}", told.text)) } else { Ok(()) }
}
