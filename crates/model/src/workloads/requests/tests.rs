use super::{REQUESTS, numbered};
use crate::field::{Value, Values};
use crate::workloads::WorkloadParams;

fn built(device: &str) -> Result<WorkloadParams, String> {
    let mut values = Values::default();
    values.set("trace", Value::Text("/t".to_owned()));
    values.set("device", Value::Text(device.to_owned()));
    REQUESTS.params(&values).map_err(|conflict| conflict.to_string())
}

#[test]
fn a_recorded_device_is_named_by_its_numbers() {
    assert_eq!(numbered("8:17"), Some(8 << 20 | 17));
    for wrong in ["", "8", "sda", "4096:0", "8:1048576", "8:-1", "8:1:2"] {
        assert_eq!(numbered(wrong), None, "{wrong}");
    }
    assert_eq!(
        built("sda").unwrap_err(),
        "device \"sda\" is not of the form MAJOR:MINOR; write it as lsblk shows it, such as \"8:0\""
    );
}

#[test]
fn filling_is_a_step_of_its_own_unless_it_is_not_wanted() {
    let Ok(WorkloadParams::Requests(mut params)) = built("8:0") else { panic!("not built") };
    let names = |steps: Vec<crate::workloads::StepOutline>| -> Vec<(String, bool)> {
        steps.into_iter().map(|step| (step.name, step.measured)).collect()
    };
    let with = [("requests-fill".to_owned(), false), ("requests".to_owned(), true)];
    assert_eq!(names(params.steps()), with);
    params.unfilled = true;
    assert_eq!(names(params.steps()), with[1..]);
}
