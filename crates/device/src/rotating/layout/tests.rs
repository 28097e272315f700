use super::{Layout, Place, Skew, even_bands};
use proptest::prelude::*;

const TURN_NS: u64 = 8_333_333;

/// The places of all sectors, found by walking over the disk sector by sector.
fn walk(layout: &Layout) -> Vec<Place> {
    let mut places = Vec::new();
    for zone in &layout.zones {
        let per_track = zone.sectors_per_track;
        let mut first_slot = 0;
        for cylinder in 0..zone.cylinders {
            for head in 0..layout.heads {
                for sector in 0..per_track {
                    let slot = (first_slot + sector) % per_track;
                    places.push(Place {
                        cylinder: zone.first_cylinder + cylinder,
                        head,
                        sector,
                        sectors_per_track: per_track,
                        slot,
                        angle_ns: u64::from(slot) * TURN_NS / u64::from(per_track),
                    });
                }
                let is_last = head + 1 == layout.heads;
                first_slot += if is_last { zone.cylinder_skew } else { zone.track_skew };
                first_slot %= per_track;
            }
        }
    }
    places
}

pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
    let bands = prop::collection::vec((1_u32..6, 4_u32..40), 1..5);
    (bands, 1_u32..5, 0_u64..TURN_NS, 0_u64..TURN_NS).prop_map(
        |(bands, heads, track_ns, cylinder_ns)| {
            let bands: Vec<[u32; 2]> = bands.into_iter().map(|(c, s)| [c, s]).collect();
            Layout::new(&bands, heads, TURN_NS, Skew { track_ns, cylinder_ns })
        },
    )
}

proptest! {
    #[test]
    fn places_equal_a_walk_over_the_disk(layout in layouts()) {
        let places = walk(&layout);
        prop_assert_eq!(layout.sectors(), places.len() as u64);
        prop_assert_eq!(layout.cylinders(), places.last().unwrap().cylinder + 1);
        for (lba, place) in (0..).zip(&places) {
            prop_assert_eq!(layout.place(lba), *place);
        }
    }

    #[test]
    fn even_bands_hold_the_capacity_and_not_much_more(
        sectors in 1000_u64..10_000_000, heads in 1_u32..9, bands in 1_u32..20, inner in 10_u32..500, more in 0_u32..500,
    ) {
        let outer = inner + more;
        let zones = even_bands(sectors, heads, bands, outer, inner).unwrap();
        let held: u64 = zones.iter().map(|[c, s]| u64::from(*c) * u64::from(heads) * u64::from(*s)).sum();
        prop_assert!(held >= sectors);
        let one_more_each: u64 = zones.iter().map(|[_, s]| u64::from(heads) * u64::from(*s)).sum();
        prop_assert!(held - sectors < one_more_each);
        if bands > 1 {
            prop_assert_eq!((zones[0][1], zones[zones.len() - 1][1]), (outer, inner));
        }
    }
}
