use super::*;
use crate::fixture::{ratio, stack, verdict, view};
use seekwell_model::answer::Answer;
use seekwell_model::verdict::VerdictKind;

/// A stack on a device of this name, labelled `DEVICE/FILESYSTEM`.
fn on(device: &str, price: Option<u32>, filesystem: &str) -> Stack {
    let mut stack = stack(filesystem, "none");
    stack.label = format!("{device}/{filesystem}");
    stack.device.name = device.to_owned();
    stack.device.base = device.to_owned();
    stack.device.price = price;
    stack
}

/// Two filesystems on each of two devices; the second device's best takes `times` as long.
fn run(prices: [Option<u32>; 2], times: [f64; 3]) -> RunView {
    let stacks = vec![
        on("ssd", prices[0], "xfs"),
        on("ssd", prices[0], "ext4"),
        on("hdd", prices[1], "ext4"),
        on("hdd", prices[1], "xfs"),
    ];
    let [centre, low, high] = times;
    let rows = vec![
        ratio("ssd/xfs", 1.0, 1.0, 1.0, 1.0),
        ratio("ssd/ext4", 1.02, 1.02, 1.01, 1.03),
        ratio("hdd/ext4", centre, centre, low, high),
        ratio("hdd/xfs", 1.3 * centre, 1.3 * centre, 1.3 * low, 1.3 * high),
    ];
    view(
        stacks,
        &[1.0, 1.02, centre, 1.3 * centre],
        verdict(VerdictKind::Winner, &["ssd/xfs"], "r", rows),
    )
}

#[test]
fn another_device_is_compared_with_another_filesystem() {
    assert_eq!(
        sentences(&run([None, None], [12.0, 10.2, 14.1])),
        [
            "ssd instead of hdd, each with its best stack (ssd/xfs against hdd/ext4): 12 times as fast (10 to 14)",
            "On hdd, the choice of filesystem gains up to 30 % (hdd/ext4 against hdd/xfs): another device gains more",
        ]
    );
    let close = sentences(&run([None, None], [1.1, 1.05, 1.15]));
    assert!(close[0].ends_with("10 % faster (5 to 15 %)"), "{close:?}");
    assert!(close[1].ends_with("another filesystem gains more"), "{close:?}");
    let even = sentences(&run([None, None], [1.3, 1.2, 1.4]));
    assert!(even[1].ends_with("neither is shown to gain more"), "{even:?}");
    let equal = sentences(&run([None, None], [1.01, 0.99, 1.03]));
    assert!(equal[0].ends_with("neither is shown to be better"), "{equal:?}");
}

#[test]
fn a_stack_that_may_lose_data_is_not_the_best_of_its_device() {
    let mut view = run([None, None], [12.0, 10.2, 14.1]);
    view.verdict.answer = Some(Answer {
        pick: Some("ssd/xfs".to_owned()),
        out: vec!["ssd/ext4".to_owned(), "hdd/xfs".to_owned()],
        ..Answer::default()
    });
    let said = sentences(&view);
    assert!(said[0].contains("(ssd/xfs against hdd/xfs)"), "{said:?}");
}

#[test]
fn prices_are_compared_where_both_are_known() {
    let said = |prices| sentences(&run(prices, [12.0, 10.2, 14.1])).swap_remove(0);
    let words = |prices| said(prices).split_once("; ").map(|(_, price)| price.to_owned());
    assert_eq!(words([Some(45), None]), None);
    assert_eq!(
        words([Some(45), Some(160)]).unwrap(),
        "ssd costs 72 % less than hdd (45 against 160)"
    );
    assert_eq!(
        words([Some(320), Some(160)]).unwrap(),
        "ssd costs 2.0 times as much as hdd (320 against 160)"
    );
    assert_eq!(
        words([Some(200), Some(160)]).unwrap(),
        "ssd costs 25 % more than hdd (200 against 160)"
    );
    assert_eq!(
        words([Some(160), Some(160)]).unwrap(),
        "ssd costs as much as hdd (160 against 160)"
    );
}

#[test]
fn prices_are_a_column_of_every_table_as_soon_as_one_is_known() {
    let priced = run([Some(45), None], [12.0, 10.2, 14.1]);
    let terminal = crate::fixture::everything(&priced, 120);
    let cell = |text: &str, row: &str| {
        let line = text.lines().find(|line| line.contains(row)).unwrap().to_owned();
        line.split_whitespace().nth(5).unwrap().to_owned()
    };
    assert_eq!(cell(&terminal, "ssd/xfs  "), "45");
    assert_eq!(cell(&terminal, "hdd/ext4  "), "-");
    assert!(crate::markdown(&priced, true).contains("| trials | price |"));
    let trials = crate::PageTrials::of(&priced);
    let page = crate::HtmlPage::of(&priced, &trials, "r", crate::Inside::Nothing).text(&[]);
    assert!(page.contains(">price</th>"));
    let unpriced = run([None, None], [12.0, 10.2, 14.1]);
    assert!(!crate::fixture::everything(&unpriced, 120).contains("price"));
}

#[test]
fn a_run_on_one_device_has_no_such_section() {
    assert_eq!(sentences(&crate::fixture::winner()), [""; 0]);
}
