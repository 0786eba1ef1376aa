//! What of the host enters an agent's container: what the README lists, and of no other agent anything.

use std::{collections::BTreeSet, fs};

use crate::support::docker::{
    Place, Session,
    agents::{MARKER, Row, documented, furnish, stand_in},
    processes,
};

/// Every host path that docker has mounted into the agent's container.
fn bound(session: &Session) -> BTreeSet<String> {
    let format = "{{range .Mounts}}{{if eq .Type \"bind\"}}{{.Source}} {{.RW}}\n{{end}}{{end}}";
    session.inspect("agent", format).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// Every host path that the README promises for this agent, in a home where everything is.
fn promised(place: &Place, row: &Row) -> BTreeSet<String> {
    let home = place.home();
    let mut paths = vec![
        (place.workspace(), true),
        (place.path().join(format!("program-{}", row.name)), false),
        (home.join(".gnupg"), false),
    ];
    if !row.kept.is_empty() {
        paths.push((home.join(".local/state/aifo-coder").join(&row.name), true));
        paths.extend(["global", &row.name].map(|part| (home.join(".config/aifo-coder").join(part), false)));
    }
    paths.extend(row.copied.iter().map(|file| (home.join(file), false)));
    paths.into_iter().map(|(path, writable)| format!("{} {writable}", path.display())).collect()
}

#[test]
#[ignore = "needs docker"]
fn promise_11_each_agent_has_what_the_readme_lists_and_nothing_else() {
    let place = Place::new();
    furnish(&place);
    for row in documented().into_iter().filter(|row| row.name != "shell") {
        let launcher = stand_in(&place, &["--toolchain", "c-cpp"], &row.name, &["--own-option"]);
        let mut session = launcher.with_all_credentials().start_shell();
        assert_eq!(bound(&session), promised(&place, &row), "{}", row.name);
        // Of all the files in this home, these are in that one; each says where it comes from.
        let find = "find -L ~ -name '*.*' -type f -exec sed -n 's/.*\"file\": \"\\([^\"]*\\)\".*/\\1/p' {} +";
        let said = session.expect(0, find);
        let found: BTreeSet<&str> = said.lines().collect();
        let own = format!(".config/aifo-coder/{}/own.json", row.name);
        let others = [".gnupg/pubring.kbx", ".config/aifo-coder/global/notes.json", &own];
        let expected: BTreeSet<&str> = row.copied.iter().map(String::as_str).chain(others).collect();
        assert_eq!(found, expected, "{}", row.name);
        let said = session.expect(0, &format!("env | sed -n 's/=.*{MARKER}.*//p'"));
        let seen: BTreeSet<&str> = said.lines().collect();
        // What a company gives everybody stands in where nothing of one's own is set; here everything is.
        assert_eq!(seen, row.credentials.iter().map(String::as_str).collect(), "{}", row.name);
        assert!(session.expect(0, "cat /tmp/args").ends_with("--own-option"));
        let argv = processes().into_iter().find(|process| process.command.contains(MARKER));
        assert!(argv.is_none(), "{argv:?}");
        assert!(!session.inspect("c-cpp", "{{json .}}").contains(MARKER), "{}", row.name);
        session.finish().expect(0);
    }
    assert_eq!(fs::read_dir(place.workspace()).unwrap().count(), 0, "nothing is created in the project");
}

#[test]
#[ignore = "needs docker"]
fn promise_10_home_changes_only_by_the_state_of_the_agent_that_was_run() {
    let place = Place::of_plain_user();
    let home = || place.listing().into_iter().filter(|name| name.starts_with("home/")).collect::<Vec<_>>();
    for args in [
        &["ps"][..],
        &["images"],
        &["config", "show"],
        &["gc", "--dry-run"],
        &["toolchain-cache-clear", "--dry-run"],
        &["--dry-run", "claude"],
        &["--toolchain", "c-cpp", "--cache", "0", "doctor", "shell"],
        &["shell", "-c", "true"],
        &["--image", "aifo-coder-none:1", "claude"],
    ] {
        drop(crate::support::Ran::of(&mut place.launcher(args).command));
        assert_eq!(home(), Vec::<String>::new(), "{args:?}");
        assert_eq!(fs::read_dir(place.workspace()).unwrap().count(), 0, "{args:?}");
    }
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    session.expect(0, "echo 1 >~/.claude/kept; echo 1 >~/elsewhere");
    session.finish().expect(0);
    let state = "home/.local/state/aifo-coder/claude";
    let expected = ["home/.local", "home/.local/state", "home/.local/state/aifo-coder", state];
    let expected: Vec<String> = expected.map(str::to_owned).into_iter().collect();
    assert_eq!(home(), [&expected[..], &[format!("{state}/.claude"), format!("{state}/.claude/kept")]].concat());
    // What was kept is there again, for this agent alone.
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    assert_eq!(session.expect(0, "cat ~/.claude/kept; test -e ~/elsewhere || echo gone"), "1\ngone");
    session.finish().expect(0);
    let mut session = stand_in(&place, &[], "codex", &[]).start_shell();
    assert_eq!(session.expect(0, "ls -A ~/.aifo-state; find -L ~ -name kept"), ".codex");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn what_is_the_users_is_read_and_never_written() {
    let place = Place::new();
    furnish(&place);
    let content = || fs::read_to_string(place.home().join(".claude/settings.json")).unwrap();
    let before = content();
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    session.expect(0, "echo changed >~/.claude/settings.json; cat ~/.claude/.claude.json | grep -q '.claude.json'");
    for path in ["~/.aifo-config-host/home/.claude/settings.json", "~/.gnupg-host/x", "~/.aifo-config-host/global/x"] {
        session.expect(0, &format!("! sh -c 'echo x >{path}' 2>/dev/null"));
    }
    assert_eq!(
        session.expect(0, "ls -A ~/.gnupg; stat -c %a ~/.gnupg ~/.gnupg/pubring.kbx"),
        "gpg-agent.conf\npubring.kbx\n700\n600"
    );
    assert_eq!(session.expect(0, "stat -c %a ~/.claude/settings.json ~/.aifo-config/claude/own.json"), "600\n600");
    session.finish().expect(0);
    assert_eq!(content(), before);
    // The agent's own copy stays the one that counts.
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    assert_eq!(session.expect(0, "cat ~/.claude/settings.json"), "changed");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn what_is_not_copied_is_said_and_a_large_file_is_copied() {
    let place = Place::new();
    furnish(&place);
    let sized = |name: &str, size| fs::File::create(place.home().join(name)).unwrap().set_len(size).unwrap();
    sized(".claude.json", 300 * 1024);
    sized(".claude/settings.json", 16 * 1024 * 1024 + 1);
    sized(".config/aifo-coder/claude/large.json", 300 * 1024);
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    assert_eq!(session.expect(0, "stat -L -c %s ~/.claude/.claude.json"), "307200");
    session.expect(0, "! test -e ~/.claude/settings.json && ! test -e ~/.aifo-config/claude/large.json");
    let ran = session.finish();
    ran.expect(0);
    let warning = format!(
        "warning: `{}` is not copied in: it has 16777217 bytes",
        place.home().join(".claude/settings.json").display()
    );
    let left_out =
        "not copied of the configuration in `claude`: `large.json` (307200 bytes, and agent.config-max-size is 262144)";
    for line in [warning.as_str(), left_out] {
        assert!(ran.err().contains(line), "{line}: {ran}");
    }
}

#[test]
#[ignore = "needs docker"]
fn the_time_zone_is_the_hosts_or_the_one_that_is_set() {
    let place = Place::new();
    let host = fs::canonicalize("/etc/localtime").ok();
    let host = host.and_then(|path| Some(path.to_str()?.split_once("/zoneinfo/")?.1.to_owned())).unwrap_or_default();
    for (set, expected) in [(None, host.as_str()), (Some("Asia/Tokyo"), "Asia/Tokyo")] {
        let mut launcher = place.launcher(&["--toolchain", "python", "run", "--", "sh"]);
        if let Some(zone) = set {
            launcher = launcher.env("TZ", zone);
        }
        let mut session = launcher.start_shell();
        let ask = "import os; print(os.environ.get(\"TZ\", \"\"))";
        assert_eq!(
            session.expect(0, &format!("echo \"$TZ\"; python3 -c '{ask}'")),
            format!("{expected}\n{expected}").trim()
        );
        session.finish().expect(0);
    }
}

#[test]
#[ignore = "needs docker"]
fn a_companys_credentials_stand_in_where_nothing_of_ones_own_is_set() {
    let place = Place::new();
    let launcher = stand_in(&place, &[], "codex", &[]).env("AIFO_API_KEY", "company").env("OPENAI_API_KEY", "");
    let launcher = launcher.env("AIFO_API_BASE", "https://llm.example").env("AZURE_OPENAI_API_KEY", "own");
    let mut session = launcher.start_shell();
    let names = "$OPENAI_API_KEY $OPENAI_BASE_URL $AZURE_OPENAI_API_KEY $AIFO_API_KEY";
    assert_eq!(session.expect(0, &format!("echo {names}")), "company https://llm.example own");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn variables_volumes_and_ports_are_what_was_asked_for() {
    let place = Place::new();
    fs::create_dir(place.path().join("data")).unwrap();
    fs::write(place.path().join("data/file"), "content\n").unwrap();
    fs::write(place.path().join("vars"), "# comment\nFROM_FILE=a=b c\nBOTH=file\n").unwrap();
    let (data, vars) = (place.path().join("data"), place.path().join("vars"));
    let (read_only, both) = (format!("{}:/data:ro", data.display()), format!("{}:/mnt/both", data.display()));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let publish = format!("{port}:8127");
    let args = ["--env", "BOTH=option", "--env", "PASSED", "--env", "NOT_SET", "--env-file", vars.to_str().unwrap()];
    let more = ["--volume", &read_only, "--volume", &both, "--publish", &publish, "--toolchain", "python"];
    let launcher = place.launcher(&[&args[..], &more, &["run", "--", "/bin/bash"]].concat());
    let launcher = launcher.env("PASSED", "from here").env("AIFO_ENV_RENAMED", "two\nlines");
    let mut session = launcher.start_shell();
    let names = "\"$FROM_FILE|$BOTH|$PASSED|$RENAMED|${NOT_SET-unset}\"";
    assert_eq!(session.expect(0, &format!("echo {names}")), "a=b c|option|from here|two\nlines|unset");
    session.expect(0, "! sh -c 'echo x >/data/x' 2>/dev/null");
    session.expect(0, "cat /data/file && echo new >/mnt/both/new && python3 -c 'print(open(\"/data/new\").read())'");
    assert_eq!(fs::read_to_string(data.join("new")).unwrap(), "new\n");
    let bindings = session.inspect("proxy", "{{json .HostConfig.PortBindings}}");
    assert_eq!(bindings, format!("{{\"8127/tcp\":[{{\"HostIp\":\"127.0.0.1\",\"HostPort\":\"{port}\"}}]}}"));
    place.put("server.py", "import socket\ns = socket.create_server((\"\", 8127))\nprint(\"up\", flush=True)\np, _ = s.accept()\np.send(b\"hi\")\n");
    session.tell("python3 server.py >/tmp/server </dev/null &\n");
    session.expect(0, "until test -s /tmp/server; do sleep 0.05; done");
    let mut peer = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut peer, &mut said).unwrap();
    assert_eq!(said, "hi");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn an_agents_settings_are_put_back_also_after_a_crash() {
    let place = Place::new();
    let file = place.home().join(".local/state/aifo-coder/pi/.pi/agent/settings.json");
    let original = "{\n  \"theme\": \"dark\",\n  \"shellPath\": \"/bin/zsh\"\n}\n";
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, original).unwrap();
    let shell = "grep -o '\"shellPath\": \"[^\"]*\"' ~/.pi/agent/settings.json";
    let ours = "\"shellPath\": \"/opt/aifo/bin/aifo-bash\"";
    // The container is killed, so nobody comes to put anything back.
    let mut session = stand_in(&place, &[], "pi", &[]).start_shell();
    assert_eq!(session.expect(0, shell), ours);
    crate::support::docker::docker(&["kill", "--signal", "KILL", &session.name("agent")]).expect(0);
    session.wait();
    assert!(fs::read_to_string(&file).unwrap().contains(ours));
    // The next session begins by putting it back, changes it for itself, and ends as it should; what the agent has changed
    // meanwhile stays.
    let mut session = stand_in(&place, &[], "pi", &[]).start_shell();
    assert_eq!(session.expect(0, shell), ours);
    session.expect(0, "sed -i s/dark/light/ ~/.pi/agent/settings.json");
    session.finish().expect(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), original.replace("dark", "light"));
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no note is left");
    // The launcher is killed: the entrypoint has a second to put it back.
    let mut session = stand_in(&place, &[], "pi", &[]).start_shell();
    assert_eq!(session.expect(0, shell), ours);
    session.kill(rustix::process::Signal::KILL);
    session.wait();
    assert_eq!(fs::read_to_string(&file).unwrap(), original.replace("dark", "light"));
}
