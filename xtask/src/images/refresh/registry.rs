//! Questions to npm's and PyPI's registries, asked by npm, pip and uv inside our own toolchain images.
//!
//! The host needs neither, and what a package manager does while it answers stays in a container that holds nothing. The
//! certificates go in by standard input, so that it works with any daemon; the scripts are constants, what varies is
//! their arguments.

use std::{
    ffi::OsString,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Output, Stdio},
};

use super::{
    super::{engine::Engine, proxy, table},
    text,
};
use crate::cmd::{Failure, io_failure, shown};

/// Runs the words that follow it, with the certificates of the image and those that come in.
const WITH_CERTIFICATES: &str = "cat - /etc/ssl/certs/ca-certificates.crt >/tmp/ca.crt
export HOME=/tmp NODE_EXTRA_CA_CERTS=/tmp/ca.crt SSL_CERT_FILE=/tmp/ca.crt PIP_CERT=/tmp/ca.crt
cd /tmp
";

/// Prints the lock file of the package.json that is its second argument.
const LOCK: &str = "printf '%s' \"$2\" >package.json
npm install --registry \"$1\" --package-lock-only --ignore-scripts --omit=dev --no-audit --no-fund >&2
cat package-lock.json";

/// Prints what a package needs on one processor, with all sums.
const REQUIREMENTS: &str = "printf '%s\\n' \"$2\" >in.txt
uv pip compile --quiet --default-index \"$1\" --python-version \"$3\" --python-platform \"$4-manylinux_2_36\" \\
    --generate-hashes --no-header --no-annotate in.txt";

/// Prints the file name and the sum of a wheel.
const WHEEL: &str = "pip download --quiet --index-url \"$1\" --no-deps --only-binary :all: --platform \"$3\" \"$2\" >&2
sha256sum -- *.whl";

/// Where questions go.
#[derive(Debug)]
pub(super) struct Registries<'a> {
    pub(super) engine: &'a Engine,
    /// Certificates that are trusted besides those of the image.
    pub(super) ca: Option<PathBuf>,
    pub(super) npm: String,
    pub(super) pypi: String,
}

impl Registries<'_> {
    /// The versions of an npm package in a range.
    pub(super) fn versions(&self, package: &str, range: &str) -> Result<Vec<String>, Failure> {
        let package = format!("{package}@{range}");
        let answer = self.ask("node", "npm view --registry \"$1\" \"$2\" version --json", &[&self.npm, &package])?;
        Ok(text::strings(&answer))
    }

    /// The sum of an npm package's tarball, in hex.
    pub(super) fn sum(&self, package: &str, version: &str) -> Result<String, Failure> {
        let package = format!("{package}@{version}");
        let script = "npm view --registry \"$1\" \"$2\" dist.integrity --json";
        let answer = self.ask("node", script, &[&self.npm, &package])?;
        let sum = text::strings(&answer).first().and_then(|integrity| text::hex(integrity));
        sum.ok_or_else(|| Failure::new(format!("the registry states no SHA-512 of `{package}`")))
    }

    /// The lock file that npm makes of a package.json.
    pub(super) fn lock(&self, manifest: &str) -> Result<String, Failure> {
        let lock = self.ask("node", LOCK, &[&self.npm, manifest])?;
        // A lock file names the public registry; npm itself puts a mirror in its place.
        Ok(lock.replace(&format!("\"{}/", self.npm), "\"https://registry.npmjs.org/"))
    }

    /// What a PyPI package needs on one processor.
    pub(super) fn requirements(&self, package: &str, python: &str, machine: &str) -> Result<String, Failure> {
        self.ask("python", REQUIREMENTS, &[&self.pypi, package, python, machine])
    }

    /// The version and the sum of a wheel for one platform.
    pub(super) fn wheel(&self, package: &str, platform: &str) -> Result<(String, String), Failure> {
        let answer = self.ask("python", WHEEL, &[&self.pypi, package, platform])?;
        let mut words = answer.split_whitespace();
        let sum = words.next().map(str::to_owned);
        let version = words.next().and_then(|file| file.split('-').nth(1)).map(str::to_owned);
        version.zip(sum).ok_or_else(|| Failure::new(format!("PyPI has no wheel of `{package}` for {platform}")))
    }

    /// Runs a script in a toolchain's image and returns what it printed.
    fn ask(&self, kind: &str, script: &str, args: &[&str]) -> Result<String, Failure> {
        let image = table::reference(&format!("toolchain-{kind}"));
        let proxies = proxy::variables(|name| std::env::var_os(name));
        let mut command = self.engine.command();
        command.args(["run", "--rm", "--interactive", "--cap-drop", "ALL", "--tmpfs", "/tmp:exec"]);
        command.args(proxies.iter().flat_map(|(name, _)| [OsString::from("--env"), name.into()]));
        command.envs(proxies).arg(image).args(["sh", "-euc", &format!("{WITH_CERTIFICATES}{script}"), "sh"]).args(args);
        let certificates = match &self.ca {
            Some(path) => fs::read(path).map_err(io_failure("read", path.display()))?,
            None => Vec::new(),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(io_failure("start", shown(&command)))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A container that did not start reads nothing; its own words come below.
            drop(stdin.write_all(&certificates));
        }
        let Output { status, stdout, stderr } = child.wait_with_output().map_err(io_failure("wait for", "docker"))?;
        if status.success() {
            return Ok(String::from_utf8_lossy(&stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&stderr);
        let line = said.lines().rfind(|line| line.contains("rror") && !line.contains("log of this run"));
        let why = line.or(said.lines().last()).unwrap_or("it did not say why").trim();
        Err(Failure::new(format!("the registry's client failed: {why}")))
    }
}
