use super::*;
use seekwell_model::lab::Effort;
use seekwell_model::stack::Device;

#[test]
fn a_price_goes_to_every_variant_of_its_device_and_to_no_other() {
    let device = seekwell_fixtures::device();
    let named = |name: &str, base: &str, model: &str| Device {
        name: name.to_owned(),
        base: base.to_owned(),
        backing: Backing::Model { model: model.to_owned(), size: None, start: None },
        ..device.clone()
    };
    let mut lab = seekwell_fixtures::lab("unpack.elapsed", Effort::Rounds(6), vec![]);
    lab.devices = vec![
        named("old[nr_requests=4]", "old", "hdd-8tb-7200"),
        named("old[nr_requests=64]", "old", "hdd-8tb-7200"),
        named("new", "new", "ssd-sata-250gb,ssd.flush_us=500"),
    ];
    let given = |text: &str| vec![text.parse::<Price>().unwrap()];
    set(&mut lab, &given("ssd-sata-250gb,ssd.flush_us=500=45")).unwrap();
    set(&mut lab, &given("old=160")).unwrap();
    let prices: Vec<Option<u32>> = lab.devices.iter().map(|device| device.price).collect();
    assert_eq!(prices, [Some(160), Some(160), Some(45)]);
    assert_eq!(
        set(&mut lab, &given("older=1")).unwrap_err().to_string(),
        "--price older=1: the lab has no device 'older'; its devices are old, new"
    );
    let twice = [given("new=45"), given("new=54")].concat();
    assert_eq!(
        set(&mut lab, &twice).unwrap_err().to_string(),
        "--price new=54: 'new' has a price already; give each device one"
    );
}

#[test]
fn a_price_is_a_device_and_a_whole_number_above_0() {
    for wrong in ["ssd", "ssd=", "=45", "ssd=0", "ssd=-3", "ssd=4.5"] {
        assert!(wrong.parse::<Price>().is_err(), "{wrong}");
    }
    let price: Price = "ssd=45".parse().unwrap();
    assert_eq!((price.to_string(), price.price), ("ssd=45".to_owned(), 45));
}
