//! Many calls (T47): all run, once each, in bounded number, and nothing stays of them.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        net::{UnixListener, UnixStream},
        process::ExitStatusExt,
    },
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use aifo_shim::sys::send_with_standard_descriptors;
use rustix::process::Signal;

use crate::support::{Answer, Background, Plan, Rig, process, read_all, under, wait_until};

#[test]
fn t47_defect_3_calls_by_the_hundred_at_once_all_run_with_their_own_output_and_code() {
    for (count, tcp) in [(90, false), (90, true), (300, false)] {
        let rig = Rig::with(Plan { tcp, ..Plan::default() });
        let calls: Vec<Background> = (0..count)
            .map(|number| {
                let mut shim = if tcp { rig.shim_by_tcp("bash") } else { rig.shim("bash") };
                let script =
                    format!("echo {number}; echo error {number} >&2; echo {number} >> ran; exit {}", number % 256);
                Background::start(shim.args(["-c", &script]))
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let ran = call.end();
            let expected = if tcp { format!("{number}\nerror {number}") } else { number.to_string() };
            assert_eq!(ran.expect(i32::try_from(number % 256).unwrap()), expected);
        }
        let mut ran: Vec<usize> = rig.content("ran").lines().map(|line| line.parse().unwrap()).collect();
        ran.sort_unstable();
        assert!(ran.into_iter().eq(0..count), "each of them once");
    }
}

#[test]
fn t47_two_thousand_calls_200_at_a_time_leave_nothing() {
    const CALLS: usize = 2000;
    let rig = Rig::start();
    rig.assert_serves();
    let (proxy, execd) = (rig.proxy.id(), rig.sidecars[0].id());
    let open = [proxy, execd].map(process::descriptors);
    let (next, most_threads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|| {
                while let number @ 0..CALLS = next.fetch_add(1, Ordering::SeqCst) {
                    let script = format!("echo {number} >> ran; echo {number}; exit {}", number % 7);
                    let call = Background::start(rig.bash(&script).stdin(Stdio::null()));
                    assert_eq!(call.end().expect(i32::try_from(number % 7).unwrap()), number.to_string());
                    let threads = usize::try_from(process::status(proxy, "Threads")).unwrap();
                    most_threads.fetch_max(threads, Ordering::SeqCst);
                }
            });
        }
    });
    let mut ran: Vec<usize> = rig.content("ran").lines().map(|line| line.parse().unwrap()).collect();
    ran.sort_unstable();
    assert!(ran.into_iter().eq(0..CALLS), "each of them once");
    assert!(most_threads.into_inner() < 260, "a thread a call and a few more");
    wait_until("the proxy's descriptors are closed", || process::descriptors(proxy) <= open[0]);
    wait_until("execd's descriptors are closed", || process::descriptors(execd) <= open[1]);
    wait_until("the proxy's threads have ended", || process::status(proxy, "Threads") < 20);
    rig.assert_serves();
}

#[test]
fn t47_no_more_run_at_once_than_allowed_and_the_others_wait_in_order() {
    let rig = Rig::with(Plan { max_calls: 2, ..Plan::default() });
    let script = "echo + >> log; sleep 0.01; echo - >> log; exit 3";
    let calls: Vec<Background> = (0..60).map(|_| Background::start(&mut rig.bash(script))).collect();
    for call in calls {
        call.end().expect(3);
    }
    let running = rig.content("log").lines().fold((0, 0), |(now, most): (i32, i32), line| {
        let now = now + if line == "+" { 1 } else { -1 };
        (now, most.max(now))
    });
    assert_eq!((running, rig.content("log").lines().count()), ((0, 2), 120));

    let rig = Rig::with(Plan { max_calls: 1, ..Plan::default() });
    let mut first = Background::start(rig.shim("cat").stdin(Stdio::piped()));
    let held = first.input();
    let is_cat = |pid: &u32| process::command_line(*pid) == "cat";
    wait_until("the only place is taken", || rig.leftovers().iter().any(is_cat));
    let mut before = process::descriptors(rig.proxy.id());
    let queued: Vec<_> = (0..20)
        .map(|number| {
            let mut stream = rig.connect();
            let request = rig.call(2, "bash", &["-c", &format!("echo {number} >> order")]);
            stream.write_all(&request).unwrap();
            // Its connection, and what it waits on: then it stands in the queue.
            wait_until("it has joined the queue", || process::descriptors(rig.proxy.id()) >= before + 2);
            before += 2;
            stream
        })
        .collect();
    assert_eq!(rig.content("order"), "");
    drop(held);
    assert_eq!(first.end().expect(0), "");
    for stream in queued {
        assert_eq!(Answer::of(&read_all(stream)).code(), "0");
    }
    let order: Vec<usize> = rig.content("order").lines().map(|line| line.parse().unwrap()).collect();
    assert!(order.iter().copied().eq(0..20), "{order:?}");
}

/// A call whose sender may have only so many descriptors on their way. Who may do anything to the system has no limit, so
/// root gives that up.
fn under_limit(limit: &str, call: &Command) -> Background {
    let powers: &[&str] = if rustix::process::geteuid().is_root() {
        &["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"]
    } else {
        &["env"]
    };
    Background::start(&mut under(&[powers, &["prlimit", limit]].concat(), call))
}

fn is_collecting(call: &Background) -> bool {
    process::mask(call.pid(), "SigBlk") & 1 << 9 != 0
}

#[test]
fn t47_more_descriptors_on_their_way_than_the_limit_make_a_call_wait() {
    let rig = Rig::start();
    for limit in ["--nofile=12:12", "--nofile=12:1024"] {
        process::signal(rig.proxy.id(), Signal::STOP);
        let calls: Vec<Background> =
            (0..20).map(|_| under_limit(limit, &rig.bash("echo ran >> ran; exit 7"))).collect();
        let mut given_up = under_limit(limit, &rig.bash("echo never >> ran"));
        wait_until("they wait", || calls.iter().chain([&given_up]).all(is_collecting));
        given_up.signal(Signal::TERM);
        // Its output may be on the way to the proxy.
        assert_eq!(given_up.status_within(Duration::from_secs(10)).signal(), Some(15));
        process::signal(rig.proxy.id(), Signal::CONT);
        for call in calls {
            assert_eq!(call.end().expect(7), "");
        }
        // The one that was given up may have been sent, and then runs until its end is seen.
        assert_eq!(rig.content("ran").lines().filter(|line| *line == "ran").count(), 20, "each exactly once");
        fs::remove_file(rig.file("ran")).unwrap();
    }
}

#[test]
fn t47_a_call_that_could_send_nothing_before_the_proxy_gave_it_up_comes_again() {
    let rig = Rig::start();
    let proxy = UnixListener::bind(rig.file("sock")).unwrap();
    let (crowd, unread) = UnixStream::pair().unwrap();
    for _ in 0..5 {
        assert_eq!(send_with_standard_descriptors(&crowd, b"x", None).unwrap(), 1);
    }
    let mut call = rig.bash("exit 9");
    call.env("AIFO_TOOLEEXEC_URL", format!("unix://{}", rig.file("sock").display()));
    let call = under_limit("--nofile=12:12", &call);
    let (mut first, _) = proxy.accept().unwrap();
    wait_until("it collects its signals", || is_collecting(&call));
    let pauses = || process::status(call.pid(), "voluntary_ctxt_switches");
    let before = pauses();
    wait_until("it tries and tries again", || pauses() > before + 4);
    first.write_all(b"HTTP/1.1 408 Request Timeout\r\nX-Exit-Code: 125\r\nContent-Length: 0\r\n\r\n").unwrap();
    drop(first);
    let (mut second, _) = proxy.accept().unwrap();
    drop((crowd, unread));
    assert!(second.read(&mut [0; 4096]).unwrap() > 0);
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Exec-Id: 1\r\n\r\n0\r\nX-Exit-Code: 7\r\n\r\n";
    second.write_all(answer.as_bytes()).unwrap();
    assert_eq!(call.end().expect(7), "");
}
