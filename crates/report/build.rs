//! Takes the page's program where `make web` has put it; without it the page is the plain one.

use base64::Engine;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let web = Path::new("../../web/dist");
    let base = Path::new("src/page.css");
    for path in [web, base, Path::new("src/atlas/site.js")] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let style = fs::read_to_string(base)?;
    let found = fs::read_to_string(web.join("page.js")).and_then(|program| {
        Ok((program, format!("{style}{}", fs::read_to_string(web.join("page.css"))?)))
    });
    let program = match &found {
        Ok((program, full)) => {
            for (name, text) in [("page.js", program), ("page.css", full)] {
                if text.contains("</") && (text.contains("</script") || text.contains("</style")) {
                    return Err(format!("web/dist/{name} would end its element in a page").into());
                }
            }
            format!(
                "Some(Program {{ text: {program:?}, hash: {:?}, style: {full:?}, style_hash: {:?} }})",
                hash(program),
                hash(full)
            )
        }
        Err(_) => "None".to_owned(),
    };
    let site = fs::read_to_string("src/atlas/site.js")?;
    let site = format!(
        "Program {{ text: {site:?}, hash: {:?}, style: {style:?}, style_hash: {:?} }}",
        hash(&site),
        hash(&style)
    );
    let code = format!(
        "pub(crate) const STYLE: &str = {style:?};\n\
         pub(crate) const STYLE_HASH: &str = {:?};\n\
         pub(crate) const PROGRAM: Option<Program> = {program};\n\
         pub(crate) const SITE: Program = {site};\n",
        hash(&style)
    );
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("program.rs"), code)?;
    Ok(())
}

/// As a content security policy names it.
fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(digest))
}
