use super::*;
use crate::fixture;
use crate::program::{STYLE, STYLE_HASH};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seekwell_model::record::{Sample, Status};
use seekwell_model::stack::{Backing, Overlay, WriteBack};
use seekwell_model::units::Bytes;
use seekwell_model::warning::Warning;
use sha2::{Digest, Sha256};

/// The page as it is without `make web`, with nothing of a run file inside.
fn html(view: &RunView) -> String {
    page(view, Inside::Nothing, None)
}

fn page(view: &RunView, inside: Inside, program: Option<&Program>) -> String {
    page_with(view, inside, &[], program)
}

/// The same with bytes of a run file.
fn page_with(view: &RunView, inside: Inside, run: &[u8], program: Option<&Program>) -> String {
    let trials = PageTrials::for_page(program.is_none()).with(view);
    super::page(view, &trials, "demo.seekwell", inside, program).text(run)
}

/// A page with a program, of which a test knows the text.
const PROGRAM: Program = Program {
    text: "document.title",
    hash: "sha256-program",
    style: "p{margin:0}",
    style_hash: "sha256-style",
};

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[test]
fn the_policy_allows_exactly_this_style_sheet() {
    assert_eq!(STYLE_HASH, hash(STYLE));
    let page = html(&fixture::winner());
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{STYLE_HASH}'; base-uri 'none'; form-action 'none'\">"
    );
    assert!(page.contains(&policy));
    assert!(page.contains(&format!("<style>{STYLE}</style>")));
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
}

#[test]
fn the_policy_allows_exactly_this_program() {
    let page = page(&fixture::winner(), Inside::Nothing, Some(&PROGRAM));
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-style'; script-src 'sha256-program'; base-uri 'none'; form-action 'none'\">"));
    assert!(page.contains("<style>p{margin:0}</style>"));
    assert!(page.ends_with("</main>\n<script>document.title</script>\n</body>\n</html>\n"));
    if let Some(built) = crate::program::PROGRAM.as_ref() {
        assert_eq!(built.hash, hash(built.text));
        assert_eq!(built.style_hash, hash(built.style));
        assert!(built.style.starts_with(STYLE));
        assert!(!built.style.contains("url(") && !built.style.contains("@import"));
    }
}

#[test]
fn a_page_gives_its_run_file_back() {
    // Every byte occurs, nothing repeats, and it is longer than any buffer.
    let mut state = 1_u32;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    let file: Vec<u8> = (0..300_000).map(|_| byte()).collect();
    let view = with_everywhere(WHOLE_ELEMENT);
    let whole = page_with(&view, Inside::Whole(300_000), &file, Some(&PROGRAM));
    assert_eq!(extract(&whole).expect("a run file"), file);
    structure(&whole);

    let lean = page_with(&view, Inside::WithoutTimelines(300_000), &file, None);
    let told = |page: &str| extract(page).expect_err("nothing to extract").to_string();
    assert!(told(&lean).starts_with("the page was written with --lean"), "{}", told(&lean));
    assert!(lean.contains("written with --lean"));
    assert!(told(&html(&view)).starts_with("not a report that contains its run file"));
    assert!(told("<p>").starts_with("not a report"));

    let begin = whole.find(WHOLE_ELEMENT).expect("the element") + WHOLE_ELEMENT.len();
    let cut = &whole[..begin + 1_000];
    assert_eq!(
        told(cut),
        "the run file inside the page is damaged (it ends early); get another copy of the page"
    );
    let letter = |at: usize| if whole.as_bytes()[at] == b'A' { "B" } else { "A" };
    for at in [begin, begin + 10, begin + 1_000, begin + 100_000] {
        let changed = [&whole[..at], letter(at), &whole[at + 1..]].concat();
        assert!(extract(&changed).map_or(true, |bytes| bytes == file), "at {at}");
    }
}

const WHOLE_ELEMENT: &str = "<script type=\"application/x-seekwell-run\" id=\"run\">";

/// Tags in order, each with the names of its attributes; panics on what is not well formed.
fn structure(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>\n").expect("a doctype");
    while let Some(at) = rest.find('<') {
        let (tag, after) = read_tag(&rest[at..]);
        rest = after;
        let name = tag.split(' ').next().unwrap_or_default().to_owned();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{tags:?}");
        } else if !tag.ends_with('/') && name != "meta" {
            open.push(name.clone());
        }
        // Text that browsers do not read as markup.
        if name == "style" || name == "script" {
            let end = rest.find("</").expect("an end");
            assert!(rest[end + 2..].starts_with(&name), "the data ends early");
            rest = &rest[end..];
        }
        tags.push(tag);
    }
    assert_eq!(open, Vec::<String>::new());
    tags
}

/// One tag as its name and the names of its attributes, and what follows it.
fn read_tag(text: &str) -> (String, &str) {
    let end = |text: &str| text.find([' ', '>', '=']).expect("a name");
    let mut rest = &text[1..];
    let cut = end(rest);
    let mut tag = rest[..cut].to_owned();
    rest = &rest[cut..];
    while let Some(attribute) = rest.strip_prefix(' ') {
        let cut = end(attribute);
        tag.push(' ');
        tag.push_str(&attribute[..cut]);
        let value = attribute[cut..].strip_prefix("=\"").expect("a quoted value");
        let close = value.find('"').expect("a closing quote");
        rest = &value[close + 1..];
    }
    if let Some(after) = rest.strip_prefix("/>") {
        return (tag + "/", after);
    }
    (tag, rest.strip_prefix('>').expect("the end of a tag"))
}

/// Strings that broke pages before: markup, scripts, entities, encodings, directions, lengths.
fn hostile() -> Vec<String> {
    let bases = [
        "<script>alert(1)</script>",
        "</script><script>alert(1)</script>",
        "</style><img src=x onerror=alert(1)>",
        "<img src=x onerror=\"alert(1)\">",
        "\"><svg onload=alert(1)>",
        "' onmouseover='alert(1)",
        "\" style=\"position:fixed;inset:0",
        "`onload=alert(1)`",
        "javascript:alert(1)",
        "<!--",
        "--><b>",
        "<![CDATA[",
        "]]>",
        "&lt;script&gt;",
        "&#60;script&#62;",
        "&amp;&quot;&apos;",
        "<a href=//example.com>x</a>",
        "<link rel=stylesheet href=//example.com>",
        "<meta http-equiv=refresh content=0>",
        "<base href=//example.com>",
        "<iframe srcdoc='<script>'>",
        "</title><h1>",
        "</main></body></html>",
        "<plaintext>",
        "<textarea>",
        "\u{202e}txet desrever",
        "\u{2028}\u{2029}",
        "\u{0}\u{1}\u{8}\u{1b}[31m",
        "\n\r\n\t",
        "\\u003cscript\\u003e",
        "\\\"},{\"a\":\"",
        "{{constructor.constructor('alert(1)')()}}",
        "${alert(1)}",
        "%3Cscript%3E",
        "\u{ff1c}script\u{ff1e}",
        "e\u{301}\u{301}\u{301}\u{301}",
        "👩‍👩‍👧‍👦",
        "null",
        "",
        "   ",
        "=cmd|' /C calc'!A0",
    ];
    let long = "x".repeat(5_000);
    let mut all: Vec<String> = bases.iter().map(|base| (*base).to_owned()).collect();
    all.push(long);
    for base in bases {
        all.push(format!("a/{base}/b"));
        all.push(base.to_uppercase());
        all.push(base.repeat(3));
        all.push(format!("{base}\u{feff}{base}"));
    }
    all
}

/// A run that has `text` in every field that comes from outside.
fn with_everywhere(text: &str) -> RunView {
    let mut view = fixture::winner();
    let text = || text.to_owned();
    view.backend = text();
    view.environment = serde_json::json!({
        "kernel": text(), "cpu": text(), "ram": text(), "uncontrolled": [text()], text(): text(),
    });
    view.plan.lab.name = text();
    view.plan.lab.question = text();
    view.plan.workloads[0].name = text();
    view.plan.left_out = fixture::left_out();
    for one in &mut view.plan.left_out {
        (one.what, one.reason) = (text(), text());
    }
    view.warnings = vec![Warning { code: text(), text: text(), remedy: text() }];
    let stack = &mut view.plan.stacks[1];
    stack.label = text();
    stack.filesystem.mount = vec![text()];
    stack.filesystem.overlay = Some(Overlay { upper: Some(Bytes(1)), write_back: WriteBack::End });
    stack.device.backing = Backing::Disk { path: text().into() };
    stack.device.settings.hdparm = vec![text()];
    stack.scheduler.tunables.insert(text(), text());
    view.verdict.stacks = vec![text()];
    view.verdict.baseline = Some(text());
    view.verdict.reason = format!("r {}", text());
    view.verdict.ratios[0].stack = text();
    for (_, record) in view.records.iter_mut().filter(|(trial, _)| trial.candidate == 1) {
        record.in_force.device.serial = Some(text());
        record.in_force.device.kernel_name = text();
        record.in_force.mkfs = vec![text()];
        record.in_force.device.queue.scheduler = Some(text());
        record.warnings = vec![Warning { code: text(), text: text(), remedy: text() }];
        record.timeline = vec![Sample::default(); 3];
    }
    view.records[0].1.status = Status::Failed { stage: text(), reason: text() };
    view
}

#[test]
fn no_text_from_outside_changes_the_structure_of_the_page() {
    let expected = structure(&html(&with_everywhere("harmless")));
    let corpus = hostile();
    assert!(corpus.len() >= 200, "{}", corpus.len());
    for text in corpus {
        let view = with_everywhere(&text);
        let page = html(&view);
        assert_eq!(structure(&page), expected, "{text:?}");
        assert!(!page.chars().any(|c| c != '\n' && crate::text::is_harmful(c)), "{text:?}");
        let trials = PageTrials::of(&view);
        let summary = summary::summary(&view, &trials, "demo.seekwell", Inside::Nothing);
        assert_eq!(embedded(&page), summary, "{text:?}");
    }
}

#[test]
fn the_page_uses_only_these_elements_and_attributes() {
    let known = [
        "html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2",
        "h3", "p", "strong", "span", "div", "table", "thead", "tbody", "tr", "th", "td", "ul",
        "li", "pre", "code", "details", "summary", "svg", "rect", "line", "circle", "polyline",
        "script", "a", "text",
    ];
    let page = html(&with_everywhere("x"));
    // One link, to a place in the page itself.
    let links: Vec<&str> = page.match_indices("href=").map(|(at, _)| &page[at..at + 20]).collect();
    assert_eq!(links, ["href=\"#after-stacks\""]);
    for tag in structure(&page) {
        let mut words = tag.trim_end_matches('/').split(' ');
        let name = words.next().unwrap_or_default().trim_start_matches('/').to_owned();
        assert!(known.contains(&name.as_str()), "{name}");
        for attribute in words {
            assert!(!attribute.starts_with("on") && attribute != "style" && attribute != "src");
            assert!(attribute != "href" || name == "a", "{tag}");
        }
    }
}

/// The data inside a page.
fn embedded(page: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"summary\">";
    let from = page.find(begin).expect("the data") + begin.len();
    let to = from + page[from..].find("</script>").expect("its end");
    serde_json::from_str(&page[from..to]).expect("JSON")
}

#[test]
fn the_page_says_what_the_terminal_says() {
    let mut view = fixture::tie();
    view.warnings = fixture::warnings();
    let page = html(&view);
    for text in [
        "Pick xfs with scheduler none: at most 2 % slower than the best of the three.",
        "<th class=\"number\" data-metric=\"unpack.elapsed_durable\">median ms</th>",
        "<td class=\"number\" data-ratio=\"\">1.774</td><td class=\"number\">1.692–1.861</td>",
        "mkfs.xfs -b size=4096 -K -l size=64m /dev/DISK",
        "served-from-cache",
        "What was not controlled",
        "To go back: ",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn the_forest_plot_has_one_axis_for_all_rows() {
    let page = html(&fixture::winner());
    let xs: Vec<f64> = page
        .match_indices("<circle class=\"centre\" r=\"4\" cx=\"")
        .map(|(at, found)| {
            let rest = &page[at + found.len()..];
            rest[..rest.find('"').expect("a quote")].parse().expect("a number")
        })
        .collect();
    assert_eq!(xs.len(), 3);
    // Distances on a logarithmic axis are those of the logarithms of 1, 1.136 and 1.774.
    let measured = (xs[1] - xs[0]) / (xs[2] - xs[0]);
    let expected = 1.136_f64.ln() / 1.774_f64.ln();
    assert!((measured - expected).abs() < 0.001, "{xs:?}");
    assert!(xs.iter().all(|x| (0.0..=320.0).contains(x)), "{xs:?}");
}

#[test]
fn odd_ratios_draw_nothing_outside() {
    let mut view = fixture::winner();
    view.verdict.ratios[1].ratio = Some(f64::NAN);
    view.verdict.ratios[1].low = Some(0.0);
    view.verdict.ratios[2].high = Some(f64::INFINITY);
    let page = html(&view);
    structure(&page);
    assert!(!page.contains("NaN\"") && !page.contains("inf\""));
}

#[test]
fn a_long_timeline_is_drawn_with_few_points() {
    let sample = |index: u32| Sample {
        at_ns: u64::from(index) * 100_000_000,
        read_kib_per_s: f64::from(index % 7) * 1000.0,
        ..Sample::default()
    };
    let mut view = fixture::winner();
    let before = html(&view).len();
    view.records[0].1.timeline = (0..6_000).map(sample).collect();
    let page = html(&view);
    assert!(page.contains("at most 6.1 MB/s"));
    assert!(page.len() - before < 3_000, "{}", page.len() - before);
}

/// A large run file is packed faster; a page gives it back like any other.
#[test]
fn run_files_of_any_size_come_back() {
    let file: Vec<u8> = (0..200_000_u32).map(|n| (n / 100 * (n % 7)) as u8).collect();
    let page = |bytes: u64| {
        let mut out = Vec::new();
        inside::write(Inside::Whole(bytes), &mut &*file, &mut out).expect("it is in memory");
        String::from_utf8(out).expect("letters")
    };
    let (small, large) = (page(file.len() as u64), page(100 << 20));
    assert!(small.len() < large.len(), "{} {}", small.len(), large.len());
    assert!([small, large].iter().all(|page| extract(page).expect("a run file") == file));
}
