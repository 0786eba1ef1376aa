//! Who wins, who may not, and what is said about it.

use std::{fs, path::Path};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("aifo-config-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("project/.aifo-coder")).unwrap();
        Self(path)
    }

    fn project(&self, text: &str) -> &Self {
        fs::write(self.0.join("project/.aifo-coder/config"), text).unwrap();
        self
    }

    fn user(&self, text: &str) -> &Self {
        fs::write(self.0.join("config"), text).unwrap();
        self
    }

    fn resolve(&self, options: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<Config, Error> {
        Config::resolve(&Sources {
            options: options
                .iter()
                .map(|(name, value)| (table::by_option(name).unwrap(), (*value).to_owned()))
                .collect(),
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect(),
            project: Some(self.0.join("project")),
            user: Some(self.0.join("config")),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn origin<'a>(config: &'a Config, key: &str) -> &'a Origin {
    &config.find(key).unwrap().origin
}

#[test]
fn the_nearest_origin_wins() {
    let folder = Folder::new("nearest");
    folder.user("[image]\nflavor = full\n[ui]\ncolor = never\n").project("[image]\nflavor = slim\n");
    let config = folder.resolve(&[], &[]).unwrap();
    assert_eq!(config.text("image.flavor"), Some("slim"));
    assert!(matches!(origin(&config, "image.flavor"), Origin::Project { line: 2, .. }));
    assert!(matches!(origin(&config, "ui.color"), Origin::User { line: 4, .. }));
    assert_eq!(origin(&config, "tool.max-calls"), &Origin::Default);
    let config = folder.resolve(&[], &[("AIFO_CODER_IMAGE_FLAVOR", "full"), ("AIFO_CODER_COLOR", "")]).unwrap();
    assert_eq!(origin(&config, "image.flavor"), &Origin::Variable("AIFO_CODER_IMAGE_FLAVOR"));
    assert_eq!(config.text("ui.color"), Some("never"), "an empty variable has no opinion");
    let config =
        folder.resolve(&[("flavor", "slim"), ("flavor", "full")], &[("AIFO_CODER_IMAGE_FLAVOR", "slim")]).unwrap();
    assert_eq!(
        (config.text("image.flavor"), origin(&config, "image.flavor")),
        (Some("full"), &Origin::Option("flavor"))
    );
}

#[test]
fn a_list_is_taken_whole_from_one_origin() {
    let folder = Folder::new("list");
    folder.user("[session]\ntoolchain = go\n").project("[session]\ntoolchain = rust\ntoolchain = node\n");
    let kinds = |config: &Config| config.toolchains().unwrap().iter().map(|spec| spec.kind.name).collect::<Vec<_>>();
    assert_eq!(kinds(&folder.resolve(&[], &[]).unwrap()), ["rust", "node"]);
    assert_eq!(kinds(&folder.resolve(&[], &[("AIFO_CODER_TOOLCHAINS", "python cpp")]).unwrap()), ["python", "c-cpp"]);
    assert_eq!(kinds(&folder.resolve(&[("toolchain", "go")], &[]).unwrap()), ["go"]);
}

#[test]
fn promise_9_a_project_cannot_widen() {
    let folder = Folder::new("widen");
    folder.user("[session]\nnetwork = mine\n").project(
        "[session]\ndocker = /tmp/evil\nnetwork = host\nvolume = /:/host\ntoolchain = rust=evil/image\nenv = A=b\n[tool]\nverbose\n",
    );
    let config = folder.resolve(&[], &[]).unwrap();
    assert_eq!((config.text("session.docker"), config.text("session.network")), (Some("docker"), Some("mine")));
    assert!(config.list("session.volume").is_empty() && config.list("session.toolchain").is_empty());
    assert!(config.is_on("tool.verbose"));
    assert_eq!(config.warnings.len(), 5);
    assert!(
        config.warnings[0].contains("config:2: `session.docker` counts only in your own file"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn what_cannot_be_obeyed_is_named_with_its_place() {
    let folder = Folder::new("bad");
    let sentence = |result: Result<Config, Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    };
    for (text, part) in [
        ("[image]\nflavour = slim\n", "line 2: no setting `image.flavour`"),
        ("[image]\nflavor = huge\n", "config:2: expected one of full, slim"),
        ("[tool]\nmax-calls = 0\n", "expected a number from 1 to 1000"),
        ("[session]\nuser = me\n", "expected UID:GID"),
        ("[session]\ntoolchain = ruby\n", "config:2: no toolchain kind `ruby`"),
        ("[session]\nallow-home = maybe\n", "expected 1 or 0"),
        ("nonsense", "line 1"),
    ] {
        folder.user(text);
        let said = sentence(folder.resolve(&[], &[]));
        assert!(said.contains(part), "{said}");
    }
    folder.user("");
    assert!(
        sentence(folder.resolve(&[], &[("AIFO_TOOLEEXEC_MAX_SECS", "-1")]))
            .contains("AIFO_TOOLEEXEC_MAX_SECS: expected a number")
    );
    assert!(sentence(folder.resolve(&[("tool", "vite")], &[])).contains("not KIND:NAME"));
}

#[test]
fn t61_a_project_file_that_is_no_plain_file_is_refused() {
    let folder = Folder::new("plain");
    let config = folder.0.join("project/.aifo-coder/config");
    std::os::unix::fs::symlink("/etc/passwd", &config).unwrap();
    assert!(folder.resolve(&[], &[]).unwrap_err().to_string().contains("not a plain file"));
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    assert!(folder.resolve(&[], &[]).is_err());
    fs::remove_dir(&config).unwrap();
    folder.project(&format!("[ui]\ncolor = {}\n", "x".repeat(300_000)));
    assert!(folder.resolve(&[], &[]).unwrap_err().to_string().contains("longer"));
    folder.project("[ui]\n\u{0}\n");
    assert!(folder.resolve(&[], &[]).is_err());
    assert!(!Path::new("/nonexistent").exists());
}

#[test]
fn a_path_below_home_is_one_wherever_it_is_written() {
    let folder = Folder::new("home");
    folder.user("[session]\ndocker = ~/d\nca = ~/c\nenv-file = ~/e\n");
    let config = folder.resolve(&[], &[]).unwrap();
    let home = PathBuf::from(env::var_os("HOME").unwrap());
    assert_eq!((config.docker(), config.path("session.ca")), (home.join("d"), Some(home.join("c"))));
    assert_eq!(expanded(&config.list("session.env-file")[0]), home.join("e"));
    for text in ["docker", "/x/~/y", "~other/x", "a~"] {
        assert_eq!(expanded(text), Path::new(text));
    }
}

/// `AIFO_GOLDEN=write` makes the table anew.
#[test]
fn the_readme_lists_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (head, rest) = readme.split_once("<!-- settings: begin -->\n").unwrap();
    let (_, tail) = rest.split_once("<!-- settings: end -->\n").unwrap();
    let mut table = "| setting | variable | option | meaning | default |\n|---|---|---|---|---|\n".to_owned();
    for setting in SETTINGS {
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let option = if setting.option.is_empty() { "" } else { &format!("--{}", setting.option) };
        let values = match setting.kind {
            Kind::Choice(choices) => format!(" ({})", choices.join(", ")),
            Kind::Number { least, most } => format!(" ({least} to {most})"),
            _ => String::new(),
        };
        // The release is another with every version.
        let default = if setting.default == crate::RELEASE { "release-VERSION" } else { setting.default };
        table.push_str(&format!(
            "| {}{} | {} | {} | {}{values} | {} |\n",
            code(setting.key),
            if setting.widens { "" } else { " *" },
            code(setting.variable),
            code(option),
            setting.meaning,
            code(default)
        ));
    }
    let expected = format!("{head}<!-- settings: begin -->\n{table}<!-- settings: end -->\n{tail}");
    if env::var("AIFO_GOLDEN").is_ok_and(|wish| wish == "write") {
        fs::write(&path, &expected).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}
