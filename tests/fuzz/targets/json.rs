//! JSON: whatever is read is written so that it is read again as the same.

#![no_main]

use aifo_shim::json::Json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some(json) = Json::parse(input) else { return };
    let written = json.to_string();
    assert!(!written.chars().any(char::is_control), "{written}");
    assert_eq!(Json::parse(&written), Some(json));
});
