use crate::{build, load};

const FIXED: &str = r#"name = "fixed"
title = "fixed"
kind = "fixed"

[presented]
sectors = 4096
queue_depth = 8
max_request_kib = 32

[fixed]
read_latency_us = 100
write_latency_us = 70
mb_per_s = 50
parallel = 2

[sources]
presented = "test"
"fixed.mb_per_s" = "test"
"fixed.parallel" = "test"
"fixed.read_latency_us" = "test"
"fixed.write_latency_us" = "test"
"#;

/// The message for the file with one text replaced, and the key the error names.
fn refusal(old: &str, new: &str) -> String {
    assert!(FIXED.contains(old), "{old}");
    let error = load(&FIXED.replace(old, new)).unwrap_err();
    format!("{error} [{}]", error.key().unwrap_or("no key"))
}

#[test]
fn one_message_for_each_mistake() {
    let messages = [
        refusal("[fixed]", "[fixed"),
        refusal("queue_depth = 8", "queue_depht = 8"),
        refusal("parallel = 2\n", ""),
        refusal("sectors = 4096", "sectors = \"many\""),
        refusal("parallel = 2", "parallel = -2"),
        refusal("kind = \"fixed\"", "kind = \"floppy\""),
        refusal("kind = \"fixed\"", "kind = \"ram\""),
        refusal("mb_per_s = 50", "mb_per_s = 0"),
        refusal("sectors = 4096", "sectors = 4095\nlogical_block = 4096\nphysical_block = 4096"),
        refusal("sectors = 4096", "sectors = 4096\nphysical_block = 600"),
        refusal("sectors = 4096", "sectors = 4096\nwraps_at = 4096"),
        refusal("name = \"fixed\"", "name = \"Fixed Disk\""),
        refusal("\"fixed.parallel\" = \"test\"", ""),
        refusal("\"fixed.parallel\" = \"test\"", "\"fixed.parallel\" = \" \""),
        refusal("presented = \"test\"", "presented = \"test\"\n\"fixed.speed\" = \"test\""),
        refusal("[sources]", "[ranges]\n\"fixed.parallel\" = [3, 8]\n[sources]"),
        refusal("[sources]", "[ranges]\n\"fixed.color\" = [3, 8]\n[sources]"),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r#"
    line 10: unclosed table, expected `]` [no key]
    line 7: presented.queue_depht: unknown field `queue_depht`, expected one of `sectors`, `logical_block`, `physical_block`, `queue_depth`, `max_request_kib`, `max_discard_kib`, `max_write_zeroes_kib`, `rotational`, `wraps_at` [presented.queue_depht]
    line 10: fixed: missing field `parallel` [fixed]
    line 6: presented.sectors: invalid type: string "many", expected u64 [presented.sectors]
    line 14: fixed.parallel: invalid value: integer `-2`, expected u32 [fixed.parallel]
    line 3: kind: unknown variant `floppy`, expected one of `rotating`, `flash`, `ssd`, `ram`, `fixed` [kind]
    line 10: fixed = […]: belongs to another kind of device; this one is 'ram' [fixed]
    line 13: fixed.mb_per_s = 0: must be between 0.001 and 1000000 [fixed.mb_per_s]
    line 6: presented.sectors = 4095: must be a positive whole number of logical blocks, below 2^50 sectors [presented.sectors]
    line 7: presented.physical_block = 600: must be a power of two from 512 to 65536 bytes [presented.physical_block]
    line 7: presented.wraps_at = 4096: must be a positive whole number of logical blocks, below presented.sectors [presented.wraps_at]
    line 1: name = Fixed Disk: use small letters, digits and '-' [name]
    line 14: fixed.parallel has no source; say in [sources] where the value comes from [fixed.parallel]
    line 19: sources.fixed.parallel = '': must say where the value comes from [sources.fixed.parallel]
    line 18: [sources] names fixed.speed, which the file does not have; remove it or correct its name [fixed.speed]
    line 14: fixed.parallel = 2: must be between 3 and 8 [fixed.parallel]
    line 17: [ranges] names fixed.color, which the file does not have; remove it or correct its name [fixed.color]
    "#);
}

/// A card on these buses.
fn card(buses: &[&str]) -> String {
    let bus = |name: &&str| format!("[[bus]]\nname = \"{name}\"\ncommand_us = 1\nmb_per_s = 10\n");
    let source = if buses.is_empty() { "" } else { "bus = \"test\"" };
    format!(
        r#"name = "card"
title = "card"
kind = "flash"
[presented]
sectors = 4096
queue_depth = 1
max_request_kib = 128
{}
[flash]
page_bytes = 2048
unit_kib = 64
planes = 2
open_units = 1
spare_blocks = 1
wear_leveling = "dynamic"
prefilled = true
read_page_us = 25
program_page_us = 200
copy_page_us = 300
erase_us = 1500
read_command_us = 100
write_command_us = 150
[sources]
presented = "test"
flash = "test"
{source}
"#,
        buses.iter().map(bus).collect::<String>()
    )
}

#[test]
fn bus_errors_name_the_bus() {
    let fixed =
        FIXED.replace("[fixed]", "[[bus]]\nname = \"a\"\ncommand_us = 1\nmb_per_s = 10\n[fixed]");
    let fixed = fixed.replace("[sources]", "[sources]\nbus = \"test\"");
    let messages = [
        load(&card(&["a", "a"])).unwrap_err().to_string(),
        load(&card(&["a", "b"])).unwrap().on_bus("usb3").unwrap_err().to_string(),
        load(&card(&[])).unwrap().on_bus("usb3").unwrap_err().to_string(),
        load(&fixed).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    line 13: bus.1.name = a: is used twice
    unknown bus 'usb3'; it has a, b
    unknown bus 'usb3'; it has none
    bus = a: this kind of device has no bus; its rate includes it
    ");
}

#[test]
fn the_first_bus_is_chosen_unless_another_is_asked_for() {
    let file = load(&card(&["a", "b"])).unwrap();
    assert_eq!(file.bus().map(|bus| bus.name.as_str()), Some("a"));
    let other = file.on_bus("b").unwrap();
    assert_eq!(other.bus().map(|bus| bus.name.as_str()), Some("b"));
    // A change keeps the bus.
    let slower = other.with("bus.1.mb_per_s", 5.0).unwrap();
    assert_eq!(slower.bus().map(|bus| (bus.name.as_str(), bus.mb_per_s)), Some(("b", 5.0)));
}

#[test]
fn with_changes_one_number_and_checks_the_whole_again() {
    let file = load(FIXED).unwrap();
    let faster = file.with("fixed.mb_per_s", 80.5).unwrap();
    assert_ne!(file, faster);
    assert_eq!(faster.with("fixed.mb_per_s", 50.0).unwrap().parameters(), file.parameters());
    assert_eq!(file.with("fixed.parallel", 0.0).unwrap_err().key(), Some("fixed.parallel"));
    assert!(file.with("fixed.parallel", 1.5).is_err());
    assert_eq!(file.with("fixed.colour", 1.0).unwrap_err().key(), Some("fixed.colour"));
    assert_eq!(file.with("name", 1.0).unwrap_err().key(), Some("name"));
}

#[test]
fn values_are_what_decides_and_nothing_that_is_only_said() {
    let file = load(FIXED).unwrap();
    let values = file.values();
    assert_eq!(values["fixed.mb_per_s"], "50");
    assert_eq!(values["kind"], "\"fixed\"");
    let retold = load(&FIXED.replace("title = \"", "title = \"another ")).unwrap();
    assert_ne!(retold.title(), file.title());
    assert_eq!(retold.values(), values);
    let earlier = load(&format!("{FIXED}[[compared]]\nlab = \"mail\"\nmedian = 1.1\n")).unwrap();
    assert_eq!(earlier.values(), values);
    assert_ne!(file.with("fixed.parallel", 4.0).unwrap().values(), values);
    let on_two = crate::catalogue().unwrap()["cf-duracell-300x"].clone();
    assert_ne!(on_two.on_bus("usb2-reader").unwrap().values(), on_two.values());
}

#[test]
fn a_range_is_the_ends_between_which_a_value_may_be_set() {
    let text = FIXED.replace("[sources]", "[ranges]\n\"fixed.parallel\" = [1, 8]\n[sources]");
    let file = load(&text).unwrap();
    assert_eq!(file.ranges()["fixed.parallel"], [1.0, 8.0]);
    for end in [1.0, 8.0] {
        assert!(file.with("fixed.parallel", end).is_ok());
    }
}

#[test]
fn geometry_follows_the_file() {
    let text = FIXED.replace(
        "max_request_kib = 32",
        "max_request_kib = 32\nmax_discard_kib = 64\nrotational = true",
    );
    let geometry = build(&load(&text).unwrap(), 1).geometry();
    assert_eq!(
        (geometry.sectors_512, geometry.queue_depth, geometry.max_request_bytes),
        (4096, 8, 32768)
    );
    assert_eq!(
        (geometry.max_discard_sectors, geometry.max_write_zeroes_sectors),
        (Some(128), None)
    );
    assert_eq!((geometry.rotational, geometry.write_cache), (true, false));
}

#[test]
fn sectors_of_a_fake_have_the_places_of_the_first_ones_again() {
    let honest = build(&load(FIXED).unwrap(), 1).geometry();
    let fake = FIXED.replace("sectors = 4096", "sectors = 4096\nwraps_at = 1000");
    let fake = build(&load(&fake).unwrap(), 1).geometry();
    let places = |geometry: &crate::Geometry, sector: u64, sectors: u64| -> Vec<(u64, u64, u64)> {
        let pieces = geometry.pieces(sector, sectors);
        pieces.map(|piece| (piece.sector, piece.place, piece.sectors)).collect()
    };
    assert_eq!(places(&honest, 990, 2020), [(990, 990, 2020)]);
    assert_eq!(places(&honest, 990, 0), []);
    assert_eq!(places(&fake, 990, 10), [(990, 990, 10)]);
    assert_eq!(places(&fake, 3000, 8), [(3000, 0, 8)]);
    let over_two_ends = [(990, 990, 10), (1000, 0, 1000), (2000, 0, 1000), (3000, 0, 10)];
    assert_eq!(places(&fake, 990, 2020), over_two_ends);
}
