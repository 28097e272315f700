use super::{ImportError, device_name, import};
use crate::file::Parameters;
use crate::load;

const SPECS: &str = include_str!("../../../../testdata/diskspecs/made-up.diskspecs");

const MODEL: &str = include_str!("../../../../testdata/diskspecs/small.model");

const SEEK: &str = include_str!("../../../../testdata/diskspecs/small.seek");

fn imported(specs: &str, model: &str, seek: &str) -> Result<String, ImportError> {
    import("MADE_UP.diskspecs", specs, &mut |name| match name {
        "small.model" => Ok(model.to_owned()),
        "small.seek" => Ok(seek.to_owned()),
        other => Err(format!("no file {other}")),
    })
}

#[test]
fn a_specification_becomes_a_device_with_its_layout_overheads_and_buffer() {
    let text = imported(SPECS, MODEL, SEEK).unwrap();
    let file = load(&text).unwrap();
    assert_eq!((file.name(), file.title()), ("made-up", "MADE_UP, 7200 rpm"));
    let Parameters::Rotating(found) = file.parameters() else { panic!("no disk") };
    let zones = found.layout.zone.clone().unwrap();
    assert_eq!((zones[0].first_cylinder, zones[0].cylinders), (Some(0), 10));
    assert_eq!((zones[1].first_cylinder, zones[1].cylinders), (Some(12), 11), "a gap of two");
    assert_eq!((zones[0].unused_front_sectors, zones[0].slips.clone()), (20, vec![130, 90]));
    assert_eq!((zones[1].spare_sectors, zones[1].track_skew_sectors), (6, Some(6)));
    let overhead = &found.overhead;
    assert_eq!((overhead.read_hit_us, overhead.read_hit_after_write_us), (100.0, Some(200.0)));
    assert_eq!((overhead.read_miss_us, overhead.read_miss_after_write_us), (300.0, Some(400.0)));
    assert_eq!((overhead.write_us, overhead.write_after_write_us), (500.0, Some(600.0)));
    assert_eq!(overhead.write_through_us, Some(700.0));
    assert_eq!(overhead.write_through_after_write_us, Some(800.0));
    let buffer = &found.buffer;
    assert_eq!((buffer.read_segments, buffer.write_segments), (3, Some(1)));
    assert!(buffer.shares_segments && buffer.reads_before && buffer.read_ahead_by_track);
    assert!(buffer.write_back && !buffer.write_back_when_idle);
    assert!(buffer.write_clears_segments);
    assert!(!found.layout.loses_turns);
}

#[test]
fn a_drive_that_discards_what_it_delivered_serves_it_once() {
    for (value, keeps) in [("0", true), ("1", false)] {
        let (start, rest) = SPECS.split_once("Enable caching in buffer").unwrap();
        let line = format!("Read-ahead over requested = {value},");
        let specs = format!("{start}{line}\n   Enable caching in buffer{rest}");
        let file = load(&imported(&specs, MODEL, SEEK).unwrap()).unwrap();
        let Parameters::Rotating(found) = file.parameters() else { panic!("no disk") };
        assert_eq!(found.buffer.keeps_delivered, keeps, "{value}");
    }
}

/// Tabs, line ends of other systems, one line for all, and comments that look like the format.
#[test]
fn odd_spacing_and_comments_change_nothing() {
    let plain = imported(SPECS, MODEL, SEEK).unwrap();
    let comment = "# a, comment = { with } [braces],";
    let commented = |text: &str| -> String {
        let lines = text.lines().map(|line| format!("\t{line} {comment}\r\n"));
        format!("{comment}\n\n{}", lines.collect::<String>())
    };
    assert_eq!(imported(&commented(SPECS), &commented(MODEL), SEEK).unwrap(), plain);
    // A comma on a line of its own, behind a comment.
    let apart = |text: &str| text.replace(",\n", " # in ms, measured\n  ,\n");
    assert_eq!(imported(&apart(SPECS), &apart(MODEL), SEEK).unwrap(), plain);
    let one_line = |text: &str| {
        text.lines().filter_map(|line| line.split('#').next()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(imported(&one_line(SPECS), &one_line(MODEL), SEEK).unwrap(), plain);
}

#[test]
fn skews_that_lose_turns_are_taken_over_as_they_are() {
    let model =
        MODEL.replace("Skew for track switch = 8.000000", "Skew for track switch = 1.000000");
    let text = imported(SPECS, &model, SEEK).unwrap();
    assert!(text.contains("loses_turns = true"), "{text}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let message = |specs: &str, model: &str, seek: &str| {
        imported(specs, model, seek).unwrap_err().to_string()
    };
    let cut = message(SPECS, &MODEL[..MODEL.len() - 20], SEEK);
    assert!(cut.starts_with("small.model line ") && cut.contains("the file ends"), "{cut}");
    assert_eq!(
        message("", MODEL, SEEK),
        "MADE_UP.diskspecs line 1: the file ends where a block, written TYPE NAME { … } is expected"
    );
    assert_eq!(
        message(&SPECS.replace("small.model", "other.model"), MODEL, SEEK),
        "cannot read other.model, which the specification names: no file other.model; put it into the folder of the specification"
    );
    assert_eq!(
        message(&SPECS.replace("Read hit over. after read", "Read hit"), MODEL, SEEK),
        "the specification: 'Read hit over. after read' is missing"
    );
    let line = SPECS.lines().find(|line| line.contains("Read hit over. after read")).unwrap();
    let with_unit = format!("{} ms,", line.trim_end().trim_end_matches(','));
    let said = message(&SPECS.replace(line, &with_unit), MODEL, SEEK);
    assert!(said.contains(" ms' is not a number; write it without a unit"), "{said}");
    assert_eq!(
        message(SPECS, &MODEL.replace("Block count = 1400", "Block count = -3"), SEEK),
        "small.model: 'Block count' is -3; it must be between 0 and 1000000000000000"
    );
    let nameless = MODEL.replace("Last cylinder number = 9,", "Last cylinder number,");
    let nameless = message(SPECS, &nameless, SEEK);
    assert!(nameless.starts_with("small.model line 14: 'Last cylinder number,"), "{nameless}");
    let large = "#".repeat((4 << 20) + 1);
    assert!(message(&large, MODEL, SEEK).contains("has 4194305 bytes"));
    let deep = format!("a b {}", "{ x = y ".repeat(50));
    assert!(message(&deep, MODEL, SEEK).contains("more than 16 deep"));
}

#[test]
fn names_are_made_of_small_letters_digits_and_dashes() {
    assert_eq!(device_name("/a/b/atlas_III.diskspecs"), "atlas-iii");
    assert_eq!(device_name("__.diskspecs"), "imported");
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[a-z0-9 ={}\\[\\],#\n.]{0,200}", at in 0_usize..900) {
        let _ = imported(&text, MODEL, SEEK);
        let mut broken = MODEL.to_owned();
        if broken.is_char_boundary(at) {
            broken.insert_str(at, &text);
        }
        let _ = imported(SPECS, &broken, SEEK);
    }
}
