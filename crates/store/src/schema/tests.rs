use super::*;

#[test]
fn the_tables_and_views_of_a_run_file_are_known_by_name() {
    let names: Vec<&str> = statements().map(|(name, _)| name).collect();
    let tables =
        ["meta", "candidate", "prefix", "attempt", "metric_name", "metric_block", "verdict"];
    for name in tables.iter().chain(&["metric", "last_attempt", "value"]) {
        assert!(names.contains(name), "{name}: {names:?}");
    }
}

#[test]
fn what_a_run_file_has_is_no_problem_and_what_stands_for_it_is() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(BEFORE_THE_TRIALS).unwrap();
    connection.execute_batch(TRIALS).unwrap();
    assert_eq!(problem(&connection).unwrap(), None);
    // Views and tables that a person added are never read.
    connection.execute_batch("CREATE VIEW mine AS SELECT 1; CREATE TABLE notes (text)").unwrap();
    assert_eq!(problem(&connection).unwrap(), None);

    let told = |change: &str| {
        let copy = Connection::open_in_memory().unwrap();
        copy.execute_batch(BEFORE_THE_TRIALS).unwrap();
        copy.execute_batch(TRIALS).unwrap();
        copy.execute_batch(change).unwrap();
        problem(&copy).unwrap()
    };
    let endless =
        "AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n";
    for (change, words) in [
        (
            format!("DROP VIEW last_attempt; CREATE VIEW last_attempt {endless}"),
            "its view `last_attempt` is not the one that Seekwell writes",
        ),
        (
            format!("DROP TABLE attempt; CREATE VIEW Attempt {endless}"),
            "its view `Attempt` is not the one that Seekwell writes",
        ),
        (
            "CREATE TRIGGER late AFTER DELETE ON verdict BEGIN SELECT 1; END".to_owned(),
            "it has the trigger `late`, which no run file has",
        ),
    ] {
        assert_eq!(told(&change).as_deref(), Some(words), "{change}");
    }
    let virtual_table =
        problem_of("table", "attempt", "CREATE VIRTUAL TABLE attempt USING fts5(a)");
    assert!(virtual_table.is_some());
}
