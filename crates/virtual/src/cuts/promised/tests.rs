use super::*;

const FILE: &str = "/t/d/file";

/// A mounted directory with a synced one, and what a test adds; times count up by 10.
struct Scene {
    changes: Changes,
    with_names: bool,
}

impl Scene {
    fn new() -> Self {
        let changes = Changes { nodes: 4, ..Changes::default() };
        let mut scene = Self { changes, with_names: false };
        scene.add(name("/t/d", Some(0), Cause::Made));
        scene.add(Change::SyncAll);
        scene
    }

    /// Adds a change and returns the end of its call.
    fn add(&mut self, change: Change) -> u64 {
        let end_ns = 10 * (self.changes.all.len() as u64 + 1);
        self.changes.all.push(Timed { start_ns: end_ns - 5, end_ns, change });
        end_ns
    }

    fn write(&mut self, node: Node, at: u64, data: &[u8]) -> u64 {
        self.add(Change::Data { node, at, data: data.into(), is_durable: false })
    }

    /// A file that is synced, with its name.
    fn with_file(data: &[u8]) -> Self {
        let mut scene = Self::new();
        scene.add(name(FILE, Some(1), Cause::Made));
        scene.write(1, 0, data);
        scene.add(Change::Sync { node: 1, with_names: true });
        scene.add(Change::SyncNames { directory: "/t/d".into() });
        scene
    }

    fn loss(&self, at_ns: u64, files: &[(&str, &[u8])]) -> Loss {
        let mut promised = Promised::new(&self.changes).with_names(self.with_names);
        promised.pass_to(at_ns);
        let directory =
            |path: &str| FoundFile { path: path.to_owned(), bytes: None, sectors: vec![] };
        let file = |(path, data): &(&str, &[u8])| FoundFile {
            path: (*path).to_owned(),
            bytes: Some(data.len() as u64),
            sectors: data.chunks(SECTOR_BYTES).map(sum).collect(),
        };
        let mut found = vec![directory("/t"), directory("/t/d")];
        found.extend(files.iter().map(file));
        promised.compare(at_ns, &found)
    }

    fn last_ns(&self) -> u64 {
        10 * self.changes.all.len() as u64
    }
}

fn name(path: &str, node: Option<Node>, cause: Cause) -> Change {
    Change::Name { path: path.into(), node, cause }
}

/// Files, bytes, torn and reordered ones.
fn counts(loss: &Loss) -> [u64; 4] {
    [loss.files, loss.bytes, loss.torn, loss.reordered]
}

#[test]
fn what_was_synced_must_be_there() {
    let data = [7; 1300];
    let scene = Scene::with_file(&data);
    let at_ns = scene.last_ns();
    let of = |files: &[(&str, &[u8])]| counts(&scene.loss(at_ns, files));
    assert_eq!(of(&[(FILE, &data)]), [0; 4]);
    assert_eq!(of(&[]), [1, 1300, 0, 0]);
    assert_eq!(of(&[(FILE, &data[..600])]), [0, 1300 - 512, 1, 0]);
    assert_eq!(of(&[(FILE, &[])]), [0, 1300, 1, 0]);
    let mut torn = data;
    torn[600] = 0;
    assert_eq!(of(&[(FILE, &torn)]), [0, 512, 1, 0]);
    // Before the syncs returned nothing was promised.
    assert_eq!(counts(&scene.loss(at_ns - 1, &[])), [0; 4]);
    assert_eq!(counts(&scene.loss(at_ns - 11, &[(FILE, &data[..600])])), [0; 4]);
    // The data were promised by the file's own sync, wherever its name survives.
    assert_eq!(counts(&scene.loss(at_ns - 1, &[(FILE, &data[..600])])), [0, 788, 1, 0]);
}

#[test]
fn each_sector_of_a_later_write_may_be_old_or_new() {
    let old = [1; 1024];
    let mut scene = Scene::with_file(&old);
    let at_ns = scene.write(1, 256, &[2; 512]);
    let mut new = old;
    new[256..768].fill(2);
    let mixed = [&new[..512], &old[512..]].concat();
    let mut torn = old;
    torn[300] = 9;
    let of = |at_ns, data: &[u8]| counts(&scene.loss(at_ns, &[(FILE, data)]));
    for data in [&old, &new, &*mixed] {
        assert_eq!(of(at_ns, data), [0; 4]);
        // While the call is under way.
        assert_eq!(of(at_ns - 1, data), [0; 4]);
    }
    assert_eq!(of(at_ns, &torn), [0, 512, 1, 0]);
    // Before it began.
    assert_eq!(of(at_ns - 6, &new), [0, 1024, 1, 0]);
}

#[test]
fn a_durable_write_is_promised_when_it_returns() {
    let mut scene = Scene::with_file(&[1; 512]);
    let data = Rc::from([2; 512]);
    let at_ns = scene.add(Change::Data { node: 1, at: 0, data, is_durable: true });
    assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &[1; 512])])), [0, 512, 1, 0]);
    assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &[2; 512])])), [0; 4]);
    assert_eq!(counts(&scene.loss(at_ns - 1, &[(FILE, &[1; 512])])), [0; 4]);
}

#[test]
fn a_synced_removal_is_for_good() {
    let mut scene = Scene::with_file(&[1; 512]);
    let removed_ns = scene.add(name(FILE, None, Cause::Removed));
    let synced_ns = scene.add(Change::SyncNames { directory: "/t/d".into() });
    for files in [&[][..], &[(FILE, &[1; 512][..])]] {
        assert_eq!(counts(&scene.loss(removed_ns, files)), [0; 4]);
    }
    assert_eq!(counts(&scene.loss(synced_ns, &[(FILE, &[1; 512])])), [1, 0, 0, 0]);
    assert_eq!(counts(&scene.loss(synced_ns, &[])), [0; 4]);
}

#[test]
fn a_renamed_file_has_one_of_its_names() {
    let data = [1; 512];
    let mut scene = Scene::with_file(&data);
    scene.add(name(FILE, None, Cause::Renamed));
    let at_ns = scene.add(name("/t/d/new", Some(1), Cause::Renamed));
    for path in [FILE, "/t/d/new"] {
        assert_eq!(counts(&scene.loss(at_ns, &[(path, &data)])), [0; 4]);
    }
    assert_eq!(counts(&scene.loss(at_ns, &[])), [1, 512, 0, 0]);
}

#[test]
fn a_name_that_outlives_the_data_before_it_is_reordered() {
    let old = [1; 512];
    let mut scene = Scene::with_file(&old);
    scene.add(name("/t/d/new", Some(2), Cause::Made));
    scene.write(2, 0, &[2; 512]);
    scene.add(name("/t/d/new", None, Cause::Renamed));
    let at_ns = scene.add(name(FILE, Some(2), Cause::Renamed));
    let of = |data: &[u8]| counts(&scene.loss(at_ns, &[(FILE, data)]));
    assert_eq!(of(&old), [0; 4]);
    assert_eq!(of(&[2; 512]), [0; 4]);
    assert_eq!(of(&[]), [0, 0, 0, 1]);
}

#[test]
fn names_below_a_directory_that_was_not_synced_promise_nothing() {
    let mut scene = Scene::new();
    scene.add(name("/t/d/e", Some(1), Cause::Made));
    scene.add(name("/t/d/e/file", Some(2), Cause::Made));
    let below_ns = scene.add(Change::SyncNames { directory: "/t/d/e".into() });
    assert_eq!(counts(&scene.loss(below_ns, &[])), [0; 4]);
    let at_ns = scene.add(Change::SyncNames { directory: "/t/d".into() });
    assert_eq!(counts(&scene.loss(at_ns, &[])), [2, 0, 0, 0]);
}

#[test]
fn a_file_with_data_that_were_not_recorded_promises_its_name_alone() {
    let mut scene = Scene::with_file(&[1; 512]);
    let at_ns = scene.add(Change::Unseen { node: 1 });
    assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &[9; 100])])), [0; 4]);
    assert_eq!(scene.loss(at_ns, &[]).files, 1);
}

#[test]
fn the_sync_of_a_file_keeps_its_names_where_the_filesystem_says_so() {
    let data = [1; 512];
    let sync = |with_names| Change::Sync { node: 1, with_names };
    for (promises, calls, lost) in [(true, true, 2), (true, false, 0), (false, true, 0)] {
        let mut scene = Scene { with_names: promises, ..Scene::new() };
        scene.add(name(FILE, Some(1), Cause::Made));
        scene.write(1, 0, &data);
        scene.add(name("/t/d/link", Some(1), Cause::Made));
        let at_ns = scene.add(sync(calls));
        assert_eq!(scene.loss(at_ns, &[]).files, lost, "{promises} {calls}");
        assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &data), ("/t/d/link", &data)])), [0; 4]);
    }
    // A name that is gone again, removed in the same instant, is no longer one of the file.
    let mut scene = Scene { with_names: true, ..Scene::with_file(&data) };
    scene.add(name("/t/d/link", Some(1), Cause::Made));
    scene.add(name("/t/d/link", None, Cause::Removed));
    if let [.., made, removed] = &mut scene.changes.all[..] {
        (made.start_ns, made.end_ns) = (removed.end_ns, removed.end_ns);
    }
    let at_ns = scene.add(sync(true));
    for files in [&[(FILE, &data[..])][..], &[(FILE, &data), ("/t/d/link", &data)]] {
        assert_eq!(counts(&scene.loss(at_ns, files)), [0; 4]);
    }
}

#[test]
fn a_hole_is_old_until_it_is_synced_and_does_not_extend() {
    let old = [1; 1024];
    let mut scene = Scene::with_file(&old);
    let at_ns = scene.add(Change::Zeros { node: 1, at: 512, bytes: 4096 });
    let mut new = old;
    new[512..].fill(0);
    for data in [&old, &new] {
        assert_eq!(counts(&scene.loss(at_ns, &[(FILE, data)])), [0; 4]);
    }
    let at_ns = scene.add(Change::Sync { node: 1, with_names: false });
    assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &new)])), [0; 4]);
    assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &old)])), [0, 512, 1, 0]);
}

#[test]
fn a_renamed_file_that_another_replaced_for_good_is_not_missed() {
    let data = [1; 512];
    let mut scene = Scene::with_file(&data);
    scene.add(name("/t/d/other", Some(2), Cause::Made));
    scene.add(Change::SyncAll);
    scene.add(name(FILE, None, Cause::Renamed));
    scene.add(name("/t/new", Some(1), Cause::Renamed));
    let lost_ns = scene.add(Change::SyncNames { directory: "/t".into() });
    assert_eq!(scene.loss(lost_ns, &[("/t/d/other", &[])]).files, 2, "both names of the file");
    scene.add(name("/t/d/other", None, Cause::Renamed));
    scene.add(name("/t/new", Some(2), Cause::Renamed));
    let at_ns = scene.add(Change::SyncNames { directory: "/t".into() });
    assert_eq!(counts(&scene.loss(at_ns, &[("/t/new", &[])])), [0; 4]);
}

#[test]
fn a_file_whose_name_went_to_another_that_was_renamed_on_is_not_missed() {
    let mut scene = Scene::with_file(&[1; 512]);
    scene.add(name("/t/d/other", Some(2), Cause::Made));
    scene.add(Change::SyncAll);
    scene.add(name("/t/d/other", None, Cause::Renamed));
    scene.add(name(FILE, Some(2), Cause::Renamed));
    scene.add(name(FILE, None, Cause::Renamed));
    scene.add(name("/t/new", Some(2), Cause::Renamed));
    let at_ns = scene.add(Change::SyncNames { directory: "/t".into() });
    assert_eq!(counts(&scene.loss(at_ns, &[("/t/new", &[])])), [0; 4]);
    assert_eq!(scene.loss(at_ns, &[]).files, 2, "the new name, and the old one of the same file");
}

#[test]
fn a_renamed_file_has_its_new_name_when_the_old_one_is_gone_for_good() {
    let data = [1; 512];
    let scene = |ends: &[Change]| {
        let mut scene = Scene { with_names: true, ..Scene::with_file(&data) };
        scene.add(name("/t/e", Some(3), Cause::Made));
        scene.add(Change::SyncAll);
        scene.add(name(FILE, None, Cause::Renamed));
        scene.add(name("/t/e/new", Some(1), Cause::Renamed));
        for change in ends {
            scene.add(change.clone());
        }
        scene
    };
    let lost = |ends: &[Change], files: &[(&str, &[u8])]| {
        let scene = scene(ends);
        let mut files = files.to_vec();
        files.push(("/t/e", &[]));
        scene.loss(scene.last_ns(), &files)
    };
    let sync_old = Change::SyncNames { directory: "/t/d".into() };
    let one = lost(std::slice::from_ref(&sync_old), &[]);
    assert_eq!(counts(&one), [1, 512, 0, 0]);
    assert_eq!(one.first.as_deref(), Some("/t/d/file was renamed, and has neither name"));
    assert_eq!(counts(&lost(std::slice::from_ref(&sync_old), &[("/t/e/new", &data)])), [0; 4]);
    // A new file took the old name.
    let other = [name(FILE, Some(2), Cause::Made), Change::Sync { node: 2, with_names: true }];
    assert_eq!(counts(&lost(&other, &[(FILE, &[])])), [1, 512, 0, 0]);
    assert_eq!(counts(&lost(&other, &[(FILE, &[]), ("/t/e/new", &data)])), [0; 4]);
    // It was removed, or replaced by another.
    for end in [name("/t/e/new", None, Cause::Removed), name("/t/e/new", Some(2), Cause::Renamed)] {
        assert_eq!(counts(&lost(&[end, sync_old.clone()], &[])), [0; 4]);
    }
    assert_eq!(counts(&lost(&[sync_old, Change::SyncAll], &[])), [1, 512, 0, 0], "missed once");
}

#[test]
fn a_file_is_not_longer_than_it_ever_was() {
    let data = [1; 512];
    let mut scene = Scene::with_file(&data);
    let at_ns = scene.last_ns();
    let longer = [&data[..], &[0; 1024]].concat();
    let loss = scene.loss(at_ns, &[(FILE, &longer)]);
    assert_eq!(counts(&loss), [0, 0, 1, 0]);
    assert_eq!(loss.first.as_deref(), Some("/t/d/file is 1024 bytes longer than it ever was"));
    for later in [Change::Size { node: 1, bytes: 1536 }, Change::Size { node: 1, bytes: 100 }] {
        let at_ns = scene.add(later);
        assert_eq!(counts(&scene.loss(at_ns, &[(FILE, &longer)])), [0; 4]);
    }
}
