//! `BUNDLE`: which images are in a bundle and what each is made of, a line each. Pure.
//!
//! ```text
//! aifo-coder bundle 1
//! version 0.1.0
//! image linux/amd64 aifo-coder-shell:release-0.1.0 CONFIG LAYER…
//! left-out aifo-coder-claude:release-0.1.0 its licence lets nobody pass it on
//! ```
//! Configuration and layers are the sums by which they lie in `images/blobs/sha256/`.

use super::sums::{self, is_sum};

/// Its name.
pub(super) const NAME: &str = "BUNDLE";

const FIRST_LINE: &str = "aifo-coder bundle 1";

/// What a bundle holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) images: Vec<Image>,
    /// Names, and why they are not in it.
    pub(super) left_out: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) platform: String,
    pub(super) reference: String,
    pub(super) config: String,
    /// Lowest first.
    pub(super) layers: Vec<String>,
}

/// Where a part of an image lies.
pub(super) fn blob(sum: &str) -> String {
    format!("images/blobs/sha256/{sum}")
}

/// Reads it; every part of an image must be a file of the bundle that has its sum as its name.
///
/// # Errors
/// What is wrong.
pub(super) fn parse(text: &str, files: &[(String, String)]) -> Result<Contents, String> {
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(format!("{NAME} does not begin with `{FIRST_LINE}`: made by another version of aifo-coder?"));
    }
    let mut contents = Contents::default();
    for line in lines {
        let bad = || format!("`{NAME}` has a line that cannot be understood");
        let (kind, rest) = line.split_once(' ').ok_or_else(bad)?;
        match kind {
            "version" => {}
            "image" => contents.images.push(image(rest).ok_or_else(bad)?),
            "left-out" => {
                let (reference, why) = rest.split_once(' ').ok_or_else(bad)?;
                let printable = |text: &str| text.chars().filter(|c| !c.is_control()).collect();
                contents.left_out.push((printable(reference), printable(why)));
            }
            _ => return Err(bad()),
        }
    }
    for image in &contents.images {
        let parts = image.layers.iter().chain([&image.config]);
        if let Some(part) = parts.into_iter().find(|part| sums::sum_of(files, &blob(part)) != Some(part.as_str())) {
            return Err(format!("image `{}` needs `{part}`, which is not in {}", image.reference, sums::NAME));
        }
    }
    Ok(contents)
}

fn image(words: &str) -> Option<Image> {
    let mut words = words.split(' ').map(str::to_owned);
    let (platform, reference, config) = (words.next()?, words.next()?, words.next()?);
    let layers: Vec<String> = words.collect();
    let are_sums = !layers.is_empty() && layers.iter().chain([&config]).all(|word| is_sum(word));
    // What docker is told by way of JSON must need no escapes.
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte));
    (are_sums && is_plain(&platform) && is_plain(&reference)).then_some(Image { platform, reference, config, layers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(String, String)> {
        ["1", "2"].map(|digit| digit.repeat(64)).map(|sum| (blob(&sum), sum)).to_vec()
    }

    #[test]
    fn images_and_what_was_left_out_are_read() {
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        let text = format!("{FIRST_LINE}\nversion 9\nimage linux/amd64 a:1 {one} {two}\nleft-out b:1 not \x1bbuilt\n");
        let image = Image { platform: "linux/amd64".into(), reference: "a:1".into(), config: one, layers: vec![two] };
        let contents = parse(&text, &files()).unwrap();
        assert_eq!(contents, Contents { images: vec![image], left_out: vec![("b:1".into(), "not built".into())] });
    }

    #[test]
    fn whatever_is_not_a_bundle_is_refused() {
        let (one, three) = ("1".repeat(64), "3".repeat(64));
        for (text, why) in [
            ("", "does not begin"),
            ("aifo-coder bundle 2\n", "another version"),
            (&format!("{FIRST_LINE}\nrun x\n"), "cannot be understood"),
            (&format!("{FIRST_LINE}\nimage linux/amd64 a:1 {one}\n"), "cannot be understood"),
            (&format!("{FIRST_LINE}\nimage linux/amd64 a\":1 {one} {one}\n"), "cannot be understood"),
            (&format!("{FIRST_LINE}\nimage linux/amd64 a:1 ../{one} {one}\n"), "cannot be understood"),
            (&format!("{FIRST_LINE}\nimage linux/amd64 a:1 {one} {three}\n"), "which is not in SHA256SUMS"),
        ] {
            assert!(parse(text, &files()).unwrap_err().contains(why), "{text}");
        }
    }
}
