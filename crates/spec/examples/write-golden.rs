//! Writes what every lab below `testdata/labs` gives next to it; `git diff` then shows what a
//! change did to the messages.

#[path = "../tests/golden/render.rs"]
mod render;

fn main() -> std::io::Result<()> {
    for folder in render::FOLDERS {
        for entry in std::fs::read_dir(render::folder(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let given = render::render(&std::fs::read(&path)?, &name);
                let (Ok(text) | Err(text)) = given;
                std::fs::write(path.with_extension("expected"), text)?;
            }
        }
    }
    Ok(())
}
