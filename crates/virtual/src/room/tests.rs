use super::*;

fn places(shared: Result<Space, &'static str>, scratch: Result<Space, &'static str>) -> [Place; 2] {
    [(PathBuf::from("/dev/shm"), shared), (PathBuf::from("/tmp"), scratch)]
}

fn gib(count: u64) -> Bytes {
    Bytes::mib(1024 * count)
}

fn free(free: u64, of: u64) -> Result<Space, &'static str> {
    Ok(Space { free: gib(free), size: gib(of) })
}

#[test]
fn as_many_guests_as_were_asked_for_where_they_fit() {
    let room = choose(gib(2), 2, gib(24), &places(free(12, 12), free(70, 250))).unwrap();
    assert_eq!(room, Room { directory: "/dev/shm".into(), guests: 2, note: None });
}

#[test]
fn fewer_at_a_time_rather_than_on_a_disk_and_said() {
    let room = choose(gib(8), 2, gib(24), &places(free(12, 12), free(70, 250))).unwrap();
    let note = "a guest has 8GiB of memory: 1 of 2 trials at a time fit here";
    let expected = Room { directory: "/dev/shm".into(), guests: 1, note: Some(note.to_owned()) };
    assert_eq!(room, expected);
}

#[test]
fn elsewhere_no_more_than_the_machine_holds_and_what_helps() {
    // 2 GiB of it are in use, which a smaller size would have to leave.
    let room = choose(gib(16), 2, gib(24), &places(free(10, 12), free(70, 250))).unwrap();
    assert_eq!((room.directory, room.guests), (PathBuf::from("/tmp"), 1));
    assert_eq!(
        room.note.unwrap(),
        "a guest has 16GiB of memory: 1 of 2 trials at a time fit here; the guests' memory is in /tmp, \
         since /dev/shm has 10GiB: where that is on a disk the kernel writes it there over and over, and \
         trials take several times as long; mount -o remount,size=18432m /dev/shm helps"
    );
    let noexec = places(Err(NOEXEC), free(70, 250));
    let room = choose(gib(2), 2, gib(24), &noexec).unwrap();
    assert_eq!(room.guests, 2);
    let note = room.note.unwrap();
    assert!(note.ends_with("; mount -o remount,exec /dev/shm helps"), "{note}");
}

#[test]
fn one_guest_larger_than_the_machine_is_tried_and_none_without_room() {
    let room = choose(gib(32), 2, gib(24), &places(free(12, 12), free(70, 250))).unwrap();
    assert_eq!(room.guests, 1);
    let refused = choose(gib(80), 2, gib(24), &places(free(12, 12), Err("cannot be written to")));
    assert_eq!(
        refused.unwrap_err(),
        "/dev/shm has 12GiB, /tmp cannot be written to; mount -o remount,size=81920m /dev/shm helps"
    );
}

#[test]
fn this_machine_has_memory() {
    assert!(machine_memory() > Bytes::mib(64));
    let (directory, space) = look(Path::new("/proc/self/no-such"));
    assert_eq!((directory, space), (PathBuf::from("/proc/self/no-such"), Err("cannot be used")));
}
