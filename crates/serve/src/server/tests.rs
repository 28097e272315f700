#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::{RESTORES, is_left_alone};
use std::io::Write as _;
use std::thread::{sleep, spawn};
use std::time::Duration;

#[test]
fn a_command_that_said_it_restores_leaves_nothing_to_the_server() {
    let (server, mut command) = std::io::pipe().unwrap();
    command.write_all(&[RESTORES]).unwrap();
    drop(command);
    assert!(!is_left_alone(&server));
}

/// A process that is killed closes its descriptors one after another: the device may be gone first.
#[test]
fn a_command_that_goes_after_its_device_leaves_the_server_alone() {
    let (server, command) = std::io::pipe().unwrap();
    let going = spawn(move || {
        sleep(Duration::from_millis(100));
        drop(command);
    });
    assert!(is_left_alone(&server));
    going.join().unwrap();
    assert!(is_left_alone(&server));
}
