use super::*;
use crate::{BenchTarget, bench};
use seekwell_model::bench::BenchResult;
use seekwell_model::field::{Value, Values};
use seekwell_model::workloads::{WorkloadParams, fio::FIO};

fn params(job: &str) -> WorkloadParams {
    let mut values = Values::default();
    values.set("job", Value::Text(job.to_owned()));
    values.set("cache", Value::Text("warm".to_owned()));
    FIO.params(&values).unwrap()
}

fn run(job: &str, folder: &Path) -> Result<BenchResult, WorkloadError> {
    bench(&params(job), BenchTarget { path: folder, writable: None, length: None }, 1, None)
}

fn installed(test: &str) -> bool {
    if seekwell_testing::tool("fio").is_none() {
        seekwell_testing::skip(test, "fio is not installed");
        return false;
    }
    true
}

#[test]
fn jobs_become_steps_with_fios_own_counts_and_histograms() {
    if !installed("jobs_become_steps_with_fios_own_counts_and_histograms") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let job = "\
[global]
ioengine=psync
bs=4k
size=64k
filename=shared
[fill]
rw=write
[look]
stonewall
rw=randread
[both]
rw=randrw
rwmixread=50
";
    let result = run(job, folder.path()).unwrap();
    let names: Vec<&str> = result.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["fill", "look"]);
    assert_eq!(result.steps[0].ops, 16);
    assert_eq!(result.steps[0].metrics["app_bytes"], 65_536.0);
    assert_eq!(result.steps[1].ops, 32);
    assert!(result.steps.iter().all(|step| step.latency_ns.is_some()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_job_of_less_than_a_millisecond_has_no_rate() {
    let json = r#"{
 "jobs" : [
  {"jobname": "a", "error": 0, "job_runtime": 0, "usr_cpu": 0.0, "sys_cpu": 0.0,
   "read": {"total_ios": 0, "io_bytes": 0, "iops": 0.0, "bw_bytes": 0, "clat_ns": {}},
   "write": {"total_ios": 16, "io_bytes": 65536, "iops": 0.0, "bw_bytes": 65536000,
             "clat_ns": {"bins": {"700": 16}}}}
 ]
}"#;
    let outline = params("[a]\nrw=write\n").steps().remove(0);
    let found = result::outcome(json, &outline).unwrap();
    assert_eq!((found.ops, found.elapsed_ns), (16, 0));
    let rates = ["iops", "read_iops", "write_iops", "mb_per_s"];
    assert!(rates.iter().all(|rate| !found.metrics.contains_key(*rate)), "{:?}", found.metrics);
}

#[test]
fn a_number_that_fio_leaves_out_is_not_zero() {
    let json = r#"{
 "jobs" : [{"jobname": "a", "error": 0, "job_runtime": 5, "usr_cpu": 0.0, "sys_cpu": 0.0,
            "read": {"io_bytes": 0, "iops": 0.0, "bw_bytes": 0, "clat_ns": {}}}]
}"#;
    let outline = params("[a]\nrw=write\n").steps().remove(0);
    assert_eq!(result::outcome(json, &outline).unwrap_err(), "wrote JSON without total_ios");
}

#[test]
fn histograms_of_jobs_at_the_same_time_are_kept_apart_and_together() {
    let json = r#"note
{
 "jobs" : [
  {"jobname": "a", "error": 0, "job_runtime": 100, "usr_cpu": 10.0, "sys_cpu": 40.0,
   "read": {"total_ios": 3, "io_bytes": 12288, "iops": 30.0, "bw_bytes": 122880,
            "clat_ns": {"bins": {"1000": 2, "5000": 1}}},
   "write": {"total_ios": 0, "io_bytes": 0, "iops": 0.0, "bw_bytes": 0, "clat_ns": {}}},
  {"jobname": "b", "error": 0, "job_runtime": 200, "usr_cpu": 0.0, "sys_cpu": 0.0,
   "read": {"total_ios": 1, "io_bytes": 4096, "iops": 5.0, "bw_bytes": 20480,
            "clat_ns": {"bins": {"9000": 1}}},
   "write": {"total_ios": 2, "io_bytes": 8192, "iops": 10.0, "bw_bytes": 40960,
             "clat_ns": {"bins": {"700": 2}}}}
 ]
}"#;
    let outline = params("[a]\nrw=read\n").steps().remove(0);
    let found = result::outcome(json, &outline).unwrap();
    assert_eq!((found.ops, found.app_bytes_read, found.app_bytes_written), (6, 16_384, 8_192));
    assert_eq!((found.elapsed_ns, found.cpu_ns), (200_000_000, 50_000_000));
    assert_eq!(found.metrics["iops"], 45.0);
    assert_eq!(found.metrics["mb_per_s"], 0.18432);
    let counts: Vec<(&str, u64)> =
        found.histograms.iter().map(|(kind, all)| (kind.as_str(), all.count())).collect();
    assert_eq!(counts, [("a.read", 3), ("b.read", 1), ("b.write", 2), ("read", 4), ("write", 2)]);
    let failed = json.replacen("\"error\": 0", "\"error\": 28", 1);
    assert_eq!(
        result::outcome(&failed, &outline).unwrap_err(),
        "job a failed: No space left on device (os error 28)"
    );
}

#[test]
fn a_full_filesystem_is_told_in_fios_words() {
    let test = "a_full_filesystem_is_told_in_fios_words";
    if !installed(test) {
        return;
    }
    let Some(small) = crate::fixture::small_tmpfs(test) else { return };
    let job = "[big]\nioengine=psync\nrw=write\nbs=64k\nsize=4m\nfallocate=none\n";
    let error = run(job, small.path()).unwrap_err().to_string();
    assert!(error.starts_with("command of step big (fio) ended with status 1"), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
}

/// Whatever passes the check writes into the target alone, whatever it names its files.
#[test]
fn nothing_is_written_outside_of_the_target() {
    if !installed("nothing_is_written_outside_of_the_target") {
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    let target = outer.path().join("target");
    std::fs::create_dir(&target).unwrap();
    let job = "\
[global]
ioengine=psync
bs=4k
size=16k
verify=crc32c
nrfiles=3
[a]
rw=write
filename=..x
";
    assert!(seekwell_model::workloads::fio::parse(job).is_err());
    let error = run("[a]\nrw=write\nsize=0\n", &target).unwrap_err().to_string();
    assert!(error.starts_with("command of step a (fio) ended with status 1"), "{error}");
    run(&job.replace("filename=..x", "numjobs=2"), &target).unwrap();
    let around: Vec<_> =
        std::fs::read_dir(outer.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(around, ["target"]);
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
}

/// A loop device over a file of 4 MiB; detached when dropped.
struct Loop {
    path: PathBuf,
}

impl Loop {
    fn attach(folder: &Path) -> Self {
        let image = folder.join("image");
        std::fs::write(&image, vec![7; 4 << 20]).unwrap();
        let losetup = seekwell_testing::tool("losetup").unwrap();
        let told = Command::new(losetup).args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(told.status.success(), "{told:?}");
        Self { path: PathBuf::from(String::from_utf8(told.stdout).unwrap().trim()) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let losetup = seekwell_testing::tool("losetup").unwrap();
        assert!(Command::new(losetup).arg("--detach").arg(&self.path).status().unwrap().success());
    }
}

#[test]
fn a_raw_device_is_read_and_written_through_the_checked_descriptor_alone() {
    let test = "a_raw_device_is_read_and_written_through_the_checked_descriptor_alone";
    if !installed(test) {
        return;
    }
    if !seekwell_testing::root() || !Path::new("/dev/loop-control").exists() {
        return seekwell_testing::skip(test, "needs root and loop devices");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Loop::attach(folder.path());
    let run = |job: &str, writable: Option<&File>| {
        bench(&params(job), BenchTarget { path: &device.path, writable, length: None }, 1, None)
    };
    let job = |rw: &str| format!("[a]\nioengine=psync\nrw={rw}\nbs=4k\nsize=1m\n");
    let read = run(&job("randread"), None).unwrap();
    assert_eq!((read.steps[0].ops, read.steps[0].metrics["app_bytes"]), (256, 1_048_576.0));
    assert!(read.steps[0].latency_ns.is_some());
    let refused = run(&job("write"), None).unwrap_err().to_string();
    assert!(refused.contains("was not opened for writing"), "{refused}");
    let image = || std::fs::read(folder.path().join("image")).unwrap();
    assert!(image().iter().all(|byte| *byte == 7));
    let file = File::options().read(true).write(true).open(&device.path).unwrap();
    let written = run(&job("write"), Some(&file)).unwrap();
    assert_eq!(written.steps[0].ops, 256);
    file.sync_all().unwrap();
    let changed = image();
    assert!(changed[..1 << 20].chunks(4096).all(|page| page != [7; 4096]));
    assert!(changed[1 << 20..].iter().all(|byte| *byte == 7));
}

#[test]
fn notes_of_fio_are_doubts_each_once() {
    let said = "fio: only root may flush block devices. Cache flush bypassed!\n\
                fio: only root may flush block devices. Cache flush bypassed!\n\
                Jobs: 1 (f=1)\n\
                note: both iodepth >= 1 and synchronous I/O engine are selected\n";
    let notes = result::notes(said);
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "fio says: only root may flush block devices. Cache flush bypassed!",
            "fio says: both iodepth >= 1 and synchronous I/O engine are selected",
        ]
    );
    assert!(notes.iter().all(|note| note.code == "program-note"));
    assert!(result::notes("Jobs: 1 (f=1)\n{\n").is_empty());
    let many: String = (0..9).map(|number| format!("note: {number}\n")).collect();
    assert_eq!(result::notes(&many).len(), 4);
}

/// What a job reads from the device's page cache, it does not read from the device.
#[test]
fn the_devices_cache_is_dropped_before_jobs_that_ask_for_it() {
    let test = "the_devices_cache_is_dropped_before_jobs_that_ask_for_it";
    if !installed(test) {
        return;
    }
    if !seekwell_testing::root() || !Path::new("/dev/loop-control").exists() {
        return seekwell_testing::skip(test, "needs root and loop devices");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Loop::attach(folder.path());
    let name = device.path.file_name().unwrap().to_str().unwrap().to_owned();
    let sectors_read = || {
        let stat = std::fs::read_to_string(format!("/sys/class/block/{name}/stat")).unwrap();
        stat.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap()
    };
    let run = |options: &str| {
        // Another process that has the device open keeps its page cache.
        let open = File::open(&device.path).unwrap();
        std::io::copy(&mut &open, &mut std::io::sink()).unwrap();
        let before = sectors_read();
        let job = format!("[a]\nioengine=psync\nrw=read\nbs=4k\nsize=1m\n{options}");
        let params = params(&job);
        let target = BenchTarget { path: &device.path, writable: None, length: None };
        let found = bench(&params, target, 1, None).unwrap();
        (sectors_read() - before, found.warnings)
    };
    let (dropped, warnings) = run("");
    assert!(dropped >= 2048, "{dropped} sectors were read from the device");
    assert_eq!(warnings, []);
    let (kept, warnings) = run("invalidate=0\n");
    // The kernel may take a page of the cache back meanwhile, on a full machine.
    assert!(kept < 256, "{kept} sectors of 2048 were read from the device");
    assert_eq!(warnings, []);
    let (_, warnings) = run("loops=2\n");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].code, "partly-cached");
    assert!(warnings[0].text.contains("the first loop of job a alone"), "{warnings:?}");
}
