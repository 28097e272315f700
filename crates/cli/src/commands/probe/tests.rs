use super::of_health;
use seekwell_session::Health;

fn reading(celsius: i64, hot_minutes: i64) -> Health {
    Health {
        celsius: Some(celsius),
        passed: Some(true),
        hot_minutes: Some(hot_minutes),
        reallocated: Some(3),
    }
}

#[test]
fn the_health_of_a_disk_is_said_and_kept_in_its_file() {
    let (said, note) = of_health(reading(31, 5), reading(38, 5));
    let line = "31 to 38 degrees Celsius, SMART passed, 3 sectors reallocated";
    assert_eq!(said, [format!("health                {line}")]);
    assert_eq!(note, format!("# Health during the probe: {line}\n"));
}

#[test]
fn a_disk_that_became_too_hot_is_warned_of_there_as_well() {
    let (said, note) = of_health(reading(34, 5), reading(83, 7));
    let [health, doubt] = &said[..] else { panic!("{said:?}") };
    assert_eq!(
        health,
        "health                34 to 83 degrees Celsius, SMART passed, 3 sectors reallocated"
    );
    let told = doubt.strip_prefix("warning: ").unwrap();
    assert!(told.contains("throttled; cool it and probe it again"), "{doubt}");
    let kept: Vec<&str> = note.lines().collect();
    assert_eq!(kept[1..], [format!("# Warning: {told}")]);
    // Comments change nothing: the file is read as without them.
    let file = std::fs::read_to_string("../../devices/fixed.toml").unwrap();
    let with_note = seekwell_device::load(&(note + &file)).unwrap();
    assert_eq!(with_note, seekwell_device::load(&file).unwrap());
}
