use super::*;
use crate::fixture;

#[test]
fn one_row_per_trial_step_and_metric() {
    let text = csv(&fixture::winner());
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some("trial,round,stack,workload,status,step,metric,unit,value,stage,reason")
    );
    assert_eq!(lines.next(), Some("0,0,ext4/none,mail,ok,mkfs,elapsed_durable,s,0.05,,"));
    assert_eq!(lines.next(), Some("0,0,ext4/none,mail,ok,unpack,elapsed_durable,s,0.731,,"));
    assert_eq!(text.matches("\r\n").count(), 1 + 24 * 5);
    assert!(text.ends_with("\r\n"));
}

#[test]
fn a_failed_trial_has_one_row_with_its_reason() {
    let mut view = fixture::winner();
    view.plan.stacks[0].label = "a,\"b\"".to_owned();
    view.records[0].1.steps.clear();
    view.records[0].1.status =
        Status::Failed { stage: "mkfs".to_owned(), reason: "no space\nleft".to_owned() };
    let text = csv(&view);
    let first = text.split("\r\n").nth(1);
    assert_eq!(first, Some("0,0,\"a,\"\"b\"\"\",mail,failed,,,,,mkfs,\"no space\nleft\""));
}

#[test]
fn values_keep_all_their_digits() {
    let mut view = fixture::winner();
    view.records[0].1.steps[0].metrics.insert("iops".to_owned(), 0.1 + 0.2);
    assert!(csv(&view).contains(",iops,/s,0.30000000000000004,"));
}

/// Records of RFC 4180, read the way a spreadsheet does.
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (vec![], vec![], String::new());
    let (mut quoted, mut rest) = (false, text.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted && rest.peek() == Some(&'\n') => {
                rest.next();
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(!quoted && row.is_empty() && cell.is_empty(), "the last record does not end");
    rows
}

#[test]
fn hostile_text_stays_one_cell_that_nothing_computes() {
    let corpus = include_str!("../../../../testdata/hostile.json");
    let mut texts: Vec<String> = serde_json::from_str(corpus).expect("a list of texts");
    assert!(texts.len() >= 200);
    let formulas =
        ["=1+1", "+1", "-1", "@SUM(A1)", "|calc", "\t=1", "\r=1", "\n=1", "  =1", "'=1", "''"];
    let quotes =
        ["\"", "\"\"", "a\",\"b", "a\r\nb", "a\nb", ",", ";", "\"=1\"", "=\"a\"&\"b\"\r\n"];
    texts.extend(formulas.iter().chain(&quotes).map(|text| (*text).to_owned()));
    for text in &texts {
        let mut view = fixture::winner();
        view.plan.stacks[0].label.clone_from(text);
        view.plan.workloads[0].name.clone_from(text);
        view.records[0].1.steps[0].name.clone_from(text);
        view.records[0].1.status = Status::Failed { stage: text.clone(), reason: text.clone() };
        let rows = cells(&csv(&view));
        assert_eq!(rows.len(), 1 + 24 * 5, "{text:?}");
        for row in &rows {
            assert_eq!(row.len(), HEADER.len(), "{text:?}: {row:?}");
            for (cell, column) in row.iter().zip(HEADER) {
                let first = cell.trim_start().chars().next();
                let number = column == "value" && cell.parse::<f64>().is_ok();
                let computed = matches!(first, Some('=' | '+' | '-' | '@' | '|'));
                assert!(!computed || number, "{text:?}: {cell:?}");
                assert!(!cell.starts_with(['\t', '\r', '\n']), "{text:?}: {cell:?}");
            }
        }
        // Nothing is lost: without the apostrophe in front a cell is the text.
        for cell in [2, 3, 5, 9, 10].map(|column| &rows[1][column]) {
            let own = if cell == text { text } else { cell.strip_prefix('\'').unwrap_or(cell) };
            assert_eq!(own, text);
        }
    }
}
