//! Calls: what the form of one asks for.

#![no_main]

mod pieces;

use aifo_shim::wire::{
    env,
    exec::{CStrings, ExecDecoder, ExecError, ExecRequest},
    limits::{MAX_CWD, MAX_TOOL},
};
use libfuzzer_sys::fuzz_target;

fn decode(pieces: &[&[u8]]) -> Result<ExecRequest, ExecError> {
    let mut decoder = ExecDecoder::default();
    pieces.iter().try_for_each(|piece| decoder.feed(piece))?;
    decoder.finish()
}

fuzz_target!(|input: &[u8]| {
    let Ok(request) = pieces::same_however_cut(input, decode) else { return };
    assert!((1..=MAX_TOOL).contains(&request.tool.len()) && request.cwd.len() <= MAX_CWD);
    assert!(request.env.iter().all(|variable| env::name_of(variable).is_some_and(env::may_cross)));
    for strings in [&request.args, &request.env] {
        assert_eq!(strings.iter().count(), strings.len());
        assert!(strings.iter().all(|string| !string.contains(&0)));
        assert_eq!(CStrings::from_bytes(strings.as_bytes().to_vec()).as_ref(), Some(strings));
    }
    // What was understood can be said again and is understood the same.
    assert_eq!(decode(&[&request.encode()]), Ok(request));
});
