use super::*;
use seekwell_trace::Trace;

struct Read {
    imported: Imported,
    rows: Vec<(Event, String, String)>,
    trace: Trace,
}

fn import(text: &str) -> Result<Read, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, text).unwrap();
    let imported = strace(&input, &output)?;
    let trace = Trace::open(&output).unwrap();
    let files = trace.files().unwrap();
    let mut rows = Vec::new();
    let path = |id: Option<FileId>| {
        let found = id.and_then(|id| files.iter().find(|file| file.id == id));
        found.and_then(|file| file.path.clone()).unwrap_or_default()
    };
    let each = |event: Event| {
        rows.push((event, path(event.file), path(event.to_file)));
        Ok(())
    };
    trace.events(each).unwrap();
    // The folder is removed; nothing of it is read again.
    Ok(Read { imported, rows, trace })
}

const FOLLOWED: &str = r#"100 1700000000.000000 execve("/bin/db", ["db"], 0x7ffd /* 9 vars */) = 0 <0.001000>
100 1700000000.010000 openat(AT_FDCWD</srv>, "log", O_WRONLY|O_CREAT|O_DSYNC, 0644) = 3</srv/log> <0.000100>
100 1700000000.020000 write(3</srv/log>, "x"..., 4096) = 4096 <0.005000>
100 1700000000.030000 write(3</srv/log>,  <unfinished ...>
101 1700000000.031000 read(0<pipe:[7]>, "", 10) = 0 <0.000010>
100 1700000000.040000 <... write resumed>"y"..., 4096) = 4096 <0.010000>
100 1700000000.050000 rename("log", "old") = 0 <0.000020>
100 1700000000.051000 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD|0x100) = 102
102 1700000000.052000 close(3</srv/log>) = 0 <0.000001>
100 1700000000.060000 --- SIGCHLD {si_signo=SIGCHLD} ---
100 1700000000.061000 brk(NULL) = 0x55 <0.000001>
100 1700000000.062000 read(9, 
100 1700000000.070000 +++ exited with 0 +++
"#;

#[test]
fn calls_are_joined_and_paths_and_offsets_followed() {
    let read = import(FOLLOWED).unwrap();
    assert_eq!(read.imported, Imported { events: 8, other: 3, damaged: 1 });
    assert_eq!(read.trace.meta().started_unix_ns, Some(1_700_000_000_000_000_000));
    let named = |name: &str| -> Vec<_> {
        let wanted = read.rows.iter().filter(|row| row.0.call.call().name == name);
        wanted.map(|(event, file, to)| (*event, file.as_str(), to.as_str())).collect()
    };
    let writes: Vec<_> = named("write")
        .iter()
        .map(|(event, path, _)| {
            (event.start_ns, event.duration_ns, event.offset, event.length, *path)
        })
        .collect();
    let (ms, log) = (1_000_000, "/srv/log");
    assert_eq!(
        writes,
        [
            (20 * ms, Some(5 * ms), Some(0), Some(4096), log),
            (30 * ms, Some(10 * ms), Some(4096), Some(4096), log),
        ]
    );
    let (opened, path, _) = named("openat")[0];
    assert_eq!((opened.fd, opened.flags, path), (Some(3), Some(0o10_101), log));
    let (_, from, to) = named("rename")[0];
    assert_eq!((from, to), (log, "/srv/old"), "the directory is that of the earlier openat");
    let (closed, _, _) = named("close")[0];
    assert_eq!((closed.process, closed.thread), (100, 102), "a thread of its process");
}

#[test]
fn without_paths_descriptors_are_followed() {
    let text = "0.000100 chdir(\"/srv\") = 0\n0.000100 open(\"a\", O_RDWR) = 3\n\
                0.000100 dup(3) = 4\n0.000100 read(4, \"\", 10) = 0\n";
    let read = import(text).unwrap();
    let (event, path, _) = &read.rows[3];
    assert_eq!((event.start_ns, path.as_str(), event.offset), (300_000, "/srv/a", None));
    assert_eq!(event.duration_ns, None);
}

#[test]
fn midnight_is_no_step_back() {
    let text = "23:59:59.900000 close(3) = 0\n00:00:00.100000 close(4) = 0\n";
    let read = import(text).unwrap();
    assert_eq!(read.rows[1].0.start_ns, 200_000_000);
}

#[test]
fn lines_without_time_are_refused_with_the_fix() {
    let error = import("openat(AT_FDCWD, \"a\", O_RDONLY) = 3\n").err().unwrap().to_string();
    assert!(
        error.ends_with("in, line 1: no time; record with `strace -f -ttt -T -yy -o FILE`"),
        "{error}"
    );
}

#[test]
fn other_options_add_words_that_are_left_out() {
    let plain = "100 1700000000.000000 close(3) = 0 <0.000100>\n";
    let expected = import(plain).unwrap().rows;
    let forms = [
        // -i, -n, both, -ttt with -r, --decode-pids=comm with -o and without.
        "100 1700000000.000000 [00007f46b5b53c47] close(3) = 0 <0.000100>\n",
        "100 1700000000.000000 [   3] close(3) = 0 <0.000100>\n",
        "100 1700000000.000000 [   3] [????????????????] close(3) = 0 <0.000100>\n",
        "100 1700000000.000000 (+     0.000000) close(3) = 0 <0.000100>\n",
        "100<db> 1700000000.000000 close(3) = 0 <0.000100>\n",
        "[pid 100<db>] 1700000000.000000 close(3) = 0 <0.000100>\n",
    ];
    for form in forms {
        let read = import(form).unwrap();
        assert_eq!(read.rows, expected, "{form}");
        assert_eq!(read.imported.damaged, 0, "{form}");
    }
    // Stacks (-k), and the count of calls at the end (-C).
    let more = format!(
        "{plain} > /usr/lib/libc.so.6(close+0x1) [0x26d68]\n\
         % time     seconds  usecs/call     calls    errors syscall\n\
         ------ ----------- ----------- --------- --------- ----------------\n \
         53.31    0.000378          54         7         3 close\n"
    );
    let read = import(&more).unwrap();
    assert_eq!(read.imported, Imported { events: 1, other: 4, damaged: 0 });
    assert_eq!(read.rows, expected);
}

#[test]
fn a_count_of_calls_and_foreign_text_are_no_traces() {
    let count = "% time     seconds  usecs/call     calls    errors syscall\n";
    let said = import(count).err().unwrap().to_string();
    assert!(said.contains("-c") && said.contains("-ttt"), "{said}");
    let said = import("1700000000.0 no call\n").err().unwrap().to_string();
    assert!(said.contains("no call in it"), "{said}");
}

#[test]
fn of_the_requests_of_ioctl_a_clone_alone_is_a_call() {
    let text = "0.000100 ioctl(1</dev/pts/0>, TCGETS, 0x7ffd) = 0\n\
                0.000100 ioctl(4</b>, BTRFS_IOC_CLONE or FICLONE, 3</a>) = 0\n\
                0.000100 ioctl(6</d>, 0x40049409, 0x5</c>) = -1 EOPNOTSUPP (Operation not supported)\n";
    let read = import(text).unwrap();
    assert_eq!(read.imported, Imported { events: 2, other: 1, damaged: 0 });
    let clone = |(event, from, to): &(Event, String, String)| {
        (event.call.call().name, from.clone(), to.clone(), event.result)
    };
    let call = |from: &str, to: &str, result| {
        ("ioctl_ficlone", from.to_owned(), to.to_owned(), Some(result))
    };
    let found: Vec<_> = read.rows.iter().map(clone).collect();
    assert_eq!(found, [call("/a", "/b", 0), call("/c", "/d", -95)]);
}

#[test]
fn a_symbolic_link_leads_on_from_its_own_directory() {
    let text = "0.000100 symlinkat(\"../h1\", AT_FDCWD</w>, \"a/b/l\") = 0\n\
                0.000100 symlink(\"/x/y\", \"/w/m\") = 0\n";
    let read = import(text).unwrap();
    let short = |(event, link, target): &(Event, String, String)| {
        (link.clone(), target.clone(), event.length)
    };
    let found: Vec<_> = read.rows.iter().map(short).collect();
    let of = |link: &str, target: &str, bytes| (link.to_owned(), target.to_owned(), Some(bytes));
    assert_eq!(found, [of("/w/a/b/l", "/w/a/h1", 5), of("/w/m", "/x/y", 4)]);
}
