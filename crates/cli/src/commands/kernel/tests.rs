use super::*;

#[test]
fn the_time_left_follows_from_the_files_so_far() {
    let after = |done, seconds| compiled(done, 1316, Duration::from_secs(seconds));
    assert_eq!(after(100, 30), "compiled 100 of about 1316 files, about 6 min left");
    assert_eq!(after(1300, 390), "compiled 1300 of about 1316 files, less than a minute left");
    assert_eq!(after(1400, 420), "compiled 1400 of about 1316 files");
}
