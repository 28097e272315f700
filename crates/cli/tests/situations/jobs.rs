//! Jobs of fio that name files, devices, programs or users of the host, in every form in which fio takes an option.

use super::{Place, difference, snapshot, try_family};
use std::fs;

/// Options that reach beyond the target; `CANARY` is a file of others, `FOLDER` its folder.
const OPTIONS: [&str; 44] = [
    "filename=CANARY",
    "filename=../../others/canary",
    "filename=a:CANARY",
    "filename=/dev/sda",
    "directory=FOLDER",
    "directory=..",
    "directory=/",
    "opendir=FOLDER",
    "filename_format=../../others/canary",
    "exec_prerun=touch CANARY.new",
    "exec_postrun=touch CANARY.new",
    "write_bw_log=CANARY",
    "write_lat_log=CANARY",
    "write_iops_log=CANARY",
    "write_hist_log=CANARY",
    "log_store_compressed=1",
    "write_iolog=CANARY",
    "read_iolog=CANARY",
    "replay_redirect=/dev/sda",
    "merge_blktrace_file=CANARY",
    "ioengine=external:CANARY",
    "ioengine=CANARY",
    "ioengine=e4defrag",
    "ioengine=net",
    "ioengine=exec",
    "ioengine=rdma",
    "buffer_pattern='CANARY'",
    "verify_pattern='CANARY'",
    "verify_state_save=1",
    "verify_state_load=1",
    "dedupe_global=1",
    "cgroup=seekwell",
    "cgroup_nodelete=1",
    "ioscheduler=none",
    "uid=65534",
    "gid=65534",
    "profile=CANARY",
    "include CANARY",
    "flow_id=1",
    "unlink_each_loop=/",
    "hugepage-size=2m",
    "iomem=mmaphuge:CANARY",
    "iomem=mmapshared:CANARY",
    "lockfile=CANARY",
];

/// Forms of a job with the option: in it, before all jobs, with blanks, and in another case.
const FORMS: [(&str, &str); 4] = [
    ("in the job", "[job]\nrw=write\nsize=64k\nOPTION\n"),
    ("for all jobs", "[global]\nOPTION\n[job]\nrw=write\nsize=64k\n"),
    ("with blanks", "[job]\n  SPACED  \nrw=write\nsize=64k\n"),
    ("in capitals", "[job]\nrw=write\nsize=64k\nCAPITAL\n"),
];

#[test]
fn jobs_reach_their_target_alone() {
    let all = OPTIONS.iter().flat_map(|option| FORMS.iter().map(move |form| (*option, *form)));
    let mut attempts = Vec::new();
    for (option, form) in all {
        for command in ["bench", "plan"] {
            attempts.push((option, form, command));
        }
    }
    try_family("jobs", attempts, |(option, (name, form), command)| {
        attempt(option, form, command).map_err(|why| format!("{command} {option} {name}: {why}"))
    });
}

fn attempt(option: &str, form: &str, command: &str) -> Result<(), String> {
    let place = Place::new();
    let canary = place.canary();
    let option = option
        .replace("CANARY", canary.to_str().unwrap())
        .replace("FOLDER", place.others().to_str().unwrap());
    let (key, value) = option.split_once('=').unwrap_or((&option, ""));
    let job = form
        .replace("SPACED", &format!("{key} = {value}"))
        .replace("CAPITAL", &format!("{}={value}", key.to_uppercase()))
        .replace("OPTION", &option);
    fs::write(place.home().join("x.fio"), &job).unwrap();
    fs::create_dir(place.home().join("target")).unwrap();
    let lab = format!(
        "[lab]\nname = \"lab\"\n[[device]]\nname = \"d\"\nloop = \"64MiB\"\n[[filesystem]]\n\
         type = \"ext4\"\n[[workload]]\nkind = \"fio\"\njob = '''\n{job}'''\n"
    );
    fs::write(place.home().join("lab.toml"), lab).unwrap();
    let before = snapshot(&place.others());
    let told = match command {
        "bench" => place.run(&["bench", "fio", "target", "--job-file", "x.fio"])?,
        _ => place.run(&["plan", "lab.toml"])?,
    };
    if let Some(what) = difference(&before, &snapshot(&place.others()), true) {
        return Err(what);
    }
    if told.code == 0 { Err(format!("it ends well: {:.300}", told.text)) } else { Ok(()) }
}
