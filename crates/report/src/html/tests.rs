use super::*;
use crate::fixture;
use crate::program::{STYLE, STYLE_HASH};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seekwell_model::record::{Sample, Status};
use seekwell_model::stack::{Backing, Overlay, WriteBack};
use seekwell_model::units::Bytes;
use seekwell_model::verdict::VerdictKind;
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
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-style'; script-src 'sha256-program'; img-src data:; base-uri 'none'; form-action 'none'\">"));
    assert!(page.contains("<style>p{margin:0}</style>"));
    assert!(page.ends_with("</main>\n<script>document.title</script>\n</body>\n</html>\n"));
    if let Some(built) = crate::program::PROGRAM.as_ref() {
        assert_eq!(built.hash, hash(built.text));
        assert!(built.text.len() <= 400_000, "{} bytes", built.text.len());
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

const WHOLE_ELEMENT: &str = "<script type=\"application/x-seekwell-run-letters\" id=\"run\">";

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
fn the_rows_of_an_older_file_belong_to_the_pick_of_today() {
    let mut view = fixture::winner();
    let mut stored = view.verdict.clone();
    stored.ratios.clear();
    stored.baseline = Some("stored".to_owned());
    view.stored = Some(stored);
    let page = embedded(&html(&view));
    assert_eq!(page["verdict"], serde_json::to_value(&view.verdict).unwrap());
    assert_eq!(crate::json::summary(&view)["verdict"]["baseline"], "stored");
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
        "html", "head", "meta", "title", "style", "body", "main", "header", "section", "aside",
        "h1", "h2", "h3", "p", "b", "em", "i", "small", "strong", "span", "div", "table", "thead",
        "tbody", "tr", "th", "td", "ul", "li", "dl", "dt", "dd", "pre", "code", "details",
        "summary", "svg", "rect", "line", "circle", "path", "polyline", "script", "a", "text",
    ];
    let page = html(&with_everywhere("x"));
    // Links lead to places in the page itself, which are there.
    let rests = page.match_indices("href=\"").map(|(at, found)| &page[at + found.len()..]);
    let links: Vec<&str> = rests.map(|rest| &rest[..rest.find('"').expect("an end")]).collect();
    assert!(links.len() > 8, "{links:?}");
    for link in links {
        let id = link.strip_prefix('#').expect(link);
        assert!(page.contains(&format!(" id=\"{id}\"")), "{link}");
    }
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
        "<th scope=\"col\" class=\"number\" data-metric=\"unpack.elapsed_durable\"><span></span><span>median ms</span></th>",
        "<td class=\"number\" data-ratio=\"\">1.774</td><td class=\"number\">1.692–1.861</td>",
        "mkfs.xfs /dev/DISK",
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
    // The pick is a dot, what is out a square.
    let place = |begin: &str, nth: usize| -> f64 {
        let (at, found) = page.match_indices(begin).nth(nth).expect(begin);
        let rest = &page[at + found.len()..];
        rest[..rest.find('%').expect("percent")].parse().expect("a number")
    };
    let square = "<svg class=\"mark\" y=\"45%\" x=\"";
    let xs = [
        place("<circle class=\"mark\" cy=\"45%\" r=\"5\" cx=\"", 0),
        place(square, 0),
        place(square, 1),
    ];
    // Distances on a logarithmic axis are those of the logarithms of 1, 1.136 and 1.774.
    let measured = (xs[1] - xs[0]) / (xs[2] - xs[0]);
    let expected = 1.136_f64.ln() / 1.774_f64.ln();
    assert!((measured - expected).abs() < 0.001, "{xs:?}");
    assert!(xs.iter().all(|x| (0.0..=100.0).contains(x)), "{xs:?}");
}

#[test]
fn the_first_screen_is_there_without_a_program_and_in_its_order() {
    let page = html(&fixture::demo());
    let mut at = 0;
    for part in [
        "<b>Which filesystem and scheduler unpack a small mail store fastest?</b>",
        "<h1>Pick <em>ext4</em> with scheduler <em>none</em>: at most 11\u{a0}% slower than the best of the nine.</h1>",
        "too close to call.",
        "<strong class=\"out\">btrfs is out</strong>: it takes 1.7 times as long",
        "95 % confidence",
        "<b>Main doubt</b> A result shifts by up to 17 %",
        "<span>Double the work: files = 16_000.</span>",
        "<th scope=\"col\">filesystem scheduler</th>",
        ">Pick</th>",
        "<th scope=\"row\"><b>ext4</b> <span>none</span></th>",
        ">Too close to call (5)</th>",
        "aria-label=\"xfs/bfq: 1.010 times, 0.900 to 1.130\"",
        ">Out (3)</th>",
        "<th scope=\"row\"><b>btrfs</b> <span>bfq</span></th>",
        "The band is the lab&#39;s tie of 5 %",
        "<dt>filesystem</dt><dd><b class=\"matters\">yes:</b> ",
        "<dt>scheduler</dt><dd>",
        "<h2>Where the time goes",
        "aria-label=\"btrfs: 366 ms computing, 235 ms waiting, 31 ms writing out, device busy 22 %\"",
        "If 11 % does not matter to you, stop here.",
        "<b>Below</b>",
        "<a href=\"#table\">All numbers</a>",
        "<b>Share</b>",
        "<section id=\"table\">",
        "<section id=\"decision\">",
    ] {
        let found = page[at..].find(part);
        at += found
            .unwrap_or_else(|| panic!("{part} is not behind {}", &page[at.saturating_sub(80)..at]));
    }
}

#[test]
fn each_trial_is_a_tick_against_the_same_round() {
    let mut view = fixture::demo();
    // One trial of xfs/bfq takes twice as long as the pick in its round; one has no value.
    let of = |view: &RunView, label: &str| {
        let place = view.plan.stacks.iter().position(|stack| stack.label == label).expect(label);
        let trials = view.records.iter().enumerate();
        trials
            .filter(|(_, (trial, _))| trial.candidate as usize == place)
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    let (pick, other) = (of(&view, "ext4/none"), of(&view, "xfs/bfq"));
    let set = |view: &mut RunView, at: usize, value: Option<f64>| {
        let step = &mut view.records[at].1.steps[1];
        step.metrics.clear();
        step.metrics.extend(value.map(|value| ("elapsed_durable".to_owned(), value)));
    };
    set(&mut view, pick[3], Some(0.1));
    set(&mut view, other[3], Some(0.2));
    set(&mut view, other[4], None);
    let page = html(&view);
    let row = &page[page.find("aria-label=\"xfs/bfq").expect("its row")..];
    let path = &row[row.find("<path class=\"trial\" d=\"").expect("ticks") + 23..];
    let ticks: Vec<&str> = path[..path.find('"').expect("an end")].split_terminator("v1").collect();
    assert_eq!(ticks.len(), 7, "{ticks:?}");
    let rows = || view.verdict.ratios.iter();
    let expected = |ratio: f64| format!("M{:.0} 0", scale::Scale::of(rows(), 0.05).x(ratio) * 10.0);
    assert_eq!(ticks[3], expected(2.0));
    assert_eq!(ticks[0], expected(0.358 / 0.354));
    let pick = &page[page.find("aria-label=\"ext4/none, the pick").expect("its row")..];
    assert!(!pick[..pick.find("</tr>").expect("its end")].contains("class=\"trial\""));
}

/// A run with this number of stacks.
fn many(number: usize) -> RunView {
    let stacks: Vec<_> =
        (0..number).map(|n| fixture::stack("ext4", &format!("sched-{n}"))).collect();
    let rows = stacks.iter().enumerate().map(|(n, stack)| {
        let ratio = 1.0 + n as f64 / 40.0;
        fixture::ratio(&stack.label, 0.4 * ratio, ratio, ratio * 0.95, ratio * 1.05)
    });
    let rows: Vec<_> = rows.collect();
    let seconds: Vec<f64> = rows.iter().filter_map(|row| row.median).collect();
    let left: Vec<&str> = rows[..20].iter().map(|row| row.stack.as_str()).collect();
    let verdict = fixture::verdict(VerdictKind::Unresolved, &left, "too wide", rows.clone());
    fixture::view(stacks, &seconds, verdict)
}

#[test]
fn a_forest_of_126_stacks_shows_twelve_and_the_rest_on_demand() {
    let page = html(&many(126));
    let forest = &page[page.find("<table class=\"forest").expect("it")..];
    let forest = &forest[..forest.find("</table>").expect("its end")];
    assert_eq!(forest.matches("<th scope=\"row\">").count(), 126);
    assert_eq!(forest.matches("<tr><th scope=\"row\">").count(), 12);
    assert!(page.contains("<summary>Show all 126 stacks</summary>"));
    assert!(!html(&fixture::demo()).contains("Show all"));
}

/// The luminance of a colour, as the guidelines for contrast define it.
fn luminance(hex: &str) -> f64 {
    let hex = hex.trim_start_matches('#');
    let long: String =
        if hex.len() == 3 { hex.chars().flat_map(|c| [c, c]).collect() } else { hex.to_owned() };
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&long[at..at + 2], 16).expect("hex")) / 255.0;
        if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}

#[test]
fn the_band_of_the_tie_and_the_marks_can_be_seen() {
    let (light, dark) =
        STYLE.split_once("@media screen and (prefers-color-scheme: dark)").expect("both");
    for theme in [light, &dark[..dark.find("* {").expect("an end")]] {
        let colour = |name: &str| {
            let rest = &theme[theme.find(&format!("{name}: #")).expect(name) + name.len() + 2..];
            luminance(&rest[..rest.find(';').expect("an end")])
        };
        let contrast = |one: &str, other: &str| {
            let (one, other) = (colour(one), colour(other));
            (one.max(other) + 0.05) / (one.min(other) + 0.05)
        };
        for (one, other, least) in [
            ("--tie", "--page", 3.0),
            ("--tie", "--band", 3.0),
            ("--open", "--band", 3.0),
            ("--pick", "--band", 3.0),
            ("--out", "--page", 4.5),
            ("--faint", "--page", 4.5),
            ("--cpu", "--page", 3.0),
            ("--wait", "--page", 3.0),
        ] {
            assert!(contrast(one, other) >= least, "{one} on {other}: {}", contrast(one, other));
        }
    }
    assert!(!STYLE.contains("anywhere"), "a column would break its words");
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

/// Pages of the version before have base64.
#[test]
fn an_earlier_page_gives_its_run_file_back() {
    use std::io::Write as _;
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(b"run file").expect("memory");
    let text = STANDARD.encode(zipped.finish().expect("memory"));
    let page = format!("<script type=\"application/x-seekwell-run\" id=\"run\">{text}</script>");
    assert_eq!(extract(&page).expect("a run file"), b"run file");
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

#[test]
fn a_recording_has_no_pick_and_no_picture_of_stacks() {
    let mut view = fixture::winner();
    view.environment = serde_json::json!({ "place": "watch" });
    let page = html(&view);
    assert!(page.contains("<h1>A recording of a device: nothing was compared</h1>"));
    assert!(!page.contains("class=\"forest"));
}

#[test]
fn a_run_that_compares_nothing_has_medians_and_reasons_in_place_of_the_forest() {
    let mut view = crate::fixture::demo();
    view.verdict.ratios.clear();
    view.verdict.baseline = None;
    view.verdict.answer = Some(seekwell_model::answer::Answer {
        cause: Some("no stack ran every workload: nothing is compared".to_owned()),
        ..Default::default()
    });
    view.warnings = crate::fixture::warnings();
    let page = html(&view);
    assert!(page.contains("unpack.elapsed_durable, medians by workload"), "{page}");
    assert!(!page.contains("<section id=\"forest\">"));
    assert!(
        page.contains("<p class=\"main-doubt\"><b>served-from-cache</b> read_archive: 22.0 MB")
    );
}
