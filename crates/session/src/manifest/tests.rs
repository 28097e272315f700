use super::*;

fn manifest_of(lab: &str) -> Result<String, SessionError> {
    let pods = InCluster {
        image: "seekwell:1".to_owned(),
        workers: 2,
        claim: Some("shared".to_owned()),
        storage_class: None,
        options: vec![],
    };
    manifest(&LabText::new("lab.toml", lab), pods)
}

const LAB: &str = r#"
[lab]
name = "Mail, here"
[[device]]
name = "disk"
model = "maxtor-6y080l0"
[[filesystem]]
type = "ext4"
[[workload]]
kind = "mail"
files = 60
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

#[test]
fn the_text_of_the_lab_is_in_the_manifest_as_it_is() {
    let yaml = manifest_of(LAB).unwrap();
    let indented: String = LAB
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") })
        .collect();
    assert!(yaml.contains(&format!("  lab.toml: |2+\n{indented}")), "{yaml}");
    assert!(yaml.contains("name: seekwell-mail-here\n"), "{yaml}");
    assert!(!yaml.contains("PersistentVolumeClaim"), "the claim is there already: {yaml}");
}

#[test]
fn a_lab_that_names_files_is_refused() {
    let message = |lab: &str| manifest_of(lab).unwrap_err().to_string();
    let device = message(&LAB.replace("maxtor-6y080l0", "mine/disk.toml@sata"));
    assert_eq!(
        device,
        "the lab names the file mine/disk.toml, and a manifest holds the text of the lab alone; use a device from \
         seekwell device list, or add the file to the image and run the lab there"
    );
    let wrong = message("[lab]\n");
    assert!(wrong.contains("lab.toml"), "{wrong}");
}
