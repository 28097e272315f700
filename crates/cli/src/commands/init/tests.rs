use super::*;
use std::io::Cursor;

/// Answers typed line by line; what was said, and what came of it.
fn typed(lines: &str, again: bool, given: [Option<&str>; 6]) -> (String, Result<Answers, Failure>) {
    let mut said = Vec::new();
    let mut asker = Asker {
        input: Cursor::new(lines.as_bytes().to_vec()),
        output: &mut said,
        again,
        defaults: false,
    };
    let answers = asker.answers(given);
    (String::from_utf8(said).unwrap(), answers)
}

#[test]
fn six_questions_are_asked_in_order_and_enter_takes_the_default() {
    let (said, answers) = typed("\n\n\n\n\n\n", true, [None; 6]);
    let defaults = QUESTIONS.map(|question| question.default.to_owned());
    assert_eq!(answers.unwrap(), Answers::from_list(defaults));
    let mut rest = said.as_str();
    for question in QUESTIONS {
        let at = rest.find(question.text).expect(question.text);
        rest = &rest[at..];
    }
    assert!(said.contains("  1 mail"), "{said}");
}

/// Through the scripted terminal: every choice by its number, and the lab that comes of it.
#[test]
fn every_choice_typed_by_number_becomes_a_lab_that_can_be_read() {
    for (position, question) in QUESTIONS.iter().enumerate() {
        for number in 1..=question.choices.len() {
            let mut lines = vec![String::new(); 6];
            lines[position] = number.to_string();
            let (_, answers) = typed(&(lines.join("\n") + "\n"), true, [None; 6]);
            let text = draft::lab_text("mine", &answers.unwrap(), draft::FRUGALITIES[0], None);
            assert!(seekwell_spec::read_lab(&text, "mine.toml").is_ok(), "{text}");
        }
    }
}

#[test]
fn a_wrong_answer_is_asked_again_where_somebody_is_and_refused_elsewhere() {
    let given = [None, Some("scratch"), Some("ext4"), Some("nothing"), Some("waiting"), Some("1h")];
    let (said, answers) = typed("maill\nlog\n", true, given);
    assert_eq!(answers.unwrap().runs, "log");
    assert!(said.contains("'maill' is not an answer; answer mail"), "{said}");
    let (_, answers) = typed("maill\nlog\n", false, given);
    assert!(matches!(answers, Err(Failure::Usage(text)) if text.contains("'maill'")));
}

#[test]
fn a_word_that_is_no_choice_is_an_answer_where_the_asker_takes_it() {
    let ask = |takes: &dyn Fn(&str) -> bool| {
        let input = Cursor::new(b"postgres \n".to_vec());
        let mut asker = Asker { input, output: Vec::new(), again: false, defaults: false };
        asker.ask(&draft::VARY, takes, "")
    };
    assert_eq!(ask(&|word| word == "postgres").unwrap(), "postgres");
    assert!(matches!(ask(&|_| false), Err(Failure::Usage(text)) if text.contains("'postgres'")));
}

#[test]
fn answers_that_end_too_early_name_the_flag() {
    let (_, answers) = typed("mail\n", false, [None; 6]);
    assert!(matches!(answers, Err(Failure::Usage(text)) if text.contains("--device ANSWER")));
}

#[test]
fn the_first_that_fits_its_time_is_drafted_else_the_shortest() {
    assert_eq!(first_within(&[Some(300), Some(90), Some(80)], 100), 1);
    assert_eq!(first_within(&[Some(300), Some(200), Some(180)], 100), 2);
    // What cannot be predicted is drafted whole.
    assert_eq!(first_within(&[None, Some(90)], 100), 0);
}
