use crate::{catalogue, draw, load};

#[test]
fn a_fixed_device_shows_its_head_and_its_latencies() {
    let text = r#"
name = "fixed"
title = "Fixed latency"
kind = "fixed"
[presented]
sectors = 2097152
physical_block = 4096
queue_depth = 4
max_request_kib = 128
[fixed]
read_latency_us = 100
write_latency_us = 50
mb_per_s = 512
parallel = 4
[sources]
presented = "test"
fixed = "test"
[ranges]
"fixed.parallel" = [1, 8]
"#;
    insta::assert_snapshot!(draw(&load(text).unwrap()), @r"
    fixed
    Fixed latency

      capacity         1 GiB
      blocks           512 logical, 4096 physical
      queue depth      4
      longest request  128 KiB
      write cache      write through
      uncertain        1 value has a range

    random reads: mean latency in ms
         size  depth 1  depth 2  depth 4
        512 B    0.101    0.101    0.101
        4 KiB    0.108    0.108    0.108
       16 KiB    0.132    0.132    0.133
       64 KiB    0.228    0.256    0.510
      128 KiB    0.356    0.512    1.016

      No source has percentiles of this device's reads. In its model all reads of
      one size take the same time when nothing else runs, so that the 99th
      percentile is near the median.
    ");
}

#[test]
fn a_device_whose_reads_have_a_tail_or_published_percentiles_has_no_remark_on_them() {
    let shown = |name: &str| draw(&catalogue().unwrap()[name]);
    assert!(shown("ssd-nvme-512gb").contains("No source has percentiles"));
    assert!(!shown("ssd-nvme-3840gb-plp").contains("No source has percentiles"));
    assert!(!shown("sata-500gb-7200").contains("No source has percentiles"));
}

#[test]
fn pictures_and_tables_fit_80_columns() {
    for name in ["wd-raptor-wd740gd", "ssd-nvme-512gb", "usb2-stick-512mb", "fixed"] {
        let text = draw(&catalogue().unwrap()[name]);
        let wide = text.lines().skip(2).find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{name}");
    }
}
