//! The Debian that the images start from: the user's, one that is here, a registry's, or one made from packages.
//!
//! The last is for machines that reach Debian's archive and no registry. It gets a name of our own, never `debian:…`:
//! whoever asks for Debian's image must not find ours in its place.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::{engine::Engine, named, table::Debian};
use aifo_shim::json::Json;

use crate::{
    cmd::{self, Failure, io_failure, shown},
    report,
};

/// What a registry calls it.
fn public(debian: Debian) -> String {
    format!("debian:{}-slim", debian.name())
}

/// What it is called when we made it.
fn own(debian: Debian, engine: &Engine) -> String {
    named(&format!("aifo-coder-debian:{}", debian.name()), engine)
}

/// The root's only layer, in the archive that docker loads.
const LAYER: &str = "layer.tar";

/// How long a registry may take to answer at all; the download after that takes what it takes.
const REGISTRY_PATIENCE: Duration = Duration::from_secs(15);

/// What no container needs. Licences stay, by right of their authors.
const LEFT_OUT: [&str; 4] = ["/usr/share/info/*", "/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*"];

fn sources(debian: Debian) -> String {
    let suite = debian.name();
    format!(
        "\
deb http://deb.debian.org/debian {suite} main
deb http://deb.debian.org/debian {suite}-updates main
deb http://deb.debian.org/debian-security {suite}-security main
"
    )
}

/// The reference to start from; makes or pulls the image if need be, with its log below `logs`.
///
/// # Errors
/// When there is no image, no registry and no way to make one.
pub(super) fn pick(engine: &Engine, debian: Debian, asked: Option<&str>, logs: &Path) -> Result<String, Failure> {
    if let Some(reference) = asked {
        return Ok(reference.to_owned());
    }
    let (public, own) = (public(debian), own(debian, engine));
    // A name holds one image: another processor's must not take the place of docker's own.
    let known = if engine.is_foreign() { vec![&own] } else { vec![&public, &own] };
    for reference in known {
        if engine.inspect(reference)?.is_some() {
            return Ok(reference.clone());
        }
    }
    if engine.is_foreign() {
        report::say(format_args!("debian: making a root for {} from packages; else --base REF", engine.arch));
    } else {
        report::say(format_args!("debian: asking the registry for {public}"));
        if pulled(engine, &public)? {
            return Ok(public);
        }
        report::say("debian: no registry answers; making a root from Debian's packages");
    }
    let root = logs.join(named(&format!("debian-{}", debian.name()), engine));
    fs::create_dir_all(&root).map_err(io_failure("create", root.display()))?;
    make(engine, debian, &root.join(LAYER), logs)?;
    load(engine, &own, &root)?;
    fs::remove_dir_all(&root).map_err(io_failure("remove", root.display()))?;
    Ok(own)
}

/// Pulls the public image; gives up when the registry says nothing in time.
fn pulled(engine: &Engine, public: &str) -> Result<bool, Failure> {
    let mut command = engine.command();
    command.args(["pull", public]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(io_failure("start", shown(&command)))?;
    let (answered, answer) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let spoke = stdout.read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0);
            // Nobody listens any more once patience is over; until then what else it says must not block it.
            if answered.send(spoke).is_ok() {
                drop(io::copy(&mut stdout, &mut io::sink()));
            }
        });
    }
    if answer.recv_timeout(REGISTRY_PATIENCE) != Ok(true) {
        // It may have ended by itself: then there is nothing left to kill.
        drop(child.kill());
    }
    child.wait().map(|status| status.success()).map_err(io_failure("wait for", shown(&command)))
}

/// Makes a minimal root as a tar with whichever of Debian's two makers is here.
fn make(engine: &Engine, debian: Debian, tar: &Path, logs: &Path) -> Result<(), Failure> {
    let log_path = logs.join(format!("debian-{}.log", debian.name()));
    let log = File::create(&log_path).map_err(io_failure("create", log_path.display()))?;
    if logged(&mut mmdebstrap(debian, &engine.arch, tar), &log, &log_path)? {
        return Ok(());
    }
    let dir = logs.join("debian-root");
    if !logged(&mut debootstrap(debian, &engine.arch, &dir), &log, &log_path)? {
        let public = public(debian);
        return Err(Failure::new(format!("no `{public}`, no registry that answers, and nothing to make a root with"))
            .hint("apt-get install mmdebstrap, or name an image with --base"));
    }
    let list = dir.join("etc/apt/sources.list");
    fs::write(&list, sources(debian)).map_err(io_failure("write", list.display()))?;
    logged(&mut pack(&dir, tar), &log, &log_path)?;
    fs::remove_dir_all(&dir).map_err(io_failure("remove", dir.display()))
}

/// Runs a command into the log; `false` when there is no such program.
fn logged(command: &mut Command, log: &File, path: &Path) -> Result<bool, Failure> {
    let side = || log.try_clone().map(Stdio::from).map_err(io_failure("write", path.display()));
    let status = command.stdin(Stdio::null()).stdout(side()?).stderr(side()?).status();
    match status {
        Ok(status) if status.success() => Ok(true),
        Ok(status) => Err(Failure::new(format!("`{}` ended with {status}", command.get_program().display()))
            .hint(format!("see {}; it needs root and Debian's archive", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_failure("start", shown(command))(error)),
    }
}

fn mmdebstrap(debian: Debian, arch: &str, tar: &Path) -> Command {
    let mut command = Command::new("mmdebstrap");
    // A merged /usr from the start; otherwise a package that merges it later brings all of perl.
    command.args(["--variant=minbase", "--include=usr-is-merged"]);
    command.arg("--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr");
    // Docker has its own /dev, and device nodes cannot be copied by every builder.
    command.args(["--skip=output/dev", "--skip=output/mknod"]);
    command.arg(format!("--architectures={arch}"));
    for path in LEFT_OUT.iter().chain(&["/usr/share/doc/*"]) {
        command.arg(format!("--dpkgopt=path-exclude={path}"));
    }
    command.arg("--dpkgopt=path-include=/usr/share/doc/*/copyright").arg(debian.name()).arg(tar);
    for line in sources(debian).lines() {
        command.arg(line);
    }
    command
}

fn debootstrap(debian: Debian, arch: &str, dir: &Path) -> Command {
    let mut command = Command::new("debootstrap");
    command.args(["--variant=minbase", "--merged-usr"]).arg(format!("--arch={arch}")).arg(debian.name()).arg(dir);
    command
}

/// Packs a root made by debootstrap, which cannot leave anything out by itself.
fn pack(dir: &Path, tar: &Path) -> Command {
    let mut command = Command::new("tar");
    command
        .args(["--create", "--one-file-system", "--numeric-owner"])
        .arg("--file")
        .arg(tar)
        .arg("--directory")
        .arg(dir);
    let apt = ["/dev/*", "/var/cache/apt/*", "/var/lib/apt/lists/*", "/usr/share/doc/*/changelog*"];
    for path in LEFT_OUT.iter().chain(&apt) {
        command.arg(format!("--exclude=.{path}"));
    }
    command.arg(".");
    command
}

/// Makes an image of the root, for the processor that it is for: `docker import` would call it the daemon's own.
fn load(engine: &Engine, name: &str, folder: &Path) -> Result<(), Failure> {
    let sum = cmd::capture(Command::new("sha256sum").arg(folder.join(LAYER)))?;
    let config = config(&engine.arch, sum.split(' ').next().unwrap_or_default());
    let image = Json::object([
        ("Config", Json::text("config.json")),
        ("RepoTags", Json::List(vec![Json::text(name)])),
        ("Layers", Json::List(vec![Json::text(LAYER)])),
    ]);
    for (file, json) in [("config.json", config), ("manifest.json", Json::List(vec![image]))] {
        let path = folder.join(file);
        fs::write(&path, json.to_string()).map_err(io_failure("write", path.display()))?;
    }
    let mut tar = Command::new("tar");
    tar.args(["--create", "--directory"]).arg(folder).args([LAYER, "config.json", "manifest.json"]);
    let mut tar = tar.stdout(Stdio::piped()).spawn().map_err(io_failure("start", "tar"))?;
    let mut load = engine.command();
    load.args(["load", "--quiet"]).stdin(tar.stdout.take().map_or_else(Stdio::null, Stdio::from));
    let output = load.output().map_err(io_failure("start", shown(&load)))?;
    let packed = tar.wait().map_err(io_failure("wait for", "tar"))?;
    if output.status.success() && packed.success() {
        return Ok(());
    }
    Err(Failure::new(format!("docker does not load the root: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// What an image says of itself; the same for the same root.
fn config(arch: &str, sum: &str) -> Json {
    let history = Json::object([("created_by", Json::text("Debian, from its packages"))]);
    let layers = Json::List(vec![Json::text(format!("sha256:{sum}"))]);
    Json::object([
        ("architecture", Json::text(arch)),
        ("os", Json::text("linux")),
        ("config", Json::object([("Cmd", Json::List(vec![Json::text("bash")]))])),
        ("rootfs", Json::object([("type", Json::text("layers")), ("diff_ids", layers)])),
        ("history", Json::List(vec![history])),
    ])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Debian, mmdebstrap, pack};
    use crate::cmd::shown;

    #[test]
    fn licences_are_kept_and_manuals_are_not() {
        let line = shown(&mmdebstrap(Debian::Trixie, "arm64", Path::new("out.tar")));
        assert!(line.contains("path-exclude=/usr/share/man/*"), "{line}");
        assert!(line.contains("path-include=/usr/share/doc/*/copyright"), "{line}");
        assert!(line.contains("--architectures=arm64") && line.contains(" trixie out.tar "), "{line}");
    }

    #[test]
    fn a_packed_root_leaves_out_what_it_was_made_with() {
        let line = shown(&pack(Path::new("root"), Path::new("out.tar")));
        assert!(line.contains("--exclude=./var/lib/apt/lists/*") && line.contains("--exclude=./dev/*"), "{line}");
        assert!(line.ends_with(" ."), "{line}");
    }
}
