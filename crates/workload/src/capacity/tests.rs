use super::*;

/// What a fake does beyond its true size.
#[derive(Clone, Copy, PartialEq)]
enum Fake {
    Wraps,
    Drops,
}

struct Scripted {
    claimed: u64,
    content: Vec<u8>,
    fake: Fake,
}

fn medium(claimed: u64, real: u64, fake: Fake) -> Scripted {
    let content = (0..real).map(|byte| (byte / 7) as u8).collect();
    Scripted { claimed, content, fake }
}

impl Medium for Scripted {
    fn claimed(&self) -> u64 {
        self.claimed
    }

    fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let real = self.content.len();
        for (index, byte) in buffer.iter_mut().enumerate() {
            let at = offset as usize + index;
            *byte = if at < real || self.fake == Fake::Wraps { self.content[at % real] } else { 0 };
        }
        Ok(())
    }

    fn write(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let real = self.content.len();
        for (index, byte) in buffer.iter().enumerate() {
            let at = offset as usize + index;
            if at < real || self.fake == Fake::Wraps {
                self.content[at % real] = *byte;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn an_honest_device_keeps_all_and_its_content_is_restored() {
    for claimed in [8 * MIB, 8 * MIB + 3 * 4096, 2 * MIB] {
        let mut honest = medium(claimed, claimed, Fake::Drops);
        let before = honest.content.clone();
        let found = quick(&mut honest, 5).unwrap();
        assert_eq!((found.wrong, found.first_wrong), (0, None));
        assert_eq!(found.checked, offsets(claimed).len() as u64 * STAMP as u64);
        assert!(honest.content == before);
    }
}

#[test]
fn a_device_that_wraps_or_drops_is_found_and_what_it_held_is_restored() {
    for (real, fake) in [
        (4 * MIB, Fake::Wraps),
        (3 * MIB, Fake::Wraps),
        (4 * MIB, Fake::Drops),
        (5 * MIB + 4096, Fake::Drops),
    ] {
        let mut device = medium(16 * MIB, real, fake);
        let before = device.content.clone();
        let found = quick(&mut device, 5).unwrap();
        assert!(found.wrong > 0 && found.wrong < found.checked, "{found:?}");
        assert!(device.content == before, "{real}");
    }
    // Dropped from the first power of two beyond its end on.
    let found = quick(&mut medium(16 * MIB, 4 * MIB, Fake::Drops), 5).unwrap();
    assert_eq!(found.first_wrong, Some(4 * MIB));
}

#[test]
fn a_quick_check_that_found_nothing_says_what_it_did_not_exclude() {
    let honest = quick(&mut medium(16 * MIB, 16 * MIB, Fake::Wraps), 5).unwrap();
    let text = partly(&honest, false).unwrap().text;
    assert!(text.starts_with("6 blocks of 4 KiB kept their data."), "{text}");
    assert_eq!(partly(&honest, true), None);
    let fake = quick(&mut medium(16 * MIB, 4 * MIB, Fake::Wraps), 5).unwrap();
    assert_eq!(partly(&fake, false), None);
}

#[test]
fn the_full_check_counts_every_wrong_byte() {
    let go_on = || false;
    let mut honest = medium(2 * MIB + 4096, 2 * MIB + 4096, Fake::Drops);
    let found = full(&mut honest, 5, &go_on).unwrap();
    assert_eq!(found, Found { checked: 2 * MIB + 4096, wrong: 0, first_wrong: None });
    let found = full(&mut medium(4 * MIB, 3 * MIB, Fake::Drops), 5, &go_on).unwrap();
    assert_eq!(found, Found { checked: 4 * MIB, wrong: MIB, first_wrong: Some(3 * MIB) });
    // What wraps takes the place of the begin, whose size no power of two divides.
    let real = 3 * MIB - 4096;
    let found = full(&mut medium(4 * MIB, real, Fake::Wraps), 5, &go_on).unwrap();
    assert_eq!(found, Found { checked: 4 * MIB, wrong: 4 * MIB - real, first_wrong: Some(0) });
    let stopped = full(&mut medium(4 * MIB, 4 * MIB, Fake::Drops), 5, &|| true);
    assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
}
