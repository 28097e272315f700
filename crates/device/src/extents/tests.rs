use super::ExtentMap;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Update(u64, u64, u32),
    Remove(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0_u64..60, 1_u64..20);
    prop_oneof![
        3 => (range.clone(), 0_u32..9).prop_map(|((start, length), value)| Step::Update(start, start + length, value)),
        1 => range.prop_map(|(start, length)| Step::Remove(start, start + length)),
    ]
}

/// One cell per sector: what the map must be equal to.
fn expand(map: &ExtentMap<Vec<u32>>) -> Vec<Option<Vec<u32>>> {
    let mut cells = vec![None; 80];
    for (range, value) in map.iter() {
        assert!(range.start < range.end);
        for sector in range {
            assert!(cells[sector as usize].is_none(), "two extents share sector {sector}");
            cells[sector as usize] = Some(value.clone());
        }
    }
    cells
}

proptest! {
    #[test]
    fn equals_an_array_of_cells(steps in prop::collection::vec(step(), 1..40), probe in (0_u64..70, 0_u64..10)) {
        let mut map = ExtentMap::default();
        let mut cells: Vec<Option<Vec<u32>>> = vec![None; 80];
        for step in steps {
            match step {
                Step::Update(start, end, value) => {
                    map.update(start..end, |old| {
                        let mut layers: Vec<u32> = old.unwrap_or_default();
                        layers.push(value);
                        layers
                    });
                    for cell in &mut cells[start as usize..end as usize] {
                        cell.get_or_insert_default().push(value);
                    }
                }
                Step::Remove(start, end) => {
                    let mut taken: Vec<Option<Vec<u32>>> = vec![None; 80];
                    for (range, value) in map.remove(start..end) {
                        prop_assert!(start <= range.start && range.end <= end);
                        taken[range.start as usize..range.end as usize].fill(Some(value));
                    }
                    for sector in start as usize..end as usize {
                        prop_assert_eq!(&taken[sector], &cells[sector]);
                        cells[sector] = None;
                    }
                }
            }
            prop_assert_eq!(&expand(&map), &cells);
            prop_assert_eq!(map.sectors(), cells.iter().flatten().count() as u64);
        }
        let (start, length) = probe;
        let range = start..start + length;
        let inside = &cells[start as usize..(start + length) as usize];
        prop_assert_eq!(map.covers(range.clone()), inside.iter().all(Option::is_some));
        let touched: Vec<_> = map.iter().filter(|(e, _)| e.start < range.end && range.start < e.end).map(|(e, _)| e).collect();
        if length > 0 {
            let overlapping: Vec<_> = map.overlapping(range).map(|(extent, _)| extent).collect();
            prop_assert_eq!(overlapping, touched);
        }
        prop_assert_eq!(map.at(start).map(|(_, value)| value), cells[start as usize].as_ref());
    }
}
