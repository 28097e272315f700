use super::{HeadOrder, Layout, Place, Skew, ZoneParameters, even_bands};
use proptest::prelude::*;

const TURN_NS: u64 = 8_333_333;

/// The places of all sectors that have an address, found by walking over the disk sector by sector.
fn walk(layout: &Layout, given: &[ZoneParameters]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (zone, given) in layout.zones.iter().zip(given) {
        let per_track = zone.sectors_per_track;
        let per_cylinder = u64::from(layout.heads * per_track);
        let part = given.spare_every_cylinders.unwrap_or(zone.cylinders);
        let mut first_slot = 0;
        let (mut number, mut in_part) = (0_u64, 0_u64);
        for cylinder in 0..zone.cylinders {
            for nth in 0..layout.heads {
                let odd = match layout.order {
                    HeadOrder::Straight => false,
                    HeadOrder::Serpentine => (zone.first_cylinder + cylinder) % 2 == 1,
                    HeadOrder::SerpentineByZone => cylinder % 2 == 1,
                };
                let head = if odd { layout.heads - 1 - nth } else { nth };
                let track_start = places.len();
                for sector in 0..per_track {
                    let slot = (first_slot + sector) % per_track;
                    let front = given.unused_front_sectors;
                    if number >= front
                        && (number - front).is_multiple_of(u64::from(part) * per_cylinder)
                    {
                        in_part = 0;
                    }
                    let room = if given.spare_every_cylinders.is_some() {
                        u64::from(part) * per_cylinder - given.spare_sectors
                    } else {
                        zone.sectors
                    };
                    let used = number >= front && !given.slips.contains(&number) && in_part < room;
                    if used {
                        in_part += 1;
                        places.push(Place {
                            cylinder: zone.first_cylinder + cylinder,
                            head,
                            sector,
                            sectors_per_track: per_track,
                            slot,
                            angle_ns: u64::from(slot) * TURN_NS / u64::from(per_track),
                            run: 0,
                        });
                    }
                    number += 1;
                }
                runs(&mut places[track_start..]);
                let is_last = nth + 1 == layout.heads;
                first_slot += if is_last { zone.cylinder_skew } else { zone.track_skew };
                first_slot %= per_track;
            }
        }
    }
    places
}

/// Fills in how many sectors follow one another on a track.
fn runs(track: &mut [Place]) {
    let mut next = None;
    for place in track.iter_mut().rev() {
        place.run = match next {
            Some((sector, run)) if sector == place.sector + 1 => run + 1,
            _ => 1,
        };
        next = Some((place.sector, place.run));
    }
}

fn zone() -> impl Strategy<Value = ZoneParameters> {
    let plain = (1_u32..6, 4_u32..40).prop_map(ZoneParameters::plain_pair);
    let gaps = (0_u64..4, 0_u64..4, prop::collection::vec(0_u64..60, 0..3), 0_u32..3, 0_u32..9);
    prop_oneof![
        plain.clone(),
        (plain, gaps).prop_map(|(plain, (front, spares, slips, every, skew))| {
            let split = every > 0 && plain.cylinders.is_multiple_of(every);
            // Parts of their own need room for their bad sectors among their spares; three at most here.
            ZoneParameters {
                unused_front_sectors: if split || plain.sectors_per_track < 12 { 0 } else { front },
                spare_sectors: if split { 3 } else { spares },
                spare_every_cylinders: split.then_some(every),
                slips: if plain.sectors_per_track >= 8 { slips } else { Vec::new() },
                track_skew_sectors: Some(skew % plain.sectors_per_track),
                ..plain
            }
        })
    ]
}

impl ZoneParameters {
    fn plain_pair(pair: (u32, u32)) -> Self {
        Self::plain([pair.0, pair.1])
    }
}

fn layouts_with_zones() -> impl Strategy<Value = (Layout, Vec<ZoneParameters>)> {
    let zones = prop::collection::vec((zone(), 0_u32..3), 1..5);
    let order = prop_oneof![
        Just(HeadOrder::Straight),
        Just(HeadOrder::Serpentine),
        Just(HeadOrder::SerpentineByZone)
    ];
    (zones, 1_u32..5, 0_u64..TURN_NS, 0_u64..TURN_NS, order).prop_map(
        |(zones, heads, track_ns, cylinder_ns, order)| {
            let mut next = 0;
            let mut given = Vec::new();
            for (mut zone, gap) in zones {
                zone.first_cylinder = (gap > 0).then_some(next + gap);
                next = zone.first_cylinder.unwrap_or(next) + zone.cylinders;
                given.push(zone);
            }
            let skew = Skew { track_ns, cylinder_ns };
            (Layout::new(&given, heads, TURN_NS, skew, order), given)
        },
    )
}

pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
    layouts_with_zones().prop_map(|(layout, _)| layout)
}

proptest! {
    #[test]
    fn places_equal_a_walk_over_the_disk((layout, given) in layouts_with_zones()) {
        let places = walk(&layout, &given);
        prop_assert_eq!(layout.sectors(), places.len() as u64);
        for (lba, place) in (0..).zip(&places) {
            prop_assert_eq!(layout.place(lba), *place);
            let on_track = |other: &&Place| (other.cylinder, other.head) == (place.cylinder, place.head);
            let behind = places[lba as usize..].iter().take_while(on_track).count() as u64;
            prop_assert_eq!(layout.track_end(lba), lba + behind);
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
