//! T32: the shims come first in PATH, however an agent starts its shell.

use crate::support::docker::Place;

/// Every way in which agents have been seen to start a shell, each of which shall find the shim.
const SHELLS: &[&str] = &[
    "sh -c",
    "bash -c",
    "bash -ic",
    "bash -lc",
    "bash -lic",
    "sh -lc",
    "/bin/bash -l -c",
    "bash --norc --noprofile -c",
    "env A=b bash -c",
    "env -i HOME=$HOME PATH=$PATH sh -c",
    "env -i HOME=$HOME bash -lc",
    "env -i HOME=$HOME sh -lc",
];
/// Those that know nothing of HOME either: a file in /etc/profile.d is the only way, and our images have it.
const BARE_SHELLS: &[&str] = &["env -i bash -lc", "env -i sh -lc", "env -i /bin/bash -lc"];

/// The ways that do not find the shims first.
fn lost(place: &Place, image: &[&str], shells: &[&str]) -> Vec<String> {
    let look = "command -v cargo; command -v make; command -v python3";
    let lines = shells.iter().map(|shell| format!("{shell} '{look}' | sed 's|^|{shell}: |'\n"));
    let script: String = lines.collect();
    let ran = place.launcher(&[&["run"], image, &["--", "sh", "-c", &script]].concat()).run();
    let said = ran.expect(0);
    assert_eq!(said.lines().count(), 3 * shells.len(), "{ran}");
    said.lines().filter(|line| !line.contains(": /opt/aifo/bin/")).map(str::to_owned).collect()
}

#[test]
#[ignore = "needs docker"]
fn t32_shims_come_first_in_every_shell_of_our_image() {
    let all = [SHELLS, BARE_SHELLS].concat();
    for place in [Place::new(), Place::of_plain_user()] {
        assert_eq!(lost(&place, &[], &all), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs docker"]
fn t32_shims_come_first_in_the_shells_of_a_foreign_image() {
    let image = concat!("aifo-coder-base:release-", env!("CARGO_PKG_VERSION"));
    for place in [Place::new(), Place::of_plain_user()] {
        assert_eq!(lost(&place, &["--image", image], SHELLS), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs docker"]
fn t32_a_shell_without_any_path_reaches_its_tool() {
    let place = Place::new();
    let script = "env -i /bin/bash -lc 'make --version' && env -i bash -lc 'command -v make'";
    let ran = place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh", "-c", script]).run();
    // Without the session's variables the shim has nobody to ask, and says so.
    ran.expect(86);
    assert!(ran.err().contains("aifo-shim: make: proxy not configured"), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn scripts_that_name_their_interpreter_by_env_find_the_shim() {
    let place = Place::new();
    place.put(
        "script",
        "#!/usr/bin/env python3\nimport platform; print('python', platform.python_version_tuple()[0])\n",
    );
    let ran = place
        .launcher(&[
            "--toolchain",
            "python",
            "run",
            "--",
            "sh",
            "-c",
            "chmod +x script && ./script && env -S 'A=1 python3' script",
        ])
        .run();
    assert_eq!(ran.expect(0), "python 3\npython 3");
}
