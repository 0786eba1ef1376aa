//! What git says, what becomes of it in a container, and which files count.

use super::*;

/// What becomes of what git lists, `|` for NUL, in a repository, where these files are included.
fn identity_with(listed: &str, git_dir: &str, wish: Option<&str>, files: &[(&str, &str)]) -> Identity {
    let mut identity = Identity { wish: wish.map(str::to_owned), ..Identity::default() };
    let listing = |listed: &str| parse(listed.replace('|', "\0").as_bytes());
    let included = |file: &Path| {
        let known = files.iter().find(|(name, _)| Path::new(name) == file);
        known.map_or_else(|| Err(format!("bad {}", file.display())), |(_, listed)| Ok(listing(listed)))
    };
    let place = Place { git_dir: Path::new(git_dir), home: Path::new("/home/u"), included: &included };
    identity.take(Ok(listing(listed)), &place, DEEPEST);
    identity
}

fn identity(listed: &str, git_dir: &str, wish: Option<&str>) -> Identity {
    identity_with(listed, git_dir, wish, &[])
}

const SIGNING: &str = "file:/g|user.name\nA \"B\"|file:/g|user.email\na@b|file:/g|commit.gpgsign|file:/h|user.signingkey\nKEY|\
                       file:/h|user.name\nB|file:/h|other.name\n|";

#[test]
fn what_git_says_becomes_a_file_that_the_repository_overrules() {
    let identity = identity(SIGNING, "/w/.git", None);
    let who = "[user]\n\temail = \"a@b\"\n[user]\n\tname = \"B\"\n";
    assert_eq!(identity.file(Keys::Absent), who);
    let signing = "[commit]\n\tgpgsign = \"true\"\n[user]\n\tsigningkey = \"KEY\"\n";
    assert_eq!(identity.file(Keys::Present), format!("{who}{signing}"));
    assert_eq!(quoted("a\\b \"c\"\n"), r#""a\\b \"c\"\n""#);
}

#[test]
fn only_what_the_repository_cannot_know_stands_above_it() {
    let forced = |wish, keys| identity(SIGNING, "/w/.git", wish).variables(keys).last().map(|(_, value)| *value);
    assert_eq!(forced(None, Keys::Absent), Some("false"));
    assert_eq!(forced(Some("1"), Keys::Absent), Some("false"));
    assert_eq!(forced(None, Keys::Present), None);
    assert_eq!(forced(Some("1"), Keys::Present), Some("true"));
}

#[test]
fn signing_is_as_git_is_set_to_or_as_the_user_says() {
    let signs = |listed: &str, wish| identity(listed, "/w/.git", wish).signs();
    let with = |key: &str, value: &str| format!("{SIGNING}file:/i|{key}\n{value}|");
    assert!(signs(SIGNING, None) && signs("", Some("1")) && !signs("", None) && !signs(SIGNING, Some("0")));
    assert!(signs(&with("commit.gpgsign", "Yes"), None) && !signs(&with("commit.gpgsign", "off"), None));
    let ssh = with("gpg.format", "ssh");
    assert!(!signs(&ssh, None) && !signs(&ssh, Some("1")) && signs(&with("gpg.format", "openpgp"), None));
}

#[test]
fn a_folders_own_identity_counts_and_a_branchs_is_only_told() {
    let files = [
        ("/g/work", "file:/g/work|user.email\nwork@b|file:/g/work|includeif.gitdir:**/deep/.path\n~/deep|"),
        ("/home/u/deep", "file:/home/u/deep|user.name\nDeep|"),
        ("/g/loop", "file:/g/loop|includeif.gitdir:/.path\nloop|"),
        ("/g/signs", "file:/g/signs|commit.gpgsign|"),
    ];
    let listed = "file:/g/c|includeif.gitdir:~/work/.path\nwork|file:/g/c|includeif.onbranch:x.path\nwork|\
                  file:/g/c|includeif.gitdir:/.path\nloop|file:/g/c|includeif.hasconfig:remote.*.url:x.path\nsigns|";
    let said = |git_dir: &str| identity_with(listed, git_dir, None, &files);
    assert_eq!(said("/home/u/work/a/.git").file(Keys::Absent), "[user]\n\temail = \"work@b\"\n");
    let deep = "[user]\n\temail = \"work@b\"\n[user]\n\tname = \"Deep\"\n";
    assert_eq!(said("/home/u/work/deep/.git").file(Keys::Absent), deep);
    assert_eq!(said("/home/u/a/.git").file(Keys::Absent), "");
    let notes = said("/home/u/a/.git").notes;
    assert!(notes.len() == 1 && notes[0].contains("includeIf `onbranch:x` is not followed"), "{notes:?}");
    let notes = identity(listed, "/home/u/work/a/.git", None).notes;
    assert_eq!(notes, ["git cannot say who commits: bad /g/work", "git cannot say who commits: bad /g/loop"]);
}
