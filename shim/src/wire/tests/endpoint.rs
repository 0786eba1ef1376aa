//! Endpoints: the two forms of a URL, and near misses.

use crate::wire::endpoint::{Endpoint, EndpointError, MAX_SOCKET_PATH};

#[test]
fn both_forms_are_understood() {
    assert_eq!(Endpoint::parse("unix:///run/aifo/exec.sock"), Ok(Endpoint::Unix("/run/aifo/exec.sock".into())));
    assert_eq!(Endpoint::parse("http://127.0.0.1:8080/exec"), Ok(Endpoint::Tcp("127.0.0.1:8080".into())));
    assert_eq!(Endpoint::parse("http://[::1]:8080/exec"), Ok(Endpoint::Tcp("[::1]:8080".into())));
    assert_eq!(Endpoint::parse("http://localhost:80"), Ok(Endpoint::Tcp("localhost:80".into())));
}

#[test]
fn anything_else_is_refused() {
    for (url, cause) in [
        ("", EndpointError::Scheme),
        ("https://localhost:1/exec", EndpointError::Scheme),
        ("/run/aifo/exec.sock", EndpointError::Scheme),
        ("unix://run/aifo", EndpointError::Path),
        ("http://localhost/exec", EndpointError::Authority),
        ("http://localhost:x/exec", EndpointError::Authority),
        ("http://localhost:70000/exec", EndpointError::Authority),
        ("http://:80/exec", EndpointError::Authority),
        ("http://a@b:80/exec", EndpointError::Authority),
        ("http://localhost:80/other", EndpointError::Authority),
    ] {
        assert_eq!(Endpoint::parse(url), Err(cause), "{url}");
    }
    let path = |length: usize| Endpoint::parse(&format!("unix:///{}", "a".repeat(length - 1)));
    assert!(path(MAX_SOCKET_PATH).is_ok());
    assert_eq!(path(MAX_SOCKET_PATH + 1), Err(EndpointError::PathTooLong));
}
