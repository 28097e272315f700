//! The end of the time of a probe that only reads, on a scripted clock.

use super::*;
use crate::{LONGEST_NS, judge, summary};

/// A disk whose host pauses after each read, for as long as a slow device would take.
struct Slow {
    device: Simulated,
    pause_ns: u64,
}

impl Target for Slow {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    fn wait_until(&mut self, at_ns: u64) {
        self.device.wait_until(at_ns);
    }

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        let times = self.device.read_all(requests, depth)?;
        let pauses = requests.len() as u64 / u64::from(depth);
        self.device.wait_until(self.device.now_ns() + self.pause_ns * pauses);
        Ok(times)
    }
}

/// Findings, the summary and the file, with the minutes that it took.
fn probed(name: &str, pause_ms: u64) -> (Result<(Findings, String, String), ProbeError>, f64) {
    let mut target = Slow { device: disk(name).1, pause_ns: pause_ms * 1_000_000 };
    let mut tape = Tape::new(21);
    let found = probe(&mut target, &mut tape, 11, &mut |_| {}).and_then(|findings| {
        let accuracy = judge(&mut target, &tape, &findings, 99)?;
        let label = Label { name: "mine", title: "Mine", source: "probe" };
        let file = device_file(label, &findings, Some(&accuracy));
        let said = summary(&findings, &accuracy);
        Ok((findings, said, file))
    });
    (found, target.now_ns() as f64 / 60e9)
}

/// The slowest disk that is shipped, at every speed: the probe ends, and says what it did not reach.
#[test]
fn a_probe_of_a_slow_device_ends_within_ten_minutes_and_says_what_is_missing() {
    let most = LONGEST_NS as f64 / 60e9;
    assert_eq!(most, 10.0);
    let mut seen = Vec::new();
    for pause_ms in [0, 20, 22, 300] {
        let (found, minutes) = probed("hdd-8tb-5900-smr", pause_ms);
        assert!(minutes <= most, "{pause_ms} ms: {minutes} minutes");
        match found {
            Ok((findings, said, file)) => {
                println!("{pause_ms} ms: {minutes:.2} minutes, without {:?}", findings.unreached);
                let loaded = load(&file).unwrap();
                let is_open = findings.unreached.contains(&Stage::Depth);
                assert_eq!(file.contains("# not measured: reads that are sorted"), is_open);
                assert_eq!(said.contains("not measured"), is_open, "{said}");
                assert_eq!(
                    is_open,
                    loaded.ranges().get("rotating.reorder_window") == Some(&[1.0, 31.0]),
                    "{file}"
                );
                let is_cut = findings.unreached.contains(&Stage::Seeks);
                assert_eq!(file.contains("# seek curve: wide intervals"), is_cut);
                seen.push(Some(findings.unreached));
            }
            Err(error) => {
                println!("{pause_ms} ms: {minutes:.2} minutes, {error}");
                let ProbeError::Late(stage) = error else { panic!("{error}") };
                assert!(error.to_string().contains(stage.name()), "{error}");
                seen.push(None);
            }
        }
    }
    assert_eq!(seen.first(), Some(&Some(Vec::new())));
    assert!(seen.contains(&Some(vec![Stage::Depth])), "{seen:?}");
    assert!(seen.contains(&Some(vec![Stage::Seeks, Stage::Depth])), "{seen:?}");
    assert_eq!(seen.last(), Some(&None));
}
