//! Bundles: written by `cargo xtask images save`, taken over by an engine that has no way to any network, or refused.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::support::{Background, Ran, TempDir, docker::Island, program, under, xtask};

const RELEASE: &str = concat!(":release-", env!("CARGO_PKG_VERSION"));

/// A signed bundle of two images, and the keys that signed it.
#[derive(Debug)]
struct Made {
    dir: TempDir,
    digest: String,
    key: String,
}

impl Made {
    #[track_caller]
    fn new() -> Self {
        let dir = TempDir::new();
        let keys = dir.path().join("keys");
        let key = new_key(&keys);
        let mut save = xtask(&["images", "save", "shell", "python", "claude", "--sign", &key, "--output"]);
        save.arg(dir.path().join("bundle")).env("GNUPGHOME", &keys);
        let ran = Background::start(&mut save).end_within(Duration::from_secs(600));
        kill_agent(&keys);
        let said = ran.expect(0);
        let why =
            concat!("left out: aifo-coder-claude:release-", env!("CARGO_PKG_VERSION"), ": its licence lets anybody");
        assert!(ran.err().contains(why), "{ran}");
        let (_, digest) = said.split_once("digest ").expect("the digest is printed");
        Self { digest: digest.trim().to_owned(), key, dir }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("bundle")
    }

    /// A bundle of the test's own: the same files, of which each may be replaced.
    #[track_caller]
    fn copy(&self, to: &Path) -> PathBuf {
        let copy = to.join("copy");
        drop(fs::remove_dir_all(&copy));
        Ran::of(Command::new("cp").args(["--archive", "--link"]).arg(self.folder()).arg(&copy)).expect(0);
        copy
    }
}

/// A key pair without a passphrase; gives its fingerprint.
#[track_caller]
fn new_key(home: &Path) -> String {
    fs::create_dir(home).expect("a fresh folder");
    Ran::of(Command::new("chmod").arg("700").arg(home)).expect(0);
    let gpg = |words: &[&str]| {
        let mut gpg = Command::new("gpg");
        Ran::of(gpg.args(["--batch", "--quiet"]).args(words).env("GNUPGHOME", home).stdin(Stdio::null())).expect(0)
    };
    gpg(&["--passphrase", "", "--quick-generate-key", "it@example.invalid", "ed25519", "sign", "never"]);
    let listed = gpg(&["--with-colons", "--list-keys"]);
    kill_agent(home);
    let line = listed.lines().find(|line| line.starts_with("fpr:")).expect("a fingerprint");
    line.trim_end_matches(':').rsplit(':').next().expect("a last field").to_owned()
}

/// Whoever uses a key starts an agent for it; nothing of a test may stay.
#[track_caller]
fn kill_agent(home: &Path) {
    Ran::of(Command::new("gpgconf").args(["--kill", "gpg-agent"]).env("GNUPGHOME", home)).expect(0);
}

/// `aifo-coder bundle …` on an island.
fn bundle(island: &Island, made: &Made, verb: &str, folder: &Path, words: &[&str]) -> Ran {
    let mut command = island.command(program("aifo-coder"));
    command.args(["bundle", verb]).arg(folder).args(words).env("GNUPGHOME", made.dir.path().join("keys"));
    Ran::of(&mut command)
}

/// One test, because making a bundle is what takes its time.
#[test]
#[ignore = "needs docker"]
fn a_bundle_is_refused_unless_it_is_its_makers_and_then_loads_without_any_network() {
    let (made, island) = (Made::new(), Island::new());
    refuses_whatever_is_not_as_its_maker_left_it(&island, &made);
    refuses_what_somebody_else_has_made(&island, &made);
    loads_without_any_network_and_doctor_passes(&island, &made);
}

fn loads_without_any_network_and_doctor_passes(island: &Island, made: &Made) {
    // No route but that of docker's own bridge.
    let routes = Ran::of(island.command("ip").args(["route", "show", "default"]));
    assert_eq!(routes.expect(0), "");
    assert_eq!(island.docker(&["images", "--quiet"]).expect(0), "");
    let ran = bundle(island, made, "load", &made.folder(), &["--digest", &made.digest, "--key", &made.key]);
    let said = ran.expect(0);
    assert!(said.contains(&format!("digest {}", made.digest)) && !ran.err().contains("warning"), "{ran}");
    assert!(ran.err().contains("not in it: aifo-coder-claude"), "{ran}");
    let loaded: Vec<&str> = said.lines().skip(1).collect();
    assert_eq!(loaded, [format!("aifo-coder-shell{RELEASE}"), format!("aifo-coder-toolchain-python{RELEASE}")]);
    // The launcher of the bundle itself, from a workspace of its own.
    let launcher = made.folder().join("bin").join(format!("linux-{}", arch())).join("aifo-coder");
    let workspace = island.path().join("workspace");
    fs::create_dir(&workspace).expect("a fresh folder");
    let doctor = Ran::of(island.command(launcher).arg("doctor").current_dir(workspace));
    let checks = doctor.expect(0);
    assert!(checks.contains("shell python call") && checks.contains("Python 3"), "{doctor}");
    assert_eq!(island.docker(&["ps", "--all", "--quiet"]).expect(0), "");
}

/// Both verbs, with one reason, and an engine that stays as empty as it was.
#[track_caller]
fn expect_refusal(island: &Island, made: &Made, folder: &Path, words: &[&str], why: &str) {
    for verb in ["verify", "load"] {
        let ran = bundle(island, made, verb, folder, words);
        assert_eq!(ran.expect(125), "");
        let err = ran.err();
        let first = err.lines().next().unwrap_or_default();
        assert!(first.starts_with("aifo-coder: error: bundle `") && first.contains(why), "{why}: {ran}");
        assert_eq!(err.lines().count(), 2, "{ran}");
    }
    assert_eq!(island.docker(&["images", "--all", "--quiet"]).expect(0), "", "{why}");
}

fn refuses_whatever_is_not_as_its_maker_left_it(island: &Island, made: &Made) {
    let layer = largest(&made.folder().join("images/blobs/sha256"));
    let change = |change: &dyn Fn(&Path), why: &str| {
        let copy = made.copy(island.path());
        change(&copy);
        expect_refusal(island, made, &copy, &[], why);
    };
    change(&|copy| flip_a_bit(&copy.join("images/blobs/sha256").join(&layer)), "is not what SHA256SUMS says");
    change(
        &|copy| flip_a_bit(&copy.join("bin").join(format!("linux-{}", arch())).join("aifo-shim")),
        "aifo-shim` is not",
    );
    change(&|copy| flip_a_bit(&copy.join("BUNDLE")), "BUNDLE` is not");
    change(&|copy| fs::remove_file(copy.join("images/blobs/sha256").join(&layer)).expect("it is there"), "is missing");
    change(&|copy| fs::remove_file(copy.join("SHA256SUMS")).expect("it is there"), "has no file `SHA256SUMS`");
    change(&|copy| fs::write(copy.join("sbom/extra"), "x").expect("room"), "`sbom/extra` is not in SHA256SUMS");
    let link = |copy: &Path| {
        fs::remove_file(copy.join("README")).expect("it is there");
        std::os::unix::fs::symlink(made.folder().join("README"), copy.join("README")).expect("room");
    };
    change(&link, "`README` is no plain file");
}

/// A list that fits its files, by somebody else: only its maker's digest or key tells.
fn refuses_what_somebody_else_has_made(island: &Island, made: &Made) {
    let refused = |folder: &Path, words: &[&str], why: &str| expect_refusal(island, made, folder, words, why);
    let forged = made.copy(island.path());
    fs::remove_file(forged.join("README")).expect("it is there");
    let list = fs::read_to_string(forged.join("SHA256SUMS")).expect("it is there");
    let list: String =
        list.lines().filter(|line| !line.ends_with("  README")).map(|line| format!("{line}\n")).collect();
    fs::remove_file(forged.join("SHA256SUMS")).expect("it is there");
    fs::write(forged.join("SHA256SUMS"), list).expect("room");
    bundle(island, made, "verify", &forged, &[]).expect(0);
    refused(&forged, &["--digest", &made.digest], "not the one that was named");
    refused(&forged, &["--key", &made.key], "has not signed it: the signature does not hold");
    refused(&made.folder(), &["--key", &"A".repeat(40)], "has not signed it");
    fs::remove_file(forged.join("SHA256SUMS.sig")).expect("it is there");
    refused(&forged, &["--key", &made.key], "it is not signed");
}

#[test]
#[ignore = "needs docker"]
fn a_bundle_is_never_written_over_anything_or_left_in_part() {
    let dir = TempDir::new();
    let save = |words: &[&str], output: &Path, docker: Option<&Path>| {
        let mut save = xtask(&["images", "save", "--output"]);
        save.arg(output).args(words).envs(docker.map(|docker| ("AIFO_CODER_DOCKER", docker)));
        Background::start(&mut save).end_within(Duration::from_secs(120))
    };
    let there = dir.path().join("there");
    fs::create_dir(&there).expect("a fresh folder");
    fs::write(there.join("mine"), "1").expect("room");
    let ran = save(&["shell"], &there, None);
    ran.expect(1);
    assert!(ran.err().contains("is there already"), "{ran}");
    // What docker cannot hand out to its end leaves neither a bundle nor its draft.
    let broken = dir.path().join("docker");
    let script = "#!/bin/sh\ncase $1 in save) docker \"$@\" | head -c 20000000; exit 1;; esac\nexec docker \"$@\"\n";
    fs::write(&broken, script).expect("room");
    Ran::of(Command::new("chmod").arg("755").arg(&broken)).expect(0);
    let ran = save(&["shell"], &dir.path().join("new"), Some(&broken));
    ran.expect(1);
    assert!(ran.err().contains("xtask: error: "), "{ran}");
    let mut left: Vec<_> =
        fs::read_dir(dir.path()).expect("it is there").map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["docker", "there"]);
    // All that is asked for is what may not be passed on.
    let ran = save(&["claude"], &dir.path().join("new"), None);
    ran.expect(1);
    assert!(ran.err().contains("none of these images may or can be passed on"), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn a_bundle_may_be_written_onto_an_empty_stick_and_anybody_may_read_it() {
    let dir = TempDir::new();
    let stick = dir.path().to_str().expect("plain");
    // A mount that nobody else sees; then what not all may read, and what is there.
    let script = "umask 077; mount -t tmpfs none \"$0\" && \"$@\" && cd \"$0\" && find . ! -perm -004 && ls -A";
    let save = xtask(&["images", "save", "shell-slim", "--output", stick]);
    let mut command = under(&["unshare", "--mount", "sh", "-c", script, stick], &save);
    let ran = Background::start(command.stdin(Stdio::null())).end_within(Duration::from_secs(300));
    let said = ran.expect(0);
    let (_, listed) = said.split_once("\ndigest ").expect("the digest is printed");
    let names: Vec<&str> = listed.lines().skip(1).collect();
    assert_eq!(names, ["BUNDLE", "LICENSE", "README", "SHA256SUMS", "bin", "images", "sbom", "share"]);
}

fn arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// The name of the largest file in a folder.
#[track_caller]
fn largest(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let largest = entries.max_by_key(|entry| entry.metadata().map_or(0, |found| found.len()));
    largest.expect("a file").file_name().into()
}

/// Puts a file in its place that differs in one bit.
#[track_caller]
fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(path).expect("it is there");
    fs::write(path, bytes).expect("room");
}
