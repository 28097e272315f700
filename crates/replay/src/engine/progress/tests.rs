use super::*;
use std::sync::atomic::AtomicU32;

#[test]
fn each_thread_goes_on_at_its_number_and_not_before() {
    let progress = Progress::default();
    let over = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for number in [3, 1, 2, 3] {
            let (progress, over) = (&progress, &over);
            scope.spawn(move || {
                let _ = progress.wait(number, || false);
                assert!(progress.done.load(Ordering::SeqCst) >= number);
                over.fetch_add(1, Ordering::SeqCst);
            });
        }
        for (number, least) in [(1, 1), (2, 2), (3, 4)] {
            progress.publish(number, number * 10);
            while over.load(Ordering::SeqCst) < least {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn the_end_of_the_last_operation_is_told_to_those_that_look_late() {
    let progress = Progress::default();
    progress.publish(1, 10);
    progress.publish(2, 20);
    assert_eq!([1, 2].map(|number| progress.wait(number, || false)), [20, 20]);
    progress.end();
    assert_eq!(progress.wait(3, || false), 20);
}

#[test]
fn a_sleeping_thread_is_not_woken_before_its_number() {
    let progress = Progress::default();
    let looks = AtomicU32::new(0);
    let stopped = || {
        looks.fetch_add(1, Ordering::SeqCst);
        false
    };
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| progress.wait(1001, stopped));
        while progress.wanted.load(Ordering::SeqCst) == NONE {
            std::thread::yield_now();
        }
        let before = std::time::Instant::now();
        (1..=1000).for_each(|number| progress.publish(number, number));
        let timeouts = before.elapsed().as_millis() / PATIENCE.as_millis();
        let looks = u128::from(looks.load(Ordering::SeqCst));
        assert!(looks <= 3 + timeouts, "{looks} looks, of which {timeouts} after a timeout");
        progress.publish(1001, 1001);
        assert_eq!(waiting.join().unwrap(), 1001);
    });
}

#[test]
fn a_waker_is_written_to_when_its_number_is_reached() {
    use rustix::event::{EventfdFlags, eventfd};
    let progress = Progress::default();
    let waker = Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
    let is_woken = || rustix::io::read(&waker, &mut [0_u8; 8]).is_ok();
    assert_eq!(progress.reached(2, Some(&waker)), None);
    progress.publish(1, 10);
    assert!(!is_woken());
    progress.publish(2, 20);
    assert!(is_woken());
    assert_eq!((progress.reached(2, Some(&waker)), progress.reached(3, None)), (Some(20), None));
    progress.publish(3, 30);
    assert!(!is_woken());
    assert_eq!(progress.reached(4, Some(&waker)), None);
    progress.end();
    assert!(is_woken());
}

#[test]
fn the_end_lets_all_go_on() {
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| progress.wait(7, || false));
        progress.end();
        let _ = waiting.join().unwrap();
    });
    assert_eq!(progress.wait(8, || false), 0, "nothing to wait for");
}
