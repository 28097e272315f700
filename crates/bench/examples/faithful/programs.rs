//! The programs, and the files that they find.

use seekwell_stats::seeded;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that is captured and replayed.
pub struct Program {
    pub name: &'static str,
    /// Script of sh that makes its files; `$W` is its directory, `$S` that of the sources.
    setup: String,
    /// Program and arguments; the directory is the current one.
    pub words: Vec<String>,
    sources: PathBuf,
}

impl Program {
    /// True when the program is there.
    pub fn is_installed(&self) -> bool {
        let needed = if self.words[0] == "sh" { self.words.last() } else { self.words.first() };
        let name = needed.and_then(|words| words.split(' ').next()).unwrap_or_default();
        seekwell_testing::tool(name).is_some()
    }

    /// Makes its files.
    pub fn set_up(&self, work: &Path) {
        let mut command = Command::new("sh");
        command.args(["-ec", &self.setup]).env("W", work).env("S", &self.sources);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs it to its end.
    pub fn run(&self, work: &Path) {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(work);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{}: {status}", self.name);
    }
}

/// Files that programs read from elsewhere.
pub struct Sources(PathBuf);

const DIRECTORIES: u32 = 60;
const FILES: u32 = 30;

/// Makes a tree of 1,800 files of words, its archive, a repository and the inputs of databases.
pub fn sources(folder: &Path) -> Sources {
    let folder = folder.join("sources");
    let tree = folder.join("tree");
    let mut rng = seeded(7);
    for directory in 0..DIRECTORIES {
        let directory = tree.join(format!("d{directory}"));
        std::fs::create_dir_all(&directory).unwrap();
        for file in 0..FILES {
            let mut text = String::new();
            let bytes = 200 + rng.next_u64() % 16_000;
            while (text.len() as u64) < bytes {
                let _ = write!(text, "word{} ", rng.next_u64() % 5000);
            }
            std::fs::write(directory.join(format!("f{file}.txt")), text).unwrap();
        }
    }
    let mut sql = "create table t(a integer primary key, b text);\n".to_owned();
    let (mut updates, mut creates) = (String::new(), String::new());
    for _ in 0..300 {
        let _ = writeln!(sql, "insert into t(b) values('{:0200}');", rng.next_u64());
    }
    for rrd in 0..40 {
        let _ = writeln!(
            creates,
            "create {rrd}.rrd --start 1000000000 --step 60 DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:6000 RRA:MAX:0.5:10:2000"
        );
    }
    for at in 0..50 {
        for rrd in 0..40 {
            let _ = writeln!(updates, "update {rrd}.rrd {}:{}", 1_000_000_060 + at * 60, at * rrd);
        }
    }
    let c = |nth: u32| {
        format!(
            "#include <stdio.h>\n#include <stdlib.h>\nint f{nth}(int x) {{ return printf(\"%d\", x + {nth}); }}\n"
        )
    };
    let code = folder.join("code");
    std::fs::create_dir(&code).unwrap();
    let objects: Vec<String> = (0..16).map(|nth| format!("f{nth}.o")).collect();
    for nth in 0..16 {
        std::fs::write(code.join(format!("f{nth}.c")), c(nth)).unwrap();
    }
    let make =
        format!("all.a: {0}\n\tar rcs all.a {0}\n%.o: %.c\n\tcc -c -o $@ $<\n", objects.join(" "));
    std::fs::write(code.join("Makefile"), make).unwrap();
    for (name, text) in [("sql", sql), ("updates", updates), ("creates", creates)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let script = "cd \"$S\"; tar cf tree.tar tree; cp -r tree repository; cd repository; git init -q .; \
                  for n in 1 2 3; do echo $n >> d1/f1.txt; git add -A; \
                  git -c user.name=a -c user.email=a@b commit -qm $n; done";
    let sources = Sources(folder);
    sources.program("", script, &["true"]).set_up(Path::new("/"));
    sources
}

impl Sources {
    fn program(&self, name: &'static str, setup: &str, words: &[&str]) -> Program {
        let sources = self.0.display().to_string();
        let words = words.iter().map(|word| word.replace("$S/", &format!("{sources}/"))).collect();
        Program { name, setup: setup.to_owned(), words, sources: self.0.clone() }
    }
}

/// A delivery to a Maildir: a file in `tmp`, synced, then moved to `new`.
const MAILDIR: &str = r#"use IO::Handle; for my $n (1..400) { open(my $f, ">", "tmp/$n") or die; print $f "x" x (2000 + $n * 7); $f->flush; $f->sync; close $f; rename("tmp/$n", "new/$n") or die; }"#;

/// Commands of PostgreSQL as its own user, which refuses to be root.
const POSTGRES: &str = r#"PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1):/usr/local/bin:$PATH"
user=$(id -u postgres 2>/dev/null || id -u nobody)
as() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
start() { as pg_ctl -D data/pg -w -l data/log -o "-c listen_addresses= -c unix_socket_directories=$PWD/data" start >/dev/null; }
stop() { as pg_ctl -D data/pg -m fast -w stop >/dev/null; }
"#;

/// Every program.
pub fn all(sources: &Sources) -> Vec<Program> {
    let db_bench = [
        "db_bench",
        "--db=db",
        "--num=4000",
        "--threads=2",
        "--sync=1",
        "--benchmarks=fillrandom,readrandom",
    ];
    let filled = format!(
        "{POSTGRES} cd $W; mkdir -m 700 data; chown $user:$user data; \
         as initdb -D data/pg -A trust -U bench >/dev/null; start; \
         as pgbench -h $PWD/data -U bench -i -q -s 2 postgres >/dev/null 2>&1; stop"
    );
    let transactions = format!(
        "pgbench --version >/dev/null; {POSTGRES} start; \
         as pgbench -h $PWD/data -U bench -c 2 -j 2 -t 300 postgres; stop"
    );
    vec![
        sources.program("tar-x", "true", &["tar", "xf", "$S/tree.tar"]),
        sources.program("rm-r", "cp -r $S/tree $W/tree", &["rm", "-r", "tree"]),
        sources.program(
            "git-clone",
            "cp -r $S/repository $W/repository",
            &["git", "clone", "-q", "--no-local", "repository", "clone"],
        ),
        sources.program(
            "git-gc",
            "cp -r $S/repository $W/repository",
            &["git", "-C", "repository", "gc", "-q"],
        ),
        sources.program(
            "rrdtool",
            "cd $W; rrdtool - < $S/creates",
            &["sh", "-c", "rrdtool - < $S/updates"],
        ),
        sources.program("sqlite", "true", &["sh", "-c", "sqlite3 db < $S/sql"]),
        sources.program("maildir", "mkdir $W/tmp $W/new", &["perl", "-e", MAILDIR]),
        sources.program("db_bench", "true", &db_bench),
        sources.program("pgbench", &filled, &["sh", "-ec", &transactions]),
        sources.program("make-j2", "cp -r $S/code/. $W", &["make", "-s", "-j2"]),
    ]
}
