use super::*;

#[test]
fn the_progress_of_an_image_is_a_step_that_can_be_read_again() {
    let progress = |written, size| ImageProgress {
        name: "scratch: a".to_owned(),
        written: Bytes(written),
        size: Bytes(size),
    };
    let half = progress(3 << 29, 2 << 30);
    assert_eq!(half.to_string(), "writing the image of scratch: a: 1.5 of 2 GiB");
    for one in [half, progress(0, 512 << 20), progress(20, 20), progress(10 << 20, 10 << 20)] {
        assert_eq!(ImageProgress::from_step(&one.to_string()), Some(one));
    }
    for step in ["unpack", "writing the image of scratch", "writing the image of a: b of c"] {
        assert_eq!(ImageProgress::from_step(step), None);
    }
}
