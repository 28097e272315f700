//! The table of programs against replays of their recordings, all in virtual time.
//!
//! Rows lie in the file that `SEEKWELL_RECORDINGS` names, so that a table can be made in parts: what is
//! there is not run again. `SEEKWELL_RECORDED` lists the programs to run.

use super::{Guests, Stack, command, host, only_trace, plan_on, replay, replay_of, seconds};
use seekwell_virtual::kernel::Kernel;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Programs of the table: name, preparation and command.
pub const PROGRAMS: [(&str, &str, &str); 10] = [
    (
        "untar",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 400 ]; do echo $i $i $i > t/$i; i=$((i+1)); done; tar cf a.tar t; rm -r t",
        "tar xf a.tar",
    ),
    (
        "rm",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 400 ]; do echo $i $i $i > t/$i; i=$((i+1)); done",
        "rm -r t",
    ),
    (
        "tar",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 400 ]; do echo $i $i $i > t/$i; i=$((i+1)); done",
        "tar cf a.tar t",
    ),
    (
        "copy",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 200 ]; do echo $i $i $i > t/$i; i=$((i+1)); done",
        "cp -r t u; sync",
    ),
    (
        "find",
        "cd {dir}; for d in 0 1 2 3 4 5 6 7; do mkdir $d; i=0; while [ $i -lt 100 ]; do echo > $d/$i; i=$((i+1)); done; done",
        "find . -size +9k",
    ),
    ("log", "true", "dd if=/dev/zero of=log bs=4k count=300 oflag=dsync 2>/dev/null"),
    ("stream", "dd if=/dev/zero of={dir}/f bs=1M count=64 2>/dev/null", "cat f >/dev/null"),
    ("write", "true", "dd if=/dev/zero of=f bs=1M count=64 conv=fsync 2>/dev/null"),
    (
        "maildir",
        "cd {dir}; mkdir tmp new",
        "i=0; while [ $i -lt 60 ]; do echo $i > tmp/$i; sync tmp/$i; mv tmp/$i new/$i; i=$((i+1)); done",
    ),
    (
        "sqlite",
        "sqlite3 {dir}/db 'create table t(a,b);'",
        "i=0; while [ $i -lt 60 ]; do echo \\\"insert into t values($i,zeroblob(200));\\\"; i=$((i+1)); done | sqlite3 db",
    ),
];

/// The first study's load: round-robin files that grew between files of others, updated in another
/// order than that of their making, then synced.
const RRDTOOL: (&str, &str, &str) = (
    "rrdtool",
    "cd {dir}; mkdir r o; echo create a --start 1000000000 --step 60 DS:a:GAUGE:120:U:U DS:b:GAUGE:120:U:U RRA:AVERAGE:0.5:1:3000 RRA:MAX:0.5:10:1500 | rrdtool - >/dev/null; i=0; while [ $i -lt 150 ]; do cp a r/$i; dd if=/dev/zero of=o/$i bs=64k count=4 2>/dev/null; i=$((i+1)); done; for t in 1 2 3; do i=0; while [ $i -lt 150 ]; do echo update r/$(((i*37)%150)) $((1000000000+t*60)):$i:$t; i=$((i+1)); done; done > u",
    "rrdtool - < u > /dev/null",
);

/// Stacks of the table.
const STACKS: [Stack; 12] = [
    ("ext4", "sata-2tb-7200", "mq-deadline"),
    ("xfs", "sata-2tb-7200", "mq-deadline"),
    ("btrfs", "sata-2tb-7200", "mq-deadline"),
    ("ext4", "ssd-sata-250gb", "mq-deadline"),
    ("xfs", "ssd-sata-250gb", "mq-deadline"),
    ("btrfs", "ssd-sata-250gb", "mq-deadline"),
    ("ext4", "sata-2tb-7200", "bfq"),
    ("xfs", "sata-2tb-7200", "bfq"),
    ("btrfs", "sata-2tb-7200", "bfq"),
    ("ext4", "ssd-sata-250gb", "bfq"),
    ("xfs", "ssd-sata-250gb", "bfq"),
    ("btrfs", "ssd-sata-250gb", "bfq"),
];

/// Stacks, by their place in a list, on which a program is recorded.
struct Recorded {
    /// Recordings that are replayed on every stack.
    everywhere: &'static [usize],
    /// Recordings that are replayed on their own stack.
    there: &'static [usize],
}

const RECORDED: Recorded = Recorded { everywhere: &[0], there: &[1, 2, 3] };
/// On ext2, which keeps no births of files, and on ext4.
const STUDY_RECORDED: Recorded = Recorded { everywhere: &[0, 2], there: &[] };

/// Stacks of the first study: seven filesystems and three schedulers on its card.
pub fn study() -> Vec<Stack> {
    let filesystems = ["ext2", "ext3", "ext4", "ext4-nojournal", "jfs", "xfs-v4", "xfs-v4-lazy"];
    let schedulers = ["none", "mq-deadline", "bfq"];
    let each = |scheduler| filesystems.map(|name| (name, "cf-duracell-300x", scheduler));
    schedulers.into_iter().flat_map(each).collect()
}

/// Seeds of the program's runs; replays have the first.
const SEEDS: [u64; 2] = [7, 8];

/// Stacks as fast as the fastest, but for this.
const TIE: f64 = 0.03;

/// A run of a program, or of a replay.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    program: String,
    /// Stack of the recording; empty for the program itself.
    from: String,
    to: String,
    seed: u64,
    seconds: f64,
    /// 1 for a program.
    fidelity: f64,
}

const HEAD: &str = "program,from,to,seed,seconds,fidelity";

impl Row {
    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let [program, from, to, seed, seconds, fidelity] = cells[..] else { return None };
        Some(Self {
            program: program.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            seed: seed.parse().ok()?,
            seconds: seconds.parse().ok()?,
            fidelity: fidelity.parse().ok()?,
        })
    }

    fn line(&self) -> String {
        let Self { program, from, to, seed, seconds, fidelity } = self;
        format!("{program},{from},{to},{seed},{seconds:.9},{fidelity:.4}")
    }
}

fn name((filesystem, model, scheduler): Stack) -> String {
    format!("{filesystem}/{model}/{scheduler}")
}

/// All rows, in memory and in the file.
struct Rows {
    file: Option<PathBuf>,
    all: Mutex<Vec<Row>>,
}

impl Rows {
    fn open() -> Self {
        let file = std::env::var_os("SEEKWELL_RECORDINGS").map(PathBuf::from);
        let text = file.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let all = text.unwrap_or_default().lines().filter_map(Row::read).collect();
        Self { file, all: Mutex::new(all) }
    }

    fn all(&self) -> Vec<Row> {
        self.all.lock().unwrap().clone()
    }

    fn has(&self, program: &str, from: &str, to: &str, seed: u64) -> bool {
        let is_it = |row: &Row| {
            (&*row.program, &*row.from, &*row.to, row.seed) == (program, from, to, seed)
        };
        self.all.lock().unwrap().iter().any(is_it)
    }

    fn add(&self, row: Row) {
        println!("{}", row.line());
        let mut all = self.all.lock().unwrap();
        all.push(row);
        let Some(file) = &self.file else { return };
        let lines = all.iter().fold(format!("{HEAD}\n"), |mut text, row| {
            let _ = writeln!(text, "{}", row.line());
            text
        });
        std::fs::write(file, lines).unwrap();
    }
}

/// Does something with each, two at a time: guests have no say in each other's time.
fn each<T: Copy + Sync>(all: &[T], work: &(dyn Fn(T) + Sync)) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(one) =
                    all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    work(*one);
                }
            });
        }
    });
}

/// Runs what is missing of a program: it on each stack, and replays of its recordings.
fn measure(
    kernel: &Kernel,
    rows: &Rows,
    (program, prepare, line): (&str, &str, &str),
    stacks: &[Stack],
    recorded: &Recorded,
) {
    let row = |from: &str, to: &str, seed, seconds, fidelity| {
        let [program, from, to] = [program, from, to].map(str::to_owned);
        rows.add(Row { program, from, to, seed, seconds, fidelity });
    };
    let lines = command(prepare, line);
    let own = Guests::new(kernel, &[], None);
    // Without the walk of a recording, which leaves files in the cache of the disk itself.
    each(stacks, &|to| {
        for seed in SEEDS.into_iter().filter(|seed| !rows.has(program, "", &name(to), *seed)) {
            let run = own.run(&plan_on(to, &lines), seed);
            row("", &name(to), seed, seconds(&run, "command", "elapsed_durable"), 1.0);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    each(&[recorded.everywhere, recorded.there].concat(), &|at| {
        let from = stacks[at];
        let wanted = if recorded.there.contains(&at) { &stacks[at..=at] } else { stacks };
        let is_missing = |to: &&Stack| !rows.has(program, &name(from), &name(**to), SEEDS[0]);
        let missing: Vec<Stack> = wanted.iter().filter(is_missing).copied().collect();
        if missing.is_empty() {
            return;
        }
        let place = folder.path().join(at.to_string());
        Guests::new(kernel, &[], Some(&place)).run(&plan_on(from, &lines), SEEDS[0]);
        let trace = only_trace(&place);
        let replays = Guests::new(kernel, std::slice::from_ref(&trace), None);
        each(&missing, &|to| {
            let run = replays.run(&plan_on(to, &replay(&trace)), SEEDS[0]);
            let metric = |name: &str| seconds(&run, "replay", name);
            row(&name(from), &name(to), SEEDS[0], metric("elapsed_durable"), metric("fidelity"));
        });
    });
}

/// Recordings on this machine: as recorded, and without what the program computed, for which a guest is
/// not charged.
const HOSTED: [(&str, &str); 2] = [("host", "1"), ("host-calls", "0.001")];

/// Replays a recording on this machine on the stacks on which it was not replayed yet.
fn measure_hosted(
    kernel: &Kernel,
    rows: &Rows,
    capture: &Path,
    (program, prepare, line): (&str, &str, &str),
    stacks: &[Stack],
) {
    let is_missing =
        |(from, _): &(&str, &str), to: &Stack| !rows.has(program, from, &name(*to), SEEDS[0]);
    let wanted = HOSTED.iter().flat_map(|how| stacks.iter().map(move |to| (*how, *to)));
    let missing: Vec<_> = wanted.filter(|(how, to)| is_missing(how, to)).collect();
    if missing.is_empty() {
        return;
    }
    let recorded = host::record(capture, prepare, line);
    let replays = Guests::new(kernel, std::slice::from_ref(&recorded.trace), None);
    each(&missing, &|((from, scale), to)| {
        let lines = replay_of(&recorded.trace, &recorded.folder);
        let run = replays.run(&plan_on(to, &format!("{lines}\nscale = {scale}")), SEEDS[0]);
        let metric = |name: &str| seconds(&run, "replay", name);
        let [program, from, to] = [program, from, &name(to)].map(str::to_owned);
        let (seconds, fidelity) = (metric("elapsed_durable"), metric("fidelity"));
        rows.add(Row { program, from, to, seed: SEEDS[0], seconds, fidelity });
    });
}

fn error(own: f64, other: f64) -> f64 {
    (other / own).ln().abs()
}

fn said(what: &str, mut errors: Vec<f64>) {
    errors.sort_by(f64::total_cmp);
    let count = errors.len();
    if count > 0 {
        let (median, worst) = (errors[count / 2], errors[count - 1]);
        println!("{what}: {count}, error median {median:.4}, worst {worst:.4}");
    }
}

/// Times of a program on stacks, by seed, and those of the replays of one recording there.
struct Order {
    own: Vec<[f64; 2]>,
    replayed: Vec<f64>,
}

impl Order {
    fn of(rows: &[Row], program: &str, from: &str) -> Self {
        let find = |from: &str, to: &str, seed| {
            let mut found = rows.iter().filter(|row| row.program == program);
            let found = found.find(|row| (&*row.from, &*row.to, row.seed) == (from, to, seed));
            found.map(|row| row.seconds)
        };
        let replays = rows.iter().filter(|row| row.program == program && row.from == from);
        let known = replays.filter_map(|row| {
            let own = [find("", &row.to, SEEDS[0])?, find("", &row.to, SEEDS[1])?];
            Some((own, row.seconds))
        });
        let (own, replayed) = known.unzip();
        Self { own, replayed }
    }

    /// True when the stack that the replay is fastest on is one of the program's fastest.
    fn is_right(&self) -> bool {
        let middle = |own: &[f64; 2]| f64::midpoint(own[0], own[1]);
        let best = self.own.iter().map(middle).fold(f64::INFINITY, f64::min);
        let chosen =
            (0..self.own.len()).min_by(|a, b| self.replayed[*a].total_cmp(&self.replayed[*b]));
        chosen.is_some_and(|at| {
            let [one, other] = self.own[at];
            one.min(other) <= best * (1.0 + TIE)
        })
    }

    /// Kendall's τ between the orders of program and replay.
    fn tau(&self) -> f64 {
        kendall(&self.own.iter().map(|own| own[0]).collect::<Vec<_>>(), &self.replayed)
    }
}

fn kendall(own: &[f64], other: &[f64]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for at in 0..own.len() {
        for to in at + 1..own.len() {
            sum += (own[at] - own[to]).signum() * (other[at] - other[to]).signum();
            pairs += 1.0;
        }
    }
    sum / pairs
}

/// Prints errors, orders and winners of all rows.
fn summary(rows: &[Row]) {
    let (mut same, mut others, mut twice) = (vec![], vec![], vec![]);
    let mut hosted = HOSTED.map(|_| vec![]);
    for row in rows {
        let own = rows.iter().find(|own| {
            own.from.is_empty()
                && (&own.program, &own.to) == (&row.program, &row.to)
                && own.seed == SEEDS[0]
        });
        let Some(own) = own else { continue };
        let found = error(own.seconds, row.seconds);
        if let Some(at) = HOSTED.iter().position(|(from, _)| *from == row.from) {
            hosted[at].push(found);
            continue;
        }
        match (row.from.is_empty(), row.from == row.to) {
            (true, _) if row.seed == SEEDS[1] => twice.push(found),
            (true, _) => {}
            (false, true) => same.push(found),
            (false, false) => others.push(found),
        }
    }
    said("replay on the stack of its recording", same);
    said("replay on another stack", others);
    said("program with another seed", twice);
    for ((from, _), errors) in HOSTED.iter().zip(hosted) {
        said(&format!("replay of {from}"), errors);
    }
    let mut found: Vec<(String, String)> = Vec::new();
    for row in rows.iter().filter(|row| !row.from.is_empty()) {
        let key = (row.program.clone(), row.from.clone());
        if !found.contains(&key) {
            found.push(key);
        }
    }
    let (mut right, mut all) = (0, 0);
    for (program, from) in found {
        let order = Order::of(rows, &program, &from);
        if order.own.len() < 2 {
            continue;
        }
        (right, all) = (right + u32::from(order.is_right()), all + 1);
        let (count, tau) = (order.own.len(), order.tau());
        println!(
            "{program} from {from}: {count} stacks, Kendall's τ {tau:.3}, winner right: {}",
            order.is_right()
        );
    }
    println!("winner right: {right} of {all}");
}

fn is_wanted(program: &str) -> bool {
    let wanted = std::env::var("SEEKWELL_RECORDED").unwrap_or_default();
    wanted.is_empty() || wanted.split(' ').any(|one| one == program)
}

/// Programs against their replays, on the stack of the recording and on others; with the path of `seekwell` in
/// `SEEKWELL_CAPTURE`, as root, also against replays of recordings on this machine.
#[test]
#[ignore = "takes an hour: make recordings"]
fn replays_predict_their_programs() {
    let test = "replays_predict_their_programs";
    let Some(kernel) = super::kernel(test) else { return };
    let rows = Rows::open();
    let capture = std::env::var_os("SEEKWELL_CAPTURE").filter(|path| !path.is_empty());
    for program in PROGRAMS.into_iter().filter(|program| is_wanted(program.0)) {
        measure(&kernel, &rows, program, &STACKS, &RECORDED);
        if let Some(capture) = &capture {
            measure_hosted(&kernel, &rows, Path::new(capture), program, &STACKS);
        }
    }
    if is_wanted(RRDTOOL.0) {
        measure(&kernel, &rows, RRDTOOL, &study(), &STUDY_RECORDED);
    }
    summary(&rows.all());
}

#[test]
fn rows_are_read_as_they_were_written() {
    let row = Row::read("tar,a/b/c,d/e/f,7,0.125000000,0.9975").unwrap();
    assert_eq!((row.seed, row.seconds, row.fidelity), (7, 0.125, 0.9975));
    assert_eq!(Row::read(&row.line()), Some(row));
    assert_eq!(Row::read(HEAD), None);
}

#[test]
fn orders_agree_or_are_turned_round() {
    assert!((kendall(&[1.0, 2.0, 3.0], &[2.0, 4.0, 9.0]) - 1.0).abs() < 1e-9);
    assert!((kendall(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-9);
    let order =
        Order { own: vec![[1.0, 1.0], [1.02, 1.02], [2.0, 2.0]], replayed: vec![5.0, 4.0, 9.0] };
    assert!(order.is_right(), "the second is as fast but for a tie");
    let order = Order { replayed: vec![5.0, 6.0, 4.0], ..order };
    assert!(!order.is_right());
}
