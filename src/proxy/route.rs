//! From a tool's name to the sidecars that may serve it. Pure.

use aifo_shim::tools::{DEV_TOOLS, KIND_TOOLS};

/// The order in which sidecars are asked for a development tool (seed "toolexec protocol", Tool routing).
const DEV_ORDER: &[&str] = &["c-cpp", "rust", "go", "node", "python"];

/// The kinds that may serve a tool, in order. None for a name that is on no list.
pub(super) fn kinds<'a>(tool: &str, extra: &'a [(String, String)]) -> Option<Vec<&'a str>> {
    if let Some((kind, _)) = KIND_TOOLS.iter().find(|(_, tools)| tools.contains(&tool)) {
        return Some(vec![*kind]);
    }
    if DEV_TOOLS.contains(&tool) {
        return Some(DEV_ORDER.to_vec());
    }
    let added: Vec<&str> = extra.iter().filter(|(_, name)| name == tool).map(|(kind, _)| kind.as_str()).collect();
    (!added.is_empty()).then_some(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_go_where_the_seed_says() {
        let added = [("node".to_owned(), "vite".to_owned()), ("rust".to_owned(), "vite".to_owned())];
        for (tool, expected) in [
            ("cargo", "rust"),
            ("rustc", "rust"),
            ("tsc", "node"),
            ("pip3", "python"),
            ("uvx", "python"),
            ("gofmt", "go"),
            ("make", "c-cpp rust go node python"),
            ("c++", "c-cpp rust go node python"),
            ("vite", "node rust"),
        ] {
            assert_eq!(kinds(tool, &added).map(|kinds| kinds.join(" ")).as_deref(), Some(expected), "{tool}");
        }
    }

    #[test]
    fn t24_everything_else_is_on_no_list() {
        for tool in
            ["sh", "bash", "Cargo", "cargo ", "./cargo", "/usr/bin/cargo", "../cargo", "-cargo", "", "cargo\u{301}"]
        {
            assert_eq!(kinds(tool, &[]), None, "{tool}");
        }
    }
}
