use super::{
    Volume, judge_volume, judge_volume_writes, probe_volume, probe_volume_writes, volume_file,
    volume_summary,
};
use crate::tests::nearness::nearness;
use crate::tests::noisy::Noisy;
use crate::{Accuracy, ClassAccuracy, Interval, Label, News, Simulated, Stage, Tape, Target as _};
use seekwell_device::file::{DeviceFile, Parameters};
use seekwell_device::fixed::FixedParameters;
use seekwell_device::shrunk::showable;
use seekwell_device::{build, catalogue, load};

fn label() -> Label<'static> {
    Label { name: "mine", title: "Mine", source: "probe" }
}

fn fixed(file: &DeviceFile) -> &FixedParameters {
    match file.parameters() {
        Parameters::Fixed(parameters) => parameters,
        _ => panic!("{} is no fixed device", file.name()),
    }
}

fn probed(file: &DeviceFile, writes: bool) -> (Volume, Accuracy, Vec<News>) {
    let mut target = Simulated::new(build(file, 7));
    let mut tape = Tape::new(21);
    let mut told = Vec::new();
    let mut volume =
        probe_volume(&mut target, &mut tape, 11, &mut |news| told.push(news)).unwrap().unwrap();
    let accuracy = match writes {
        false => judge_volume(&mut target, &tape, &volume, 5).unwrap(),
        true => {
            let tell = &mut |news| told.push(news);
            probe_volume_writes(&mut target, &mut tape, &mut volume, 11, tell).unwrap();
            judge_volume_writes(&mut target, &tape, &volume, 5).unwrap()
        }
    };
    (volume, accuracy, told)
}

/// A volume of a second kind: many requests and few bytes, so that only short requests show the limit of requests.
fn changed(limit: &str) -> DeviceFile {
    let mut text = include_str!("../../../../devices/cloud-gp3-100gb.toml").to_owned();
    for line in limit.lines() {
        let key = line.split(' ').next().unwrap();
        let Some((from, _)) = text.match_indices(&format!("\n{key} = ")).last() else {
            text = text.replacen("[fixed.limit]", &format!("[fixed.limit]\n{line}"), 1);
            let source = format!("[sources]\n\"fixed.limit.{key}\" = \"test\"");
            text = text.replacen("[sources]", &source, 1);
            continue;
        };
        let to = from + 1 + text[from + 1..].find('\n').unwrap();
        text.replace_range(from + 1..to, line);
    }
    load(&text.replace("us\" = [400, 9000]", "us\" = [100, 9000]")).unwrap()
}

fn is_believed(accuracy: &Accuracy) -> bool {
    accuracy.classes.iter().all(ClassAccuracy::is_believed)
}

fn holds(found: Interval, truth: f64) -> bool {
    (found.value / truth - 1.0).abs() < 0.01
}

#[test]
fn volumes_are_told_from_every_medium_by_reads_alone() {
    for (name, file) in &catalogue().unwrap() {
        let mut target = Simulated::new(build(file, 7));
        let found = probe_volume(&mut target, &mut Tape::new(21), 11, &mut |_| ()).unwrap();
        assert_eq!(found.is_some(), name.starts_with("cloud-"), "{name}: {found:?}");
        // It comes before every probe of a medium.
        assert!(found.is_some() || target.now_ns() < 20_000_000_000, "{name}: {}", target.now_ns());
    }
}

#[test]
fn full_solid_state_disks_are_no_volumes() {
    for (name, file) in catalogue().unwrap().iter().filter(|(name, _)| name.starts_with("ssd-")) {
        let mut target = Simulated::new(build(&showable(file), 7));
        let found = probe_volume(&mut target, &mut Tape::new(21), 11, &mut |_| ()).unwrap();
        assert_eq!(found, None, "{name}");
    }
}

#[test]
fn the_limits_of_a_volume_are_found() {
    let file = catalogue().unwrap().remove("cloud-gp3-100gb").unwrap();
    for writes in [false, true] {
        let (volume, accuracy, told) = probed(&file, writes);
        let text = volume_file(label(), &volume, Some(&accuracy));
        let own = load(&text).unwrap();
        let (found, limit) = (fixed(&own), fixed(&own).limit.as_ref().unwrap());
        assert!((limit.per_second / 3000.0 - 1.0).abs() < 0.01, "{text}");
        assert!((limit.mb_per_s.unwrap() / 131.072 - 1.0).abs() < 0.01, "{text}");
        assert!((found.read_latency_us / 700.0 - 1.0).abs() < 0.01, "{text}");
        assert!((found.write_latency_us / 700.0 - 1.0).abs() < 0.01, "{text}");
        assert!((found.mb_per_s / 593.75 - 1.0).abs() < 0.01, "{text}");
        assert!(found.flush_latency_us < 1.0, "{text}");
        assert_eq!(text.contains("assumed: as reads"), !writes, "{text}");
        let far = nearness(&file, &own).into_iter().find(|one| one.off.unwrap().abs() > 1.0);
        assert_eq!(far, None);
        assert!(is_believed(&accuracy), "{:?}", accuracy.classes);
        assert!(accuracy.withheld * 100 / accuracy.measured >= 30);
        assert!(accuracy.classes.iter().any(|class| class.name.starts_with("mixed")));
        let stage = if writes { Stage::LimitsOfWrites } else { Stage::Limits };
        assert!(told.contains(&News::Begins(stage)));
        let summary = volume_summary(&volume, &accuracy);
        for news in &told {
            let News::Found(name, value) = news else { continue };
            let line = format!("{name:<22}{value}\n");
            assert!(summary.contains(&line), "{line}{summary}");
        }
        if !writes {
            assert!(summary.contains("limit, reads          3000 /s ("), "{summary}");
        }
    }
}

#[test]
fn a_volume_of_few_bytes_and_one_of_requests_alone_are_found() {
    let (volume, accuracy, _) = probed(&changed("per_second = 6000\nmb_per_s = 125"), true);
    assert!(holds(volume.reads.per_second, 6000.0), "{volume:?}");
    assert!(holds(volume.reads.limit_mb_per_s().unwrap(), 125.0), "{volume:?}");
    assert!(is_believed(&accuracy), "{:?}", accuracy.classes);

    let (volume, _, _) = probed(&changed("per_second = 300\nmb_per_s = 1000"), false);
    assert!(holds(volume.reads.per_second, 300.0), "{volume:?}");
    assert_eq!(volume.reads.limit_mb_per_s(), None, "{volume:?}");
    // A file with a limit that was not seen would be wrong.
    assert!(
        !volume_file(label(), &volume, None)
            .split("[fixed.limit]")
            .nth(1)
            .unwrap()
            .starts_with("mb_per_s")
    );
}

#[test]
fn noise_of_a_host_hides_no_volume_and_makes_none() {
    for (name, file) in &catalogue().unwrap() {
        let mut target = Noisy::new(Simulated::new(build(file, 7)));
        let mut tape = Tape::new(21);
        let volume = probe_volume(&mut target, &mut tape, 11, &mut |_| ()).unwrap();
        assert_eq!(volume.is_some(), name.starts_with("cloud-"), "{name}: {volume:?}");
        let Some(volume) = volume else { continue };
        assert!(holds(volume.reads.per_second, 3000.0), "{volume:?}");
        let accuracy = judge_volume(&mut target, &tape, &volume, 5).unwrap();
        assert!(is_believed(&accuracy), "{:?}", accuracy.classes);
    }
}

#[test]
fn what_was_saved_up_for_seconds_is_not_taken_for_the_limit() {
    // A second of requests and of bytes may pass at once, at five times the rate.
    let saved = "per_second = 3000\nburst_per_second = 15000\ncredits = 3000\ncredit_mib = 125";
    let (volume, _, _) = probed(&changed(saved), true);
    for paced in [volume.reads, volume.writes.unwrap().paced] {
        assert!(holds(paced.per_second, 3000.0), "{volume:?}");
        assert!(holds(paced.limit_mb_per_s().unwrap(), 131.072), "{volume:?}");
    }
}

/// A bridge of USB or a slow host limits a fast disk as evenly.
#[test]
fn a_limit_of_requests_on_a_short_way_is_no_volume() {
    let near = changed("read_latency_us = 150");
    let mut target = Simulated::new(build(&near, 7));
    let found = probe_volume(&mut target, &mut Tape::new(21), 11, &mut |_| ()).unwrap();
    assert_eq!(found, None);
}
