use super::*;
use std::path::Path;

const MS: u64 = 1_000_000;

/// A kernel whose files a test rewrites between two readings.
struct Scripted {
    root: tempfile::TempDir,
}

impl Scripted {
    fn new(journal: bool) -> Self {
        let scripted = Self { root: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(scripted.path("proc/pressure")).unwrap();
        scripted.device("loop0", 0, 0);
        if journal {
            scripted.device("loop1", 0, 0);
        }
        scripted.memory(0, 0);
        for resource in ["io", "cpu", "memory"] {
            scripted.pressure(resource, 1_000);
        }
        scripted
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Rewrites in place, as the kernel's files do: the descriptor stays good.
    fn device(&self, name: &str, reads: u64, busy_ms: u64) {
        let folder = self.path("sys/class/block").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let sectors = reads * 8;
        let text =
            format!("{reads} 0 {sectors} {reads} 0 0 0 0 0 {busy_ms} {busy_ms} 0 0 0 0 0 0\n");
        std::fs::write(folder.join("stat"), text).unwrap();
    }

    fn memory(&self, dirty_kib: u64, writeback_kib: u64) {
        let text = format!("Dirty: {dirty_kib} kB\nWriteback: {writeback_kib} kB\n");
        std::fs::write(self.path("proc/meminfo"), text).unwrap();
    }

    fn pressure(&self, resource: &str, total: u64) {
        let text = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n");
        std::fs::write(self.path("proc/pressure").join(resource), text).unwrap();
    }

    fn options(&self, journal: bool) -> TimelineOptions {
        TimelineOptions {
            root: self.root.path().to_owned(),
            device: "loop0".to_owned(),
            journal: journal.then(|| "loop1".to_owned()),
            interval: Duration::from_millis(100),
            origin_ns: 1_000 * MS,
        }
    }

    fn sampler(&self, journal: bool) -> Sampler {
        Sampler::open(&self.options(journal)).unwrap()
    }
}

#[test]
fn samples_two_devices_memory_and_pressure() {
    let kernel = Scripted::new(true);
    let mut sampler = kernel.sampler(true);
    sampler.read(1_000 * MS);
    kernel.device("loop0", 50, 80);
    kernel.device("loop1", 10, 5);
    kernel.memory(2048, 12);
    kernel.pressure("io", 1_000 + 30_000);
    kernel.pressure("memory", 1_000 + 5_000);
    sampler.read(1_100 * MS);
    let timelines = sampler.finish();

    let data = Sample {
        at_ns: 100 * MS,
        reads_per_s: 500.0,
        read_kib_per_s: 2000.0,
        read_await_ms: Some(1.0),
        read_request_kib: Some(4.0),
        queue_size: 0.8,
        utilisation_percent: 80.0,
        flushes_per_s: Some(0.0),
        dirty_bytes: Some(2048 * 1024),
        writeback_bytes: Some(12 * 1024),
        io_pressure_percent: Some(30.0),
        cpu_pressure_percent: Some(0.0),
        memory_pressure_percent: Some(5.0),
        ..Sample::default()
    };
    let journal = Sample {
        reads_per_s: 100.0,
        read_kib_per_s: 400.0,
        queue_size: 0.05,
        utilisation_percent: 5.0,
        ..data
    };
    assert_eq!(timelines.device, vec![data]);
    assert_eq!(timelines.journal, vec![journal]);
    assert_eq!(timelines.warnings, vec![]);
}

#[test]
fn a_late_sample_uses_the_true_interval() {
    let kernel = Scripted::new(false);
    let mut sampler = kernel.sampler(false);
    sampler.read(1_000 * MS);
    kernel.device("loop0", 50, 80);
    sampler.read(1_400 * MS);
    let timelines = sampler.finish();
    assert_eq!(timelines.device[0].at_ns, 400 * MS);
    assert_eq!(timelines.device[0].reads_per_s, 125.0);
    assert_eq!(timelines.device[0].utilisation_percent, 20.0);
}

#[test]
fn files_that_are_missing_leave_their_columns_absent() {
    let kernel = Scripted::new(false);
    std::fs::remove_dir_all(kernel.path("proc")).unwrap();
    let mut sampler = kernel.sampler(false);
    sampler.read(1_000 * MS);
    sampler.read(1_100 * MS);
    let sample = sampler.finish().device[0];
    assert_eq!(
        (sample.dirty_bytes, sample.writeback_bytes, sample.io_pressure_percent),
        (None, None, None)
    );
    assert_eq!((sample.cpu_pressure_percent, sample.memory_pressure_percent), (None, None));
}

#[test]
fn a_device_without_counters_is_an_error_at_once() {
    let kernel = Scripted::new(false);
    let options = TimelineOptions { device: "sdz".to_owned(), ..kernel.options(false) };
    let error = Timeline::start(&options).unwrap_err().to_string();
    assert!(error.starts_with("the kernel has no counters for block device 'sdz'"), "{error}");
}

#[test]
fn a_sliver_at_the_end_joins_the_interval_before() {
    let kernel = Scripted::new(false);
    let mut sampler = kernel.sampler(false);
    for (count, at_ms) in [(0, 1_000), (10, 1_100), (20, 1_200)] {
        kernel.device("loop0", count, 0);
        sampler.read(at_ms * MS);
    }
    kernel.device("loop0", 30, 0);
    sampler.read_last(1_210 * MS, 100 * MS);
    let seen: Vec<_> =
        sampler.finish().device.iter().map(|s| (s.at_ns / MS, s.reads_per_s.round())).collect();
    assert_eq!(seen, vec![(100, 100.0), (210, (20.0_f64 / 0.11).round())]);
}

#[test]
fn a_good_part_of_an_interval_at_the_end_is_a_sample_of_its_own() {
    let kernel = Scripted::new(false);
    let mut sampler = kernel.sampler(false);
    sampler.read(1_000 * MS);
    kernel.device("loop0", 10, 0);
    sampler.read(1_100 * MS);
    kernel.device("loop0", 15, 0);
    sampler.read_last(1_150 * MS, 100 * MS);
    let rates: Vec<_> = sampler.finish().device.iter().map(|sample| sample.reads_per_s).collect();
    assert_eq!(rates, vec![100.0, 100.0]);
}

#[test]
fn a_timeline_shorter_than_an_interval_has_one_sample() {
    let kernel = Scripted::new(false);
    let mut sampler = kernel.sampler(false);
    sampler.read(1_000 * MS);
    kernel.device("loop0", 5, 0);
    sampler.read_last(1_002 * MS, 100 * MS);
    let samples = sampler.finish().device;
    assert_eq!(samples.len(), 1);
    assert_eq!((samples[0].at_ns, samples[0].reads_per_s), (2 * MS, 2500.0));
}

#[test]
fn a_device_that_was_replaced_ends_its_timeline_with_a_warning() {
    let kernel = Scripted::new(true);
    let mut sampler = kernel.sampler(true);
    kernel.device("loop1", 900, 0);
    sampler.read(1_000 * MS);
    kernel.device("loop1", 3, 0);
    sampler.read(1_100 * MS);
    sampler.read(1_200 * MS);
    let timelines = sampler.finish();
    assert_eq!(timelines.device.len(), 2);
    assert_eq!(timelines.journal.len(), 0);
    assert_eq!(timelines.warnings.len(), 1);
    assert_eq!(timelines.warnings[0].code, "timeline-ended");
    assert!(timelines.warnings[0].text.starts_with("the timeline of loop1 ends early"));
}

#[test]
fn sampling_does_not_grow_its_buffers() {
    let kernel = Scripted::new(false);
    let mut sampler = kernel.sampler(false);
    let (buffer, samples) = (sampler.buffer.as_ptr(), sampler.tracks[0].samples.as_ptr());
    for step in 0..RESERVED_SAMPLES as u64 {
        sampler.read((1_000 + 100 * step) * MS);
    }
    assert_eq!(sampler.buffer.as_ptr(), buffer);
    assert_eq!(sampler.tracks[0].samples.as_ptr(), samples);
}

#[test]
fn the_thread_covers_everything_between_start_and_stop() {
    let kernel = Scripted::new(false);
    let origin_ns = monotonic_ns();
    let hour = Duration::from_secs(3600);
    let options = TimelineOptions { interval: hour, origin_ns, ..kernel.options(false) };
    let timeline = Timeline::start(&options).unwrap();
    let started_ns = monotonic_ns() - origin_ns;
    std::thread::sleep(Duration::from_millis(2));
    kernel.device("loop0", 40, 0);
    let timelines = timeline.stop();
    assert_eq!(timelines.device.len(), 1);
    assert_eq!((timelines.late, &timelines.warnings), (0, &vec![]));
    let sample = timelines.device[0];
    // The interval began between the origin and the end of `start`.
    let most = sample.reads_per_s * sample.at_ns as f64 / 1e9;
    let least = sample.reads_per_s * (sample.at_ns - started_ns) as f64 / 1e9;
    assert!(least <= 40.000_001 && most >= 39.999_999, "{least} {most}");
}

#[test]
fn the_thread_samples_at_the_interval() {
    let kernel = Scripted::new(false);
    let interval = Duration::from_millis(5);
    let options = TimelineOptions { interval, origin_ns: monotonic_ns(), ..kernel.options(false) };
    let timeline = Timeline::start(&options).unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let timelines = timeline.stop();
    let times: Vec<u64> = timelines.device.iter().map(|sample| sample.at_ns).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    // Whatever the machine's load: on-time samples and late ones make up the time.
    assert!(times.len() as u64 + timelines.late >= 11, "{times:?} {}", timelines.late);
}

#[test]
fn a_dropped_timeline_does_not_wait_for_its_interval() {
    let kernel = Scripted::new(false);
    let options = TimelineOptions { interval: Duration::MAX, ..kernel.options(false) };
    // Hangs when the drop waits.
    drop(Timeline::start(&options).unwrap());
}

#[test]
fn a_real_device_can_be_sampled() {
    let name = std::fs::read_dir("/sys/class/block")
        .ok()
        .and_then(|mut entries| entries.next()?.ok()?.file_name().into_string().ok());
    let Some(device) = name else {
        return seekwell_testing::skip("a_real_device_can_be_sampled", "no block device in sysfs");
    };
    let options = TimelineOptions {
        root: Path::new("/").to_owned(),
        device,
        journal: None,
        interval: Duration::from_millis(2),
        origin_ns: monotonic_ns(),
    };
    let timeline = Timeline::start(&options).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let timelines = timeline.stop();
    assert!(!timelines.device.is_empty());
    assert!(timelines.device.iter().all(|sample| sample.dirty_bytes.is_some()));
}
