use super::*;
use std::path::PathBuf;

#[test]
fn the_command_that_runs_a_lab_keeps_place_model_devices_and_programs() {
    let again = |options: &Options| run_again(Path::new("my lab.toml"), options);
    assert_eq!(again(&Options::of("host")), "seekwell run 'my lab.toml' -o NEW.seekwell");
    let device = Options { device: Some("loop:1GiB".to_owned()), ..Options::of("host") };
    assert_eq!(again(&device), "seekwell run 'my lab.toml' --device loop:1GiB -o NEW.seekwell");
    let model = Options {
        model: Some("ssd-sata-250gb".to_owned()),
        bring: vec![PathBuf::from("/usr/bin/git")],
        ..Options::of("virtual")
    };
    assert_eq!(
        again(&model),
        "seekwell run 'my lab.toml' --place virtual --bring /usr/bin/git --model ssd-sata-250gb -o NEW.seekwell"
    );
    let on = ["sata-2tb-5400", "ssd-sata-250gb"].map(str::to_owned).to_vec();
    let price = "ssd-sata-250gb=45".parse().unwrap();
    let on = Options { on, prices: vec![price], ..Options::of("virtual") };
    assert_eq!(
        again(&on),
        "seekwell run 'my lab.toml' --place virtual --on sata-2tb-5400 --on ssd-sata-250gb --price ssd-sata-250gb=45 -o NEW.seekwell"
    );
}
