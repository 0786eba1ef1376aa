//! The twelve promises, by name, as far as they need no container.

use crate::support::{Ran, Rig};

#[test]
fn promise_1_never_0_when_it_did_not_run() {
    let rig = Rig::start();
    assert_eq!(Ran::of(rig.shim("true").env_remove("AIFO_TOOLEEXEC_URL")).expect(86), "");
    assert_eq!(Ran::of(rig.shim("true").env("AIFO_TOOLEEXEC_TOKEN", "wrong")).expect(86), "");
    assert_eq!(Ran::of(rig.shim("true").env("AIFO_TOOLEEXEC_URL", "unix:///nowhere.sock")).expect(125), "");
    assert_eq!(Ran::of(&mut rig.shim("cargo")).expect(86), "");
    assert_eq!(Ran::of(&mut rig.shim("true")).expect(0), "");
}
