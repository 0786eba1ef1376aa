//! What containers may do, and what agent and sidecars share: the workspace, `/tmp` and localhost, nothing else.

use std::{fs, path::Path, process::Command};

use crate::support::{
    Ran,
    docker::{Place, docker},
};

#[test]
#[ignore = "needs docker"]
fn promise_11_no_container_has_capabilities_or_can_gain_any() {
    let place = Place::new();
    let args = ["--toolchain", "c-cpp", "--tool", "c-cpp:grep", "run", "--", "sh"];
    let mut session = place.launcher(&args).start_shell();
    let none = "NoNewPrivs:\t1\nSeccomp:\t2\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n\
                CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000";
    let sorted = |status: &str| {
        let mut lines: Vec<&str> = status.lines().collect();
        lines.sort_by_key(|line| none.find(line.split('\t').next().unwrap()));
        lines.join("\n")
    };
    let pattern = "^Cap|^NoNewPrivs|^Seccomp:";
    for (whose, grep) in [("agent", "/usr/bin/grep"), ("sidecar", "grep")] {
        let status = session.expect(0, &format!("{grep} -E '{pattern}' /proc/self/status"));
        assert_eq!(sorted(&status), none, "{whose}");
    }
    let wanted = |line: &&str| ["Cap", "NoNewPrivs", "Seccomp:"].iter().any(|start| line.starts_with(start));
    for part in ["proxy", "c-cpp", "agent"] {
        let status = fs::read_to_string(format!("/proc/{}/status", session.pid_of(part))).unwrap();
        assert_eq!(sorted(&status.lines().filter(wanted).collect::<Vec<_>>().join("\n")), none, "{part}");
        let limits =
            session.inspect(part, "{{.HostConfig.PidsLimit}} {{.HostConfig.Privileged}} {{.HostConfig.CapDrop}}");
        assert_eq!(limits, format!("{} false [ALL]", if part == "proxy" { 2048 } else { 8192 }));
    }
    let limit = "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null | grep 8192";
    assert_eq!(session.expect(0, limit), "8192", "in force, not only written down");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn the_proxys_container_holds_one_program_and_writes_nowhere() {
    let place = Place::new();
    let session = place.launcher(&["run", "--", "sh"]).start_shell();
    let listed =
        "{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.HostConfig.Memory}} {{.HostConfig.RestartPolicy.Name}}";
    assert_eq!(session.inspect("proxy", listed), "true 65532:65532 268435456 no");
    // Beside the programs and the tools' links to the shim there is only what docker itself puts into containers.
    let list = format!("docker export {} | tar --list --verbose | grep ^-", session.name("proxy"));
    let files = Ran::of(Command::new("sh").args(["-c", &list])).expect(0);
    let name = |line: &str| line.rsplit(' ').next().unwrap().to_owned();
    let is_dockers = |name: &String| name == ".dockerenv" || name.starts_with("etc/") || name.starts_with("dev/");
    let ours: Vec<String> = files.lines().map(name).filter(|name| !is_dockers(name)).collect();
    assert_eq!(ours, ["aifo-coder", "aifo-entrypoint", "aifo-shim"].map(|name| format!("opt/aifo/bin/{name}")));
    let pid = session.pid_of("proxy");
    let root = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
    assert!(root.lines().any(|line| line.contains(" / / ro,")), "{root}");
    assert!(!Path::new(&format!("/proc/{pid}/root/bin/sh")).exists());
    assert_eq!(fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap(), "", "it starts no process");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn the_agent_holds_no_compiler_and_no_docker() {
    let place = Place::new();
    let tools = "cargo rustc gcc cc g++ clang make cmake ninja node npm python python3 pip go gofmt docker";
    let look = format!(
        "for tool in {tools}; do for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do \
         [ ! -e $folder/$tool ] || echo $folder/$tool; done; done; ls /run/docker.sock /var/run/docker.sock 2>/dev/null"
    );
    let ran = place.launcher(&["run", "--", "sh", "-c", &format!("{look}; true")]).run();
    assert_eq!(ran.expect(0), "");
}

#[test]
#[ignore = "needs docker"]
fn agent_and_sidecar_share_workspace_and_tmp_and_nothing_else() {
    let place = Place::new();
    let args = ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "run", "--", "sh"];
    let mut session = place.launcher(&args).start_shell();
    for (folder, is_shared) in
        [("/workspace", true), ("/tmp", true), ("/home/coder", false), ("/dev/shm", false), ("/var/tmp", false)]
    {
        session.expect(0, &format!("echo $$ >{folder}/from-agent"));
        let code = i32::from(!is_shared);
        session.expect(code, &format!("dash -c 'test -s {folder}/from-agent'"));
        session.expect(0, &format!("dash -c 'echo $$ >{folder}/from-tool'"));
        session.expect(code, &format!("test -s {folder}/from-tool"));
    }
    // `/tmp` is the session's, and the processes are each container's own.
    assert!(!Path::new("/tmp/from-agent").exists() && !Path::new("/tmp/from-tool").exists());
    let marker = place.path().display().to_string();
    session.expect(1, &format!("test -e {marker}"));
    session.expect(1, &format!("dash -c 'test -e {marker}'"));
    session.tell("sleep 1001 &\n");
    session.expect(1, "dash -c 'grep -l [1]001 /proc/[0-9]*/cmdline'");
    session.tell("kill $!\n");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_server_that_a_tool_starts_answers_on_the_agents_localhost() {
    let place = Place::new();
    place.put("page", "served from the sidecar\n");
    let kinds = ["--toolchain", "python", "--toolchain", "c-cpp", "--tool", "c-cpp:bash"];
    let mut session = place.launcher(&[&kinds[..], &["run", "--", "/bin/bash"]].concat()).start_shell();
    session.tell("python3 -m http.server --bind 127.0.0.1 8123 >/tmp/server 2>&1 </dev/null &\n");
    let fetch = "exec 3<>/dev/tcp/127.0.0.1/8123 && printf \"GET /page HTTP/1.0\\r\\n\\r\\n\" >&3 && cat <&3 | tail -1";
    let until = format!("for i in $(seq 200); do ( {fetch} ) 2>/dev/null && break; sleep 0.05; done");
    assert_eq!(session.expect(0, &until), "served from the sidecar");
    assert_eq!(session.expect(0, &format!("bash -c '{fetch}'")), "served from the sidecar", "from another sidecar");
    session.expect(0, "kill %1; wait; true");
    session.expect(1, &format!("( {fetch} ) 2>/dev/null"));
    let addresses = docker(&["inspect", "--format", "{{.NetworkSettings.IPAddress}}", &session.name("agent")]);
    assert_eq!(addresses.expect(0), "", "the network is the proxy's");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn an_apparmor_profile_is_dropped_only_when_that_is_asked_for() {
    let place = Place::new();
    for (wish, dropped) in [(None, false), (Some("none"), true), (Some("auto"), false)] {
        let launcher = place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh"]);
        let launcher =
            wish.into_iter().fold(launcher, |launcher, wish| launcher.env("AIFO_CODER_APPARMOR_PROFILE", wish));
        let mut session = launcher.start_shell();
        session.expect(0, "make --version");
        for part in ["proxy", "c-cpp", "agent"] {
            let options = session.inspect(part, "{{.HostConfig.SecurityOpt}}");
            assert_eq!(options.contains("apparmor=unconfined"), dropped, "{part} with {wish:?}: {options}");
        }
        session.finish().expect(0);
    }
}
