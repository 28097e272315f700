use super::{RequestChoice, RequestPlan, plan_requests};
use crate::error::ReplayError;
use crate::requests::fixture::{request, trace_of, trace_with};
use seekwell_trace::meta::Lost;
use seekwell_trace::{Operation, Request};

fn planned(requests: &[Request]) -> Result<RequestPlan, ReplayError> {
    let (_folder, trace) = trace_of(requests);
    plan_requests(&trace, &RequestChoice::default())
}

/// Start, pause and number of completions before.
fn order(plan: &RequestPlan) -> Vec<(u64, u64, u32)> {
    plan.all.iter().map(|one| (one.start_ns, one.think_ns, one.after)).collect()
}

#[test]
fn a_request_waits_for_those_that_were_complete_before_it() {
    // Two at once, the second over first; a third after both, 30 ns after the last.
    let all = [request(1000, Some(100)), request(1010, Some(50)), request(1130, Some(10))];
    let plan = planned(&all).unwrap();
    assert_eq!(order(&plan), [(0, 0, 0), (10, 10, 0), (130, 30, 2)]);
    let completes: Vec<u32> = plan.all.iter().map(|one| one.completes).collect();
    assert_eq!(completes, [1, 0, 2]);
    let recorded = plan.recorded();
    assert_eq!((recorded.span_ns, recorded.elapsed_ns), (130, 140));
    assert_eq!(recorded.inside_ns, Some(160));
}

#[test]
fn a_request_without_a_completion_holds_no_other_back() {
    let plan = planned(&[request(0, None), request(50, Some(0)), request(50, Some(0))]).unwrap();
    assert_eq!(order(&plan), [(0, 0, 0), (50, 50, 0), (50, 50, 0)]);
    let completes: Vec<u32> = plan.all.iter().map(|one| one.completes).collect();
    assert_eq!(completes, [u32::MAX, 0, 1]);
    assert_eq!(plan.recorded().inside_ns, None);
}

#[test]
fn the_busiest_device_is_chosen_and_unknown_operations_are_counted() {
    let on = |device, operation| Request { device, operation, ..request(5, Some(1)) };
    let all = [
        on(1, Operation::Read),
        on(2, Operation::Read),
        on(2, Operation::Write),
        on(2, Operation::Other),
    ];
    let plan = planned(&all).unwrap();
    let recorded = plan.recorded();
    assert_eq!((plan.all.len(), recorded.left_out), (2, 1));
    assert!(recorded.writes);
    let (_folder, trace) = trace_of(&all);
    let choice = RequestChoice { device: Some(1), ..RequestChoice::default() };
    assert_eq!(plan_requests(&trace, &choice).unwrap().all.len(), 1);
}

#[test]
fn requests_that_the_recording_lost_are_counted() {
    let lost = |kind: &str, count| Lost { cpu: None, kind: kind.to_owned(), count };
    let lost = vec![lost("block requests", 3), lost("blktrace events", 2), lost("calls", 50)];
    let (_folder, trace) = trace_with(&[request(0, Some(1))], lost);
    assert_eq!(plan_requests(&trace, &RequestChoice::default()).unwrap().recorded().lost, 5);
}

#[test]
fn hostile_requests_are_refused_in_words() {
    let wild = [
        Request { sector: u64::MAX / 2, ..request(0, None) },
        Request { bytes: 1 << 40, ..request(0, None) },
        Request { sector: 1 << 50, bytes: u64::MAX, ..request(0, None) },
    ];
    for one in wild {
        let refused = planned(&[one]).unwrap_err();
        assert!(matches!(refused, ReplayError::WildRequest { .. }), "{refused}");
    }
    assert!(matches!(planned(&[]).unwrap_err(), ReplayError::NoRequests));
    let (_folder, trace) = trace_of(&[request(0, None), request(1, None)]);
    let choice = RequestChoice { most: 1, ..RequestChoice::default() };
    let refused = plan_requests(&trace, &choice).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the trace has 2 block requests, a replay takes at most 1; cut it with `seekwell trace filter`"
    );
}
