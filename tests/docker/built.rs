//! What is built twice, in two folders, is the same to the last byte: programs, archives, our layer, the session's image,
//! and a bundle's list of sums.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::support::{Background, Ran, TempDir, xtask_in};

const ARCH: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

/// The sources, without what was built of them.
const SOURCES: [&str; 9] = [".cargo", "Cargo.lock", "Cargo.toml", "LICENSE", "images", "shim", "src", "tests", "xtask"];

/// A copy of this checkout at another place, of another length.
#[track_caller]
fn elsewhere(dir: &TempDir) -> PathBuf {
    let folder = dir.path().join("a folder/of another name");
    fs::create_dir_all(&folder).expect("room");
    let mut copy = Command::new("cp");
    copy.args(["--recursive", "--target-directory"]).arg(&folder).args(SOURCES);
    Ran::of(copy.current_dir(env!("CARGO_MANIFEST_DIR"))).expect(0);
    folder
}

#[track_caller]
fn built(checkout: &Path, words: &[&str]) -> String {
    Background::start(&mut xtask_in(checkout, words)).end_within(Duration::from_secs(900)).expect(0)
}

/// The words of a text that name the session's image.
fn session_image(text: &str) -> Option<&str> {
    text.split([' ', '\'', '\n']).find(|word| word.starts_with("aifo-coder-session:"))
}

#[test]
#[ignore = "needs docker"]
fn two_folders_give_the_same_bytes() {
    let dir = TempDir::new();
    let checkouts = [PathBuf::from(env!("CARGO_MANIFEST_DIR")), elsewhere(&dir)];
    let both = |what: &str, of: &dyn Fn(&Path) -> String| {
        let [one, two] = [0, 1].map(|at| of(&checkouts[at]));
        assert!(!one.is_empty() && one == two, "{what} differs:\n{one}\n{two}");
    };
    // The archive holds the programs, the completions and the manual: its sum is that of all of them.
    both("an archive", &|checkout| built(checkout, &["dist", "--arch", ARCH]));
    both("our layer", &|checkout| built(checkout, &["images", "layer"]));
    both("the session's image", &|checkout| {
        let launcher = checkout.join("target/dist").join(format!("linux-{ARCH}")).join("aifo-coder");
        let mut dry = Command::new(launcher);
        let printed = Ran::of(dry.args(["--dry-run", "run", "--", "true"]).current_dir(dir.path())).expect(0);
        session_image(&printed).expect("it is named").to_owned()
    });
    both("a bundle", &|checkout| {
        let bundle = dir.path().join("bundle");
        let platform = format!("linux/{ARCH}");
        let output = bundle.to_str().expect("plain");
        built(checkout, &["images", "save", "shell", "--platform", &platform, "--output", output]);
        let sums = fs::read_to_string(bundle.join("SHA256SUMS")).expect("it is there");
        fs::remove_dir_all(&bundle).expect("it was ours");
        sums
    });
}
