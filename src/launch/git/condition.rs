//! Git's `[includeIf "CONDITION"]`, as far as it can be judged without looking into a repository. Pure.
//!
//! Only a condition on where the repository lies (`gitdir:`) is the user's own word on this workspace. What asks for a
//! branch or for a remote would be answered by files that the agent writes, so nobody judges it here.

use std::path::Path;

/// What `gitdir:` is held against.
#[derive(Debug)]
pub(super) struct Place<'a> {
    /// The repository's folder, without symbolic links in it.
    pub(super) git_dir: &'a Path,
    pub(super) home: &'a Path,
    /// The folder of the file that holds the condition.
    pub(super) beside: &'a Path,
}

/// Whether a condition holds; none where that cannot be told.
pub(super) fn holds(condition: &str, place: &Place<'_>) -> Option<bool> {
    let (word, pattern) = condition.split_once(':')?;
    let fold = |text: String| if word == "gitdir/i" { text.to_lowercase() } else { text };
    if !matches!(word, "gitdir" | "gitdir/i") || pattern.contains(['[', '\\']) || pattern.starts_with("%(prefix)") {
        return None;
    }
    let pattern = fold(whole(pattern, place)?);
    let path = fold(place.git_dir.to_string_lossy().into_owned());
    let parts = |text: &'_ str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    Some(is_below(&parts(&pattern), &parts(&path)))
}

/// A pattern as git completes it: what begins nowhere may begin anywhere, what ends as a folder means all below it.
fn whole(pattern: &str, place: &Place<'_>) -> Option<String> {
    let from = |folder: &Path, rest: &str| format!("{}/{rest}", folder.to_string_lossy().trim_end_matches('/'));
    let begun = match (pattern.strip_prefix("~/"), pattern.strip_prefix("./")) {
        (Some(rest), _) => from(place.home, rest),
        (_, Some(rest)) => from(place.beside, rest),
        _ if pattern.starts_with('~') => return None,
        _ if pattern.starts_with('/') => pattern.to_owned(),
        _ => format!("**/{pattern}"),
    };
    Some(if begun.ends_with('/') { begun + "**" } else { begun })
}

/// Part by part; `**` stands for any number of parts.
fn is_below(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((any, [])), _) if any == "**" => !path.is_empty(),
        (Some((any, rest)), _) if any == "**" => {
            is_below(rest, path) || path.split_first().is_some_and(|(_, below)| is_below(pattern, below))
        }
        (Some((part, rest)), Some((name, below))) => fits(part, name) && is_below(rest, below),
        _ => false,
    }
}

/// One part of a path against one of a pattern, with `*` and `?`.
fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern_rest, mut name_rest) = (pattern.chars(), name.chars());
    match pattern_rest.next() {
        None => name.is_empty(),
        Some('*') => {
            fits(pattern_rest.as_str(), name) || name_rest.next().is_some() && fits(pattern, name_rest.as_str())
        }
        Some('?') => name_rest.next().is_some() && fits(pattern_rest.as_str(), name_rest.as_str()),
        Some(c) => name_rest.next() == Some(c) && fits(pattern_rest.as_str(), name_rest.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_a_repository_lies_is_judged() {
        let place = Place {
            git_dir: Path::new("/home/u/Work/a/b/.git"),
            home: Path::new("/home/u"),
            beside: Path::new("/etc"),
        };
        for (condition, expected) in [
            ("gitdir:~/Work/", Some(true)),
            ("gitdir:~/Work", Some(false)),
            ("gitdir:~/work/", Some(false)),
            ("gitdir/i:~/work/", Some(true)),
            ("gitdir:~/Work/a/b/.git", Some(true)),
            ("gitdir:~/Work/a/", Some(true)),
            ("gitdir:~/Work/a/b/.git/**", Some(false)),
            ("gitdir:~/Work/**/.git", Some(true)),
            ("gitdir:**/Wo*/**/b/**", Some(true)),
            ("gitdir:~/Work/a/c/", Some(false)),
            ("gitdir:/home/u/Work/", Some(true)),
            ("gitdir:/home/*/W??k/", Some(true)),
            ("gitdir:/home/*/a/", Some(false)),
            ("gitdir:/home/**/b/.git", Some(true)),
            ("gitdir:Work/", Some(true)),
            ("gitdir:b/.git", Some(true)),
            ("gitdir:k/", Some(false)),
            ("gitdir:./Work/", Some(false)),
            ("gitdir:/", Some(true)),
            ("gitdir:", Some(true)),
            ("gitdir:~other/", None),
            ("gitdir:/home/[u]/", None),
            ("onbranch:main", None),
            ("hasconfig:remote.*.url:https://**", None),
            ("later", None),
        ] {
            assert_eq!(holds(condition, &place), expected, "{condition}");
        }
    }
}
