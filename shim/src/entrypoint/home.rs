//! HOME before the agent sees it: its kept state linked in, the user's configuration and keys copied in, and itself known
//! to the system by a name.
//!
//! HOME is empty memory at the start of every session. What is mounted from the host is only ever read, the agent's own
//! state aside; what cannot be copied is left out, said, and keeps nobody from running. State that could not be kept does:
//! an agent that runs without it loses its work unseen.

use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
};

use aifo_shim::{error::ShimError, git, given, user};

use crate::{gpg, plan::Plan};

/// Keys and trust are small; anything larger in a GnuPG folder is no key.
const MAX_KEY_FILE: u64 = 1024 * 1024;
/// How many of the files that are not copied are named.
const MOST_NAMED: usize = 5;

/// Makes HOME ready; says what could not be done.
///
/// # Errors
/// [`ShimError::State`].
pub(crate) fn prepare(plan: &Plan) -> Result<(), ShimError> {
    let Some(home) = env::var_os("HOME").map(PathBuf::from) else { return Ok(()) };
    let mut done = vec![user::name(&home)];
    plan.state.iter().try_for_each(|state| link_state(state, &home)).map_err(ShimError::State)?;
    if let Some(config) = &plan.config {
        done.push(copy_home(&config.join("home"), &home));
        done.extend(copy_tree(config, plan, &home));
    }
    if plan.git
        && let Ok(text) = env::var(git::TEXT)
    {
        done.push(git::configure(&home, &text));
    }
    if let Some(keys) = &plan.gnupg {
        let copy = home.join(".gnupg");
        done.push(copy_keys(keys, &copy).and_then(|()| gpg::prime(&copy)));
    }
    if plan.login_files {
        done.extend(given::var("XDG_RUNTIME_DIR").map(|runtime| private_folder(Path::new(&runtime))));
        write_login_files(&plan.first, &home);
    }
    for error in done.into_iter().filter_map(Result::err) {
        drop(writeln!(io::stderr(), "aifo-entrypoint: {error}"));
    }
    Ok(())
}

/// `STATE/.local/share/x` becomes HOME's `.local/share/x`. The root of the state is its part before the first dot.
fn link_state(state: &Path, home: &Path) -> io::Result<()> {
    let below: PathBuf = state.components().skip_while(|part| !is_inside(part)).collect();
    let link = home.join(&below);
    private_folder(state)?;
    if let Some(parent) = link.parent() {
        private_folder(parent)?;
    }
    match symlink(state, &link) {
        // Something else in its place would be lost with the session.
        Err(error) if fs::read_link(&link).ok().as_deref() != Some(state) => Err(named("link", &link, &error)),
        _ => Ok(()),
    }
}

/// The state is mounted at HOME's `.aifo-state`; what follows is the agent's own path.
fn is_inside(part: &std::path::Component<'_>) -> bool {
    let name = part.as_os_str().to_string_lossy();
    name.starts_with('.') && name != ".aifo-state"
}

/// Files that have their place: where the agent's state already has one, that one stays.
fn copy_home(from: &Path, home: &Path) -> io::Result<()> {
    for file in files_below(from, from)? {
        let target = home.join(&file);
        if !target.exists() {
            copy(&from.join(&file), &target)?;
        }
    }
    Ok(())
}

/// The user's `global/` and `AGENT/`, and what of each is left out.
fn copy_tree(from: &Path, plan: &Plan, home: &Path) -> Vec<io::Result<()>> {
    let parts = fs::read_dir(from).into_iter().flatten().flatten().map(|entry| entry.path());
    let parts = parts.filter(|part| part.file_name().is_some_and(|name| name != "home"));
    parts.map(|part| copy_part(&part, plan, home)).collect()
}

/// Dot files go to their place in HOME, everything else to `~/.aifo-config`.
fn copy_part(part: &Path, plan: &Plan, home: &Path) -> io::Result<()> {
    let name = part.file_name().unwrap_or_default();
    let mut left_out = Vec::new();
    for file in files_below(part, part)? {
        let is_dotted = file.iter().next().is_some_and(|first| first.to_string_lossy().starts_with('.'));
        let target = if is_dotted { home.join(&file) } else { home.join(".aifo-config").join(name).join(&file) };
        let source = part.join(&file);
        let copied = allow(&source, plan).and_then(|()| {
            if target.exists() { Ok(()) } else { copy(&source, &target).map_err(|error| error.to_string()) }
        });
        left_out.extend(copied.err().map(|why| format!("`{}` ({why})", file.display())));
    }
    if left_out.is_empty() {
        return Ok(());
    }
    let shown = left_out.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = left_out.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Err(io::Error::other(format!("not copied of the configuration in `{}`: {shown}{more}", name.display())))
}

/// Whether a file is one of those that are copied, or why not.
fn allow(file: &Path, plan: &Plan) -> Result<(), String> {
    let size = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if !is_allowed(file, &plan.config_extensions) {
        return Err("its ending is not in agent.config-extensions".to_owned());
    }
    if size > plan.config_max_size {
        return Err(format!("{size} bytes, and agent.config-max-size is {}", plan.config_max_size));
    }
    Ok(())
}

/// By its ending; a dot file may have none but its own name (`.gitconfig`).
fn is_allowed(file: &Path, extensions: &[String]) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ending = name.rsplit('.').next().unwrap_or_default();
    name.contains('.') && extensions.iter().any(|allowed| allowed == ending)
}

/// The user's keys, without sockets, locks and whatever else lies there.
fn copy_keys(from: &Path, to: &Path) -> io::Result<()> {
    private_folder(to)?;
    for file in files_below(from, from)? {
        let is_key =
            ["pubring.kbx", "pubring.gpg", "trustdb.gpg", "gpg.conf"].iter().any(|name| Path::new(name) == file)
                || file.starts_with("private-keys-v1.d")
                || file.starts_with("openpgp-revocs.d");
        if is_key
            && !to.join(&file).exists()
            && fs::metadata(from.join(&file)).is_ok_and(|about| about.len() <= MAX_KEY_FILE)
        {
            copy(&from.join(&file), &to.join(&file))?;
        }
    }
    Ok(())
}

/// Login shells read `/etc/profile`, which resets PATH. Our images answer that in `/etc/profile.d`; in any other image
/// the session's own empty HOME is the only place left. Files that are there are left alone.
fn write_login_files(first: &[PathBuf], home: &Path) {
    let Ok(first) = env::join_paths(first) else { return };
    let text = format!("case $PATH in {0}:*) ;; *) PATH={0}:$PATH ;; esac\n", first.display());
    for name in [".profile", ".zprofile", ".zshrc"] {
        let file = fs::File::options().write(true).create_new(true).open(home.join(name));
        // A HOME that cannot be written keeps its login shells as they are; `doctor` tells.
        drop(file.and_then(|mut file| file.write_all(text.as_bytes())));
    }
}

/// Plain files below a folder, by their path from `root`; symbolic links are not followed.
fn files_below(folder: &Path, root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        entries => entries.map_err(|error| named("read", folder, &error))?,
    };
    for entry in entries.flatten() {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(files_below(&entry.path(), root)?);
        } else if kind.is_file() {
            files.extend(entry.path().strip_prefix(root).ok().map(Path::to_owned));
        }
    }
    Ok(files)
}

/// A copy that only its owner can read, whatever it is.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        private_folder(parent)?;
    }
    let content = fs::read(from).map_err(|error| named("read", from, &error))?;
    let file = fs::File::options().write(true).create_new(true).mode(0o600).open(to);
    file.and_then(|mut file| file.write_all(&content)).map_err(|error| named("write", to, &error))
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| named("create", folder, &error))
}

fn named(verb: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("aifo-home-{}-{name}", std::process::id()));
            fs::create_dir_all(path.join("home")).unwrap();
            Self(path)
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn text(&self, path: &str) -> Option<String> {
            fs::read_to_string(self.0.join(path)).ok()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn state_is_linked_at_its_own_path() {
        let scratch = Scratch::new("state");
        let (state, home) = (scratch.0.join("home/.aifo-state"), scratch.0.join("home"));
        for _ in 0..2 {
            link_state(&state.join(".local/share/x"), &home).unwrap();
        }
        fs::write(home.join(".local/share/x/kept"), "1").unwrap();
        assert_eq!(scratch.text("home/.aifo-state/.local/share/x/kept").as_deref(), Some("1"));
        // What is there already and is not the state keeps nothing.
        fs::create_dir(home.join(".y")).unwrap();
        let error = link_state(&state.join(".y"), &home).unwrap_err().to_string();
        assert!(error.starts_with("cannot link `") && error.contains("/home/.y`: "), "{error}");
    }

    #[test]
    fn what_the_agent_has_already_stays() {
        let scratch = Scratch::new("config");
        scratch.put("c/home/.codex/config.toml", "from the user");
        scratch.put("c/home/.codex/auth.json", "{}");
        scratch.put("home/.codex/config.toml", "the agent's own");
        copy_home(&scratch.0.join("c/home"), &scratch.0.join("home")).unwrap();
        assert_eq!(scratch.text("home/.codex/config.toml").as_deref(), Some("the agent's own"));
        assert_eq!(scratch.text("home/.codex/auth.json").as_deref(), Some("{}"));
    }

    #[test]
    fn a_tree_is_copied_by_ending_and_size_and_without_links() {
        let scratch = Scratch::new("tree");
        scratch.put("c/global/notes.json", "1");
        scratch.put("c/aider/.aider.conf.yml", "2");
        scratch.put("c/aider/run.sh", "3");
        scratch.put("c/aider/large.json", "4444444444");
        scratch.put("secret.json", "5");
        symlink(scratch.0.join("secret.json"), scratch.0.join("c/aider/link.json")).unwrap();
        let plan = Plan { config_max_size: 5, config_extensions: vec!["json".into(), "yml".into()], ..Plan::default() };
        let said = |scratch: &Scratch| {
            let errors =
                copy_tree(&scratch.0.join("c"), &plan, &scratch.0.join("home")).into_iter().filter_map(Result::err);
            errors.map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
        };
        let first = said(&scratch);
        assert!(
            first.starts_with("not copied of the configuration in `aider`: `") && !first.contains("global"),
            "{first}"
        );
        for why in ["`run.sh` (its ending is not in ", "`large.json` (10 bytes, and agent.config-max-size is 5)"] {
            assert!(first.contains(why), "{first}");
        }
        assert_eq!(scratch.text("home/.aifo-config/global/notes.json").as_deref(), Some("1"));
        assert_eq!(scratch.text("home/.aider.conf.yml").as_deref(), Some("2"));
        for absent in [
            "home/.aifo-config/aider/run.sh",
            "home/.aifo-config/aider/large.json",
            "home/.aifo-config/aider/link.json",
        ] {
            assert_eq!(scratch.text(absent), None, "{absent}");
        }
        (0..10).for_each(|number| scratch.put(&format!("c/aider/{number}.sh"), "x"));
        assert!(said(&scratch).ends_with(", and 7 more"));
    }

    #[test]
    fn only_keys_are_copied() {
        let scratch = Scratch::new("keys");
        for name in ["pubring.kbx", "private-keys-v1.d/A.key", "random_seed", ".#lk0x1", "S.gpg-agent.extra"] {
            scratch.put(&format!("g/{name}"), "x");
        }
        for _ in 0..2 {
            copy_keys(&scratch.0.join("g"), &scratch.0.join("home/.gnupg")).unwrap();
        }
        let mut found = files_below(&scratch.0.join("home/.gnupg"), &scratch.0.join("home/.gnupg")).unwrap();
        found.sort();
        assert_eq!(found, [PathBuf::from("private-keys-v1.d/A.key"), PathBuf::from("pubring.kbx")]);
    }
}
