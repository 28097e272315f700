use super::*;

#[test]
fn a_killed_command_has_the_status_that_a_shell_tells() {
    assert_eq!(shell_status(ExitStatus::from_raw(3 << 8)), 3);
    assert_eq!(shell_status(ExitStatus::from_raw(9)), 137);
}

#[test]
fn memory_for_direct_io_is_aligned_and_whole() {
    for bytes in [0, 1, 512, 513, 5000] {
        let mut memory = Aligned::new(bytes);
        let slice = memory.bytes();
        assert_eq!(slice.len(), bytes.next_multiple_of(512));
        assert!(slice.is_empty() || slice.as_ptr().addr().is_multiple_of(PAGE_BYTES));
    }
}

#[test]
fn no_test_is_a_first_process() {
    assert!(!is_first_process());
}

#[test]
fn what_is_said_is_what_the_other_side_reads() {
    let keeping = crate::Keeping { memory_bytes: 1 << 24, directory: std::env::temp_dir() };
    let order = Order { task: mailbox::Task::Agent, disks: Vec::new() };
    let mut mailbox = mailbox::post(&order, b"in", keeping).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut voice = Voice { disk: file.try_clone().unwrap(), at: mailbox::SAYINGS_SECTOR * 512 };
    voice.say(Kind::Started, &[]).unwrap();
    voice.say(Kind::Output, &[5; 1000]).unwrap();
    voice.say(Kind::Exit, b"0").unwrap();
    let mut said = vec![0; (voice.at - mailbox::SAYINGS_SECTOR * 512) as usize];
    file.read_exact_at(&mut said, mailbox::SAYINGS_SECTOR * 512).unwrap();
    mailbox.write(mailbox::SAYINGS_SECTOR, &said).unwrap();
    let mut reader = mailbox::Reader::default();
    let mut heard = Vec::new();
    while let Some(saying) = reader.next(&mailbox).unwrap() {
        heard.push((saying.kind, saying.bytes));
    }
    let expected =
        [(Kind::Started, vec![]), (Kind::Output, vec![5; 1000]), (Kind::Exit, b"0".to_vec())];
    assert_eq!(heard, expected);
}
