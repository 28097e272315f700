use super::*;

fn keeping() -> Keeping {
    Keeping { memory_bytes: 1 << 24, directory: std::env::temp_dir() }
}

fn order() -> Order {
    Order {
        task: Task::Program(vec!["/bin/true".to_owned(), "a b".to_owned()]),
        disks: vec![OrderedDisk { role: "data".to_owned(), rotational: true }],
    }
}

fn read(content: &Content, at: u64, bytes: u64) -> Vec<u8> {
    let first = at / 512;
    let mut whole = vec![0; (at + bytes).div_ceil(512) as usize * 512 - first as usize * 512];
    content.read(first, &mut whole).unwrap();
    let start = (at % 512) as usize;
    whole[start..start + bytes as usize].to_vec()
}

fn say(content: &mut Content, sector: u64, kind: Kind, bytes: &[u8]) -> u64 {
    put(content, (sector + 1) * 512, bytes).unwrap();
    put(content, sector * 512, &saying_header(kind, bytes.len() as u64)).unwrap();
    sector + 1 + bytes.len().div_ceil(512) as u64
}

#[test]
fn what_is_posted_is_found() {
    let input: Vec<u8> = (0..5000_u32).map(|number| number as u8).collect();
    let mailbox = post(&order(), &input, keeping()).unwrap();
    let place = order_place(&read(&mailbox, 0, 512)).unwrap();
    let text = read(&mailbox, place.order_at, place.order_bytes);
    assert_eq!(serde_json::from_slice::<Order>(&text).unwrap(), order());
    assert_eq!(place.input_at % 4096, 0);
    assert_eq!(read(&mailbox, place.input_at, place.input_bytes), input);
}

#[test]
fn a_disk_that_is_no_mailbox_has_no_order() {
    assert_eq!(order_place(&[0; 512]), None);
    assert_eq!(order_place(&[]), None);
    assert_eq!(order_place(&encode_header([ORDER_MAGIC, u64::MAX, 0])), None);
}

#[test]
fn sayings_are_read_once_and_in_order() {
    let mut mailbox = post(&order(), &[], keeping()).unwrap();
    let mut reader = Reader::default();
    assert_eq!(reader.next(&mailbox).unwrap(), None);
    let next = say(&mut mailbox, SAYINGS_SECTOR, Kind::Started, &[]);
    let next = say(&mut mailbox, next, Kind::Output, &[7; 600]);
    let kinds = |reader: &mut Reader| reader.next(&mailbox).unwrap().map(|saying| saying.kind);
    assert_eq!(kinds(&mut reader), Some(Kind::Started));
    let saying = reader.next(&mailbox).unwrap().unwrap();
    assert_eq!((saying.kind, saying.bytes), (Kind::Output, vec![7; 600]));
    assert_eq!(reader.next(&mailbox).unwrap(), None);
    say(&mut mailbox, next, Kind::Exit, b"0");
    let last = Saying { kind: Kind::Exit, bytes: b"0".to_vec() };
    assert_eq!(reader.next(&mailbox).unwrap(), Some(last));
}

#[test]
fn a_header_that_makes_no_sense_is_an_error_not_an_allocation() {
    for numbers in [[SAYING_MAGIC, 99, 0], [SAYING_MAGIC, 1, u64::MAX]] {
        let mut mailbox = post(&order(), &[], keeping()).unwrap();
        put(&mut mailbox, SAYINGS_SECTOR * 512, &encode_header(numbers)).unwrap();
        let error = Reader::default().next(&mailbox).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
