//! Which images are passed on, in a bundle or to a registry, and which are not, and why.

use super::{
    args::Wishes,
    engine::Engine,
    table::{self, Flavor, IMAGES, Image},
};
use crate::cmd::Failure;

/// Why an image whose licence forbids it is left out.
const NOT_OURS_TO_PASS_ON: &str = "its licence lets anybody install it and nobody pass it on; for a bundle that does not \
                                   leave the house: --with-claude";

/// What goes in, and what does not.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) images: Vec<Member>,
    /// Names and reasons.
    pub(super) left_out: Vec<(String, String)>,
}

/// An image for one processor.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) image: &'static Image,
    /// In Docker's words.
    pub(super) arch: String,
    /// What docker calls it here.
    pub(super) tag: String,
}

/// Those named, or all that are here.
///
/// # Errors
/// When one was named and is not here, or nothing is left.
pub(super) fn choose(engine: &Engine, wishes: &Wishes) -> Result<Choice, Failure> {
    let both = [Flavor::Full, Flavor::Slim];
    let all = ["all".to_owned()];
    let names = if wishes.names.is_empty() { &all[..] } else { &wishes.names };
    let flavors = match (wishes.flavors.as_slice(), wishes.names.is_empty()) {
        ([], true) => &both[..],
        ([], false) => &[Flavor::Full],
        (asked, _) => asked,
    };
    let tags: Vec<String> = IMAGES.iter().flat_map(|image| members(image, engine)).map(|member| member.tag).collect();
    let known: Vec<String> = engine.inspect_all(&tags)?.into_iter().map(|(tag, _)| tag).collect();
    let mut choice = Choice { images: Vec::new(), left_out: Vec::new() };
    for image in table::wanted(names, flavors)?.into_iter().filter(|image| image.is_run()) {
        if !image.redistributable && !wishes.with_claude {
            choice.left_out.push((image.reference(), NOT_OURS_TO_PASS_ON.to_owned()));
            continue;
        }
        let members: Vec<Member> = members(image, engine).filter(|member| known.contains(&member.tag)).collect();
        if !members.is_empty() {
            choice.images.extend(members);
        } else if wishes.names.is_empty() {
            choice.left_out.push((image.reference(), "it was not built".to_owned()));
        } else {
            return Err(Failure::new(format!("image `{}` is not here", image.reference()))
                .hint(format!("cargo xtask images build {}", image.name)));
        }
    }
    if choice.images.is_empty() {
        return Err(Failure::new("none of these images may or can be passed on").hint("cargo xtask images list"));
    }
    Ok(choice)
}

/// What an image may be called here: for the engine's own processor, and for others.
fn members<'a>(image: &'static Image, engine: &'a Engine) -> impl Iterator<Item = Member> + 'a {
    let member =
        move |arch: &str| Member { image, arch: arch.to_owned(), tag: table::tag(image.name, arch, &engine.arch) };
    ["amd64", "arm64"].into_iter().map(member)
}
