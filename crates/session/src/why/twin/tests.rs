use super::*;
use crate::machine::Machine;
use seekwell_model::units::Bytes;

const LAB: &str = r#"
[[device]]
loop = "1GiB"
[[filesystem]]
type = "ext4"
[[workload]]
kind = "mail"
files = 100
[judge]
metric = "unpack.elapsed"
"#;

fn session(root: &Path) -> Session {
    Session::new(Machine {
        system: System::rooted_at(root),
        program: root.join("seekwell"),
        state: root.to_owned(),
        kernels: Some(root.join("kernels")),
        folders: vec![root.to_owned()],
        temporary: root.to_owned(),
    })
}

/// A run of [`LAB`] on this backing.
fn plan(backing: Backing) -> Plan {
    let lab = seekwell_spec::read_lab(LAB, "twin.toml").unwrap();
    let mut stack = seekwell_fixtures::named_stack("ext4");
    stack.device.backing = backing;
    seekwell_fixtures::plan(lab, vec![stack], 2)
}

fn image() -> Backing {
    seekwell_fixtures::device().backing
}

fn prepared(model: Option<&str>, plan: &Plan) -> Result<Twin, SessionError> {
    let root = tempfile::tempdir().unwrap();
    let session = session(root.path());
    let asked = AskedTwin { session: &session, model, jobs: None };
    asked.prepare(plan, root.path()).map(|prepared| prepared.twin)
}

#[test]
fn a_word_of_the_atlas_or_a_model_is_the_users_choice() {
    for (word, model) in [("hdd", "sata-2tb-7200"), ("maxtor-6y080l0", "maxtor-6y080l0")] {
        let twin = prepared(Some(word), &plan(image())).unwrap();
        assert_eq!((twin.model.as_str(), twin.nearest_to.as_str()), (model, ""));
        // No kernel is there: the twin says so, and the run on the machine itself can be explained all the same.
        let reason = twin.impossible.unwrap();
        assert!(reason.starts_with("no lab kernel of this version"), "{reason}");
    }
}

#[test]
fn a_model_that_does_not_exist_is_refused_before_any_trial() {
    let wrong = prepared(Some("hddd"), &plan(image())).unwrap_err();
    assert!(wrong.to_string().starts_with("modelled device '"), "{wrong}");
}

#[test]
fn images_in_memory_or_on_an_unknown_disk_have_no_nearest_model() {
    let in_memory = Backing::Ram { size: Bytes::mib(64), sector: Bytes(512) };
    let reason = |backing| prepared(None, &plan(backing)).unwrap().impossible.unwrap();
    assert_eq!(reason(in_memory), "the images of this run are in memory");
    let unknown = reason(image());
    assert!(
        unknown.ends_with("is unknown; name a model with --twin=MODEL, such as --twin=ssd"),
        "{unknown}"
    );
}
