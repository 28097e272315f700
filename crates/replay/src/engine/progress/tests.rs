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
                progress.wait(number, || false);
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
    assert_eq!(progress.at_ns(), 30);
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
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn the_end_lets_all_go_on() {
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| progress.wait(7, || false));
        progress.end();
        waiting.join().unwrap();
    });
    assert!(!progress.wait(8, || false), "nothing to wait for");
}
