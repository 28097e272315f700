//! Injected causes: devices made worse in one law, drawn by seed, and the law that the attribution of
//! `seekwell why` names first. `causes [CASES]` prints a line of CSV per case.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the bench prints its results"
)]

mod injected;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cases = std::env::args().nth(1).map_or(Ok(200), |word| word.parse())?;
    println!("{}", injected::HEAD);
    let mut right = 0;
    for number in 0..cases {
        let case = injected::case(number)?;
        right += u32::from(case.is_right());
        println!("{case}");
    }
    eprintln!("the injected law is named first in {right} of {cases} cases");
    Ok(())
}
