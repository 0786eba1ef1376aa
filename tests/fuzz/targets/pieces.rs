//! An input whole and in pieces: what a parser makes of it must not depend on how the network cut it.

use std::fmt::Debug;

/// Parses an input in several cuts and holds them all to what the whole gave, which is handed back.
#[track_caller]
pub fn same_however_cut<T: PartialEq + Debug>(input: &[u8], parse: impl Fn(&[&[u8]]) -> T) -> T {
    let whole = parse(&[input]);
    let (Some(&first), Some(&last)) = (input.first(), input.last()) else { return whole };
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(parse(&bytes), whole, "byte by byte");
    let step = usize::from(first) % 31 + 2;
    let steps: Vec<&[u8]> = input.chunks(step).collect();
    assert_eq!(parse(&steps), whole, "in pieces of {step}");
    let (left, right) = input.split_at(usize::from(last) * input.len() / 256);
    assert_eq!(parse(&[left, &[], right]), whole, "cut at {}", left.len());
    whole
}
