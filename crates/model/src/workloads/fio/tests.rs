use super::*;

fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn globals_apply_to_the_jobs_after_them_and_stonewall_begins_a_group() {
    let text = "\
; comment
[global]
bs=4k
size=1m
[first]
rw=randread
[second]
rw=write
[third]
stonewall
rw=randrw
bs=8k
";
    let jobs = parse(text).unwrap();
    let groups: Vec<usize> = jobs.iter().map(|job| job.group).collect();
    assert_eq!(groups, [0, 0, 1]);
    assert_eq!(jobs[2].option(&["bs", "blocksize"]), Some("8k"));
    assert_eq!(jobs[2].option(&["size"]), Some("1m"));
    let writes: Vec<bool> = jobs.iter().map(FioJob::writes).collect();
    assert_eq!(writes, [false, true, true]);
    let params = FioParams { jobs, cache: CacheState::Cold, timeout: None };
    let names: Vec<String> = params.steps().into_iter().map(|step| step.name).collect();
    assert_eq!(names, ["first", "third"]);
}

/// Every way known out of the target or into a shell, each with its exact message.
#[test]
fn options_that_run_programs_or_write_elsewhere_are_refused_in_words() {
    let elsewhere = "leave it out: it may run a program, write elsewhere or change the machine";
    for option in [
        "exec_prerun=touch /tmp/x", "exec_postrun=touch /tmp/x", "write_bw_log=/tmp/x",
        "write_lat_log=x", "write_iolog=/tmp/x", "read_iolog=/tmp/x", "replay_redirect=/dev/sda",
        "ioscheduler=none", "cgroup=x", "uid=0", "mem=mmaphuge:/tmp/x", "hugepage-size=2m",
        "verify_state_load=1", "profile=x", "trigger=touch /tmp/x", "program=/bin/sh",
        "buffer_pattern=/etc/passwd", "verify_pattern=/etc/passwd", "verify_async_cpus=0",
        "donorname=x", "hostname=example.org",
    ] {
        let key = option.split('=').next().unwrap();
        assert_eq!(
            refused(&format!("[a]\n{option}\n")),
            format!(
                "line 2 of the job file has the option '{key}', which is not allowed; {elsewhere}"
            )
        );
    }
    let target = "leave it out: files are made in the target";
    for option in ["directory=/tmp", "filename_format=/tmp/$jobname", "opendir=/tmp"] {
        let key = option.split('=').next().unwrap();
        assert_eq!(
            refused(&format!("[a]\n{option}\n")),
            format!(
                "line 2 of the job file has the option '{key}', which is not allowed; {target}"
            )
        );
    }
}

#[test]
fn files_elsewhere_and_engines_of_others_are_refused_in_words() {
    let plain =
        "give plain names without / that do not begin with a dot; fio creates them in the target";
    for name in ["/dev/sda", "../x", "a/b", "a:/dev/sda", "", "..", ".hidden", "a:.b", "a::b", ":"]
    {
        assert_eq!(
            refused(&format!("[a]\nfilename={name}\n")),
            format!("line 2 of the job file names the file '{name}'; {plain}")
        );
    }
    let built_in =
        "use one that is built into fio and works on files, for example psync or io_uring";
    for engine in ["external:/tmp/x.so", "exec", "net", "netsplice", "sg", "/tmp/x.so", "e4defrag"]
    {
        assert_eq!(
            refused(&format!("[a]\nioengine={engine}\n")),
            format!("line 2 of the job file names the engine '{engine}'; {built_in}")
        );
    }
}

#[test]
fn expressions_includes_and_odd_names_are_refused_in_words() {
    let value = "write the value itself: variables, quotes and expressions are not allowed";
    for (text, shown) in [
        ("size=${HOME}", "'$'"),
        ("size=`id`", "'`'"),
        ("bs=(1+1)", "'('"),
        ("bs=1\u{7}", "'\\u{7}'"),
    ] {
        let key = text.split('=').next().unwrap();
        assert_eq!(
            refused(&format!("[a]\n{text}\n")),
            format!(
                "line 2 of the job file has the character {shown} in the value of {key}; {value}"
            )
        );
    }
    for include in ["include /etc/passwd", "include=/etc/passwd"] {
        let key = include.split('=').next().unwrap();
        assert_eq!(
            refused(&format!("[a]\n{include}\n")),
            format!(
                "line 2 of the job file includes another file ('{key}'); put what that file says \
                 into this one"
            )
        );
    }
    assert_eq!(
        refused("[../x]\nrw=read\n"),
        "line 1 of the job file names a job '../x'; name it with letters, digits, - and _, at most 40"
    );
    assert_eq!(
        refused("rw=read\n[a]\n"),
        "line 1 of the job file comes before the first [section]; begin with [global] or with the \
         name of a job"
    );
    assert_eq!(refused("# nothing\n"), "a job file without a job; add [name] and below it rw=");
}

#[test]
fn several_files_and_a_byte_order_mark_are_taken() {
    let jobs = parse("\u{feff}[a]\nfilename=one:two\nrw=read\n").unwrap();
    assert_eq!(jobs[0].name, "a");
    assert_eq!(jobs[0].options[0], ("filename".to_owned(), Some("one:two".to_owned())));
}
