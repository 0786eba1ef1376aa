//! What an image's own lists say is installed in it: Debian's, npm's, Python's; pure.
//!
//! A package is named by what it says of itself; what says nothing of its version is left out rather than guessed.

use aifo_shim::json::Json;

/// Something that is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// Its address as others know it (package-url).
    pub(super) purl: String,
    /// An SPDX expression; nothing where what it says is none.
    pub(super) licence: Option<String>,
}

/// The installed packages of a list in dpkg's format: all in one file, or one a file.
pub(super) fn debian(status: &str, release: &str) -> Vec<Package> {
    status.split("\n\n").filter_map(|paragraph| debian_package(paragraph, release)).collect()
}

fn debian_package(paragraph: &str, release: &str) -> Option<Package> {
    let field = |name: &str| {
        let mut lines = paragraph.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim)
    };
    if !field("Status")?.ends_with(" installed") {
        return None;
    }
    let (name, version, arch) = (field("Package")?, field("Version")?, field("Architecture")?);
    let purl = format!("pkg:deb/debian/{}@{}?arch={arch}&distro={release}", encoded(name), encoded(version));
    Some(Package { name: name.to_owned(), version: version.to_owned(), purl, licence: None })
}

/// The package of a package.json that lies at this path.
pub(super) fn npm(path: &str, text: &str) -> Option<Package> {
    if !is_package_root(path) {
        return None;
    }
    let json = Json::parse(text)?;
    let field = |name: &str| json.get(name).and_then(Json::as_text).filter(|text| !text.is_empty());
    let (name, version) = (field("name")?, field("version")?);
    let address = name.split('/').map(encoded).collect::<Vec<_>>().join("/");
    let licence = field("license").filter(|licence| is_expression(licence)).map(str::to_owned);
    let purl = format!("pkg:npm/{address}@{}", encoded(version));
    Some(Package { name: name.to_owned(), version: version.to_owned(), purl, licence })
}

/// `…/node_modules/NAME`, `…/node_modules/@SCOPE/NAME`, or the whole of a native package in `opt/NAME`. Others are
/// folders of a package that say how their files are to be read.
fn is_package_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["opt", _, "package.json"] => true,
        [.., "node_modules", scope, _, "package.json"] if scope.starts_with('@') => true,
        [.., "node_modules", name, "package.json"] => !name.starts_with('@'),
        _ => false,
    }
}

/// The package of a METADATA or PKG-INFO file.
pub(super) fn python(text: &str) -> Option<Package> {
    let head = text.split("\n\n").next().unwrap_or_default();
    let field = |name: &str| {
        let mut lines = head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim)
    };
    let (name, version) = (field("Name")?, field("Version")?);
    let licence = field("License-Expression").or(field("License"));
    let licence = licence.filter(|licence| is_expression(licence)).map(str::to_owned);
    // PyPI knows a name in one spelling only.
    let address = name.to_lowercase().replace(['_', '.'], "-");
    let purl = format!("pkg:pypi/{}@{}", encoded(&address), encoded(version));
    Some(Package { name: name.to_owned(), version: version.to_owned(), purl, licence })
}

/// Node's own binary, which has no list: the version that stands in it.
pub(super) fn node(program: &[u8]) -> Option<Package> {
    const MARK: &[u8] = b"nodejs.org/download/release/v";
    let at = program.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let rest = program.get(at..at + 32)?;
    let end = rest.iter().position(|byte| *byte == b'/')?;
    let version = String::from_utf8(rest.get(..end)?.to_vec()).ok()?;
    let purl = format!("pkg:generic/node@{}", encoded(&version));
    Some(Package { name: "node".to_owned(), version, purl, licence: Some("MIT".to_owned()) })
}

/// The licences that our packages name most; what is not made of these is not claimed.
const LICENCES: &[&str] = &[
    "0BSD",
    "AND",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BlueOak-1.0.0",
    "CC-BY-4.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "OR",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
];

fn is_expression(text: &str) -> bool {
    let mut words = text.split(['(', ')', ' ']).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| LICENCES.contains(&word))
}

/// As a package-url wants it.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_~:".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::{debian, node, npm, python};

    #[test]
    fn debian_lists_what_is_installed() {
        let status = "Package: a\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2+b~3\n\n\
                      Package: b\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\n\n\
                      Package: c\nStatus: hold ok installed\nArchitecture: all\nVersion: 9\nDescription: x\n Version: 8\n";
        let found = debian(status, "bookworm");
        assert_eq!(found.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(found[0].purl, "pkg:deb/debian/a@1:2%2Bb~3?arch=amd64&distro=bookworm");
        assert_eq!(found[1].version, "9");
    }

    #[test]
    fn npm_packages_are_told_from_their_folders() {
        let text = r#"{"name":"@s/n","version":"1.0","license":"(MIT OR Apache-2.0)"}"#;
        let package = npm("opt/pi/node_modules/@s/n/package.json", text).unwrap();
        assert_eq!(
            (package.purl.as_str(), package.licence.as_deref()),
            ("pkg:npm/%40s/n@1.0", Some("(MIT OR Apache-2.0)"))
        );
        assert!(npm("usr/local/lib/node_modules/npm/node_modules/n/package.json", text).is_some());
        assert!(npm("opt/claude/package.json", text).is_some());
        for path in ["opt/pi/node_modules/n/dist/esm/package.json", "opt/pi/node_modules/@s/package.json"] {
            assert_eq!(npm(path, text), None, "{path}");
        }
        let other = r#"{"name":"n","version":"1","license":"SEE LICENSE IN x"}"#;
        assert_eq!(npm("node_modules/n/package.json", other).unwrap().licence, None);
        assert_eq!(npm("node_modules/n/package.json", r#"{"name":"n"}"#), None);
    }

    #[test]
    fn python_names_are_spelled_as_pypi_does() {
        let package =
            python("Metadata-Version: 2.1\nName: Foo_bar.x\nVersion: 1.2\nLicense: MIT\n\nName: body\n").unwrap();
        assert_eq!(package.purl, "pkg:pypi/foo-bar-x@1.2");
        assert_eq!(package.licence.as_deref(), Some("MIT"));
        assert_eq!(python("Name: x\n"), None);
    }

    #[test]
    fn nodes_version_stands_in_its_binary() {
        let program = b"\0\x7fhttps://nodejs.org/download/release/v24.1.0/node-v24.1.0.tar.gz\0............";
        assert_eq!(node(program).unwrap().version, "24.1.0");
        assert_eq!(node(b"nodejs.org"), None);
    }
}
