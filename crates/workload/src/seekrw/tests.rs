use super::*;

const SPAN: Span = Span { offset: 0, length: 64 << 10 };

#[test]
fn a_page_is_read_once_and_neighbours_of_one_access_together() {
    assert_eq!(pages_touched([0, 512, 4096, 0].into_iter(), 512, SPAN), 2);
    assert_eq!(pages_touched([0, 8192].into_iter(), 8192, SPAN), 2);
    // The middle page is there already: two requests around it.
    assert_eq!(pages_touched([4096, 0].into_iter(), 4096, SPAN), 2);
    assert_eq!(pages_touched([4096, 0].into_iter(), 12_288, SPAN), 2);
}

#[test]
fn an_access_over_the_border_of_extents_takes_two_requests() {
    let piece = |logical, length| Extent { logical, physical: 1 << 30, length, unwritten: false };
    let pieces = [piece(0, 8192), piece(8192, 4096), piece(12_288, 4096)];
    assert_eq!(pieces_touched(&pieces, 0, 512), 1);
    assert_eq!(pieces_touched(&pieces, 4096, 4096), 1);
    assert_eq!(pieces_touched(&pieces, 4096, 8192), 2);
    assert_eq!(pieces_touched(&pieces, 0, 16_384), 3);
    assert_eq!(pieces_touched(&[], 0, 512), 1);
}
