//! `cargo xtask images push --registry REF`: our images under a company's own name, where launchers look for them when
//! `image.internal-registry` names it.
//!
//! Docker pushes, with the login that it has. Names of the registry are given for the push only and taken away again; an
//! image that is here for several processors becomes one name with all of them.

use super::{
    args::Wishes,
    choice::{Member, choose},
    engine::Engine,
};
use crate::{
    cmd::{self, Failure},
    report,
};

/// Pushes those named, or all that are here.
///
/// # Errors
/// When the registry's name makes no sense, an image is missing, or the registry refuses it.
pub(super) fn run(engine: &Engine, wishes: &Wishes) -> Result<(), Failure> {
    let registry = wishes.registry.as_deref().map(|registry| registry.trim_end_matches('/')).unwrap_or_default();
    if !is_reference(registry) {
        return Err(Failure::new(format!("push wants `--registry HOST[:PORT][/FOLDER]`, not `{registry}`"))
            .hint("cargo xtask images --help"));
    }
    let choice = choose(engine, wishes)?;
    for (name, why) in &choice.left_out {
        report::say(format_args!("left out: {name}: {why}"));
    }
    let mut rest = choice.images.as_slice();
    while let [first, ..] = rest {
        let count = rest.iter().take_while(|member| member.image.name == first.image.name).count();
        let (same, others) = rest.split_at(count);
        one(engine, registry, same)?;
        rest = others;
    }
    Ok(())
}

/// One image, for all processors that it is here for.
fn one(engine: &Engine, registry: &str, members: &[Member]) -> Result<(), Failure> {
    let name = |member: &Member| format!("{registry}/{}", member.image.reference());
    let [first, others @ ..] = members else { return Ok(()) };
    if others.is_empty() {
        return pushed(engine, &first.tag, &name(first)).map(|digest| told(&name(first), &digest));
    }
    let mut parts = Vec::new();
    for member in members {
        let part = format!("{}-{}", name(member), member.arch);
        pushed(engine, &member.tag, &part)?;
        parts.push(part);
    }
    let name = name(first);
    cmd::capture(engine.command().args(["manifest", "create", "--amend", &name]).args(&parts))?;
    let digest = cmd::capture(engine.command().args(["manifest", "push", "--purge", &name]))?;
    told(&name, &digest);
    Ok(())
}

fn told(name: &str, digest: &str) {
    report::out(&format!("{name} {digest}\n"));
}

/// Pushes what docker calls `tag` as `name`, and gives the digest under which the registry has it.
fn pushed(engine: &Engine, tag: &str, name: &str) -> Result<String, Failure> {
    report::say(format_args!("pushing {name}"));
    cmd::capture(engine.command().args(["tag", tag, name]))?;
    let said = cmd::capture(engine.command().args(["push", name]));
    // The name was ours to give; where it stays, only a name stays.
    drop(cmd::capture(engine.command().args(["image", "rm", "--no-prune", name])));
    let said = said.map_err(|failure| explained(&failure, name))?;
    let digest = said.lines().rev().find_map(|line| line.split_once("digest: ")?.1.split(' ').next());
    Ok(digest.unwrap_or_default().to_owned())
}

/// What a registry's refusal means, and what to type.
fn explained(failure: &Failure, name: &str) -> Failure {
    let text = failure.to_string();
    let said = text.lines().last().unwrap_or_default().trim();
    // Docker's own words, without the command line that says the name once more.
    let said =
        said.split_once("exit status: ").and_then(|(_, rest)| rest.split_once(": ")).map_or(said, |(_, said)| said);
    let host = name.split('/').next().unwrap_or_default();
    let failure = Failure::new(format!("`{name}` is not pushed: {said}"));
    let lower = text.to_lowercase();
    if ["denied", "unauthorized", "authentication", "credentials"].iter().any(|word| lower.contains(word)) {
        failure.hint(format!("docker login {host}"))
    } else if lower.contains("certificate") {
        failure.hint(format!("its CA belongs on the engine's machine: /etc/docker/certs.d/{host}/ca.crt"))
    } else {
        failure.hint(format!("does `{host}` answer? curl https://{host}/v2/"))
    }
}

/// A host, perhaps a port, perhaps folders; what docker would otherwise take for its own public registry is refused.
fn is_reference(registry: &str) -> bool {
    let mut parts = registry.split('/');
    let host = parts.next().unwrap_or_default();
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    let is_host = host == "localhost" || host.contains(['.', ':']);
    is_host && !host.starts_with(['-', '.', ':']) && plain(host) && parts.all(plain)
}

#[cfg(test)]
mod tests {
    use super::{Failure, explained, is_reference};

    #[test]
    fn a_registry_is_a_host_with_a_dot_or_a_port() {
        for good in ["r.example", "localhost/a", "127.0.0.1:5000", "r.example:5000/team/x"] {
            assert!(is_reference(good), "{good}");
        }
        for bad in ["", "team", "-x.y", "r.example//x", "r.example/a b", "https://r.example", ":5000"] {
            assert!(!is_reference(bad), "{bad}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_type() {
        let said = |text: &str| explained(&Failure::new(text), "r.example/a:1").hint_text().unwrap().to_owned();
        assert_eq!(said("x\nunauthorized: authentication required"), "docker login r.example");
        assert!(said("x509: certificate signed by unknown authority").contains("/etc/docker/certs.d/r.example/"));
        assert!(said("connect: connection refused").contains("does `r.example` answer?"));
    }
}
