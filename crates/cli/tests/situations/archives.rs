//! Tar archives that name files outside of the folder into which they are unpacked, in every form that tar has.

use super::{Place, difference, snapshot, try_family};
use std::fs;

/// One entry as tar writes it, with a checksum that is right.
fn entry(kind: u8, name: &[u8], link: &[u8], size: &[u8], data: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    let mut put = |at: usize, most: usize, bytes: &[u8]| {
        let length = bytes.len().min(most);
        header[at..at + length].copy_from_slice(&bytes[..length]);
    };
    put(0, 100, name);
    put(100, 8, b"0000644");
    put(108, 8, b"0000000");
    put(116, 8, b"0000000");
    put(124, 12, size);
    put(136, 12, b"00000000000");
    put(148, 8, b"        ");
    put(157, 100, link);
    put(257, 8, b"ustar\x0000");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut all = header.to_vec();
    all.extend(data);
    all.resize(all.len().next_multiple_of(512), 0);
    all
}

fn plain(kind: u8, name: &str, link: &str, data: &[u8]) -> Vec<u8> {
    let size = format!("{:011o}", data.len());
    entry(kind, name.as_bytes(), link.as_bytes(), size.as_bytes(), data)
}

/// A long name or link of GNU tar, before the entry that it belongs to.
fn long(kind: u8, text: &str) -> Vec<u8> {
    plain(kind, "././@LongLink", "", format!("{text}\0").as_bytes())
}

/// A record of pax, before the entry that it belongs to.
fn pax(key: &str, value: &str) -> Vec<u8> {
    let line = (1..200)
        .map(|length| format!("{length} {key}={value}\n"))
        .find(|line| line.split(' ').next() == Some(&line.len().to_string()))
        .unwrap();
    plain(b'x', "pax", "", line.as_bytes())
}

/// An archive: a name for messages, and its entries.
type Archive = (String, Vec<u8>);

const DATA: &[u8] = b"written by an archive\n";
const KINDS: [(u8, &str); 9] = [
    (b'0', "file"),
    (b'1', "hard link"),
    (b'2', "symbolic link"),
    (b'3', "character device"),
    (b'4', "block device"),
    (b'5', "folder"),
    (b'6', "pipe"),
    (b'7', "contiguous file"),
    (b'Z', "unknown"),
];

/// Names that lead out of the folder, each as every kind of entry and in every way to write a long name.
fn names(canary: &str) -> Vec<Archive> {
    let names = [
        "../../others/canary",
        "../../../others/canary",
        canary,
        "mail/../../../others/canary",
        "./../../others/canary",
        "mail//..//..//..//others//canary",
        "..",
        ".",
        "/",
        "",
        "new\nline\u{1b}[2J",
    ];
    let mut all = Vec::new();
    for name in names {
        for (kind, word) in KINDS {
            let data = if kind == b'0' || kind == b'7' { DATA } else { b"" };
            all.push((format!("{word} {name:?}"), plain(kind, name, "target", data)));
        }
        let short = plain(b'0', "mail", "", DATA);
        all.push((format!("long name {name:?}"), [long(b'L', name), short.clone()].concat()));
        all.push((format!("pax path {name:?}"), [pax("path", name), short].concat()));
    }
    all
}

/// Links that lead out of the folder, and entries that go through them.
fn links(canary: &str) -> Vec<Archive> {
    let folder = canary.trim_end_matches("/canary");
    let mut all = Vec::new();
    for target in [canary, "../../others/canary", "../../../others/canary", "/etc/passwd", "link"] {
        for (kind, word) in [(b'1', "hard link"), (b'2', "symbolic link")] {
            let link = plain(kind, "link", target, b"");
            let through = plain(b'0', "link", "", DATA);
            all.push((format!("{word} to {target}"), link.clone()));
            all.push((format!("{word} to {target}, written"), [link, through.clone()].concat()));
            let long_link = [long(b'K', target), plain(kind, "link", "x", b"")].concat();
            all.push((format!("long {word} to {target}"), [long_link, through].concat()));
            let record = [pax("linkpath", target), plain(kind, "link", "x", b"")].concat();
            all.push((format!("pax {word} to {target}"), record));
        }
    }
    for target in [folder, "../../others", "..", "/"] {
        let inside = plain(b'0', "link/canary", "", DATA);
        let link = plain(b'2', "link", target, b"");
        all.push((format!("below a link to {target}"), [link.clone(), inside.clone()].concat()));
        let again = [plain(b'5', "link", "", b""), link, inside].concat();
        all.push((format!("a folder that becomes a link to {target}"), again));
    }
    all
}

/// Sizes and forms that are wrong.
fn forms() -> Vec<Archive> {
    let mut all = Vec::new();
    let sizes: [(&str, &[u8]); 8] = [
        ("no size", b""),
        ("a size of letters", b"size"),
        ("a negative size", b"-0000000001"),
        ("8 GiB", b"77777777777"),
        ("8 EiB", b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ("a size below zero", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("more than there is", b"00000100000"),
        ("a size with a digit too much", b"888888888888"),
    ];
    for (name, size) in sizes {
        for (kind, word) in [(b'0', "file"), (b'L', "long name"), (b'x', "pax"), (b'S', "sparse")] {
            all.push((format!("{word} of {name}"), entry(kind, b"mail/a", b"", size, DATA)));
        }
    }
    let good = plain(b'0', "mail/a", "", DATA);
    let mut wrong_sum = good.clone();
    wrong_sum[0] = b'M';
    all.push(("a wrong checksum".to_owned(), wrong_sum));
    all.push(("half a header".to_owned(), good[..200].to_vec()));
    all.push(("half a file".to_owned(), good[..520].to_vec()));
    all.push(("nothing".to_owned(), Vec::new()));
    all.push(("zeroes".to_owned(), vec![0; 10_240]));
    all.push(("a name twice".to_owned(), [good.clone(), good.clone()].concat()));
    let below = plain(b'0', "mail/a/b", "", DATA);
    all.push(("below a file".to_owned(), [good, below].concat()));
    let deep = "d/".repeat(40_000) + "f";
    all.push((
        "40,000 folders deep".to_owned(),
        [long(b'L', &deep), plain(b'0', "x", "", DATA)].concat(),
    ));
    all.push(("a long name alone".to_owned(), long(b'L', "mail/a")));
    let many = (0..1_000).map(|_| long(b'L', "mail/a")).collect::<Vec<_>>().concat();
    all.push(("long names of long names".to_owned(), many));
    all
}

#[test]
fn archives_stay_in_their_folder() {
    let place = Place::new();
    let canary = place.canary().to_str().unwrap().to_owned();
    let all: Vec<Archive> =
        names(&canary).into_iter().chain(links(&canary)).chain(forms()).collect();
    try_family("archives", all, |(name, bytes)| {
        attempt(&place, bytes).map_err(|why| format!("{name}: {why}"))
    });
}

fn attempt(place: &Place, bytes: &[u8]) -> Result<(), String> {
    let archive = place.home().join("a.tar");
    let end = [0; 1024];
    fs::write(&archive, [bytes, &end].concat()).unwrap();
    fs::create_dir_all(place.home().join("target")).unwrap();
    let before = (snapshot(&place.others()), snapshot(&place.home()));
    place.run(&["bench", "mail", "target", "--archive", "a.tar"])?;
    let after = (snapshot(&place.others()), snapshot(&place.home()));
    difference(&before.0, &after.0, true)
        .or_else(|| difference(&before.1, &after.1, true))
        .map_or(Ok(()), Err)
}
