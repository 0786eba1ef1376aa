//! Each parser with its input split at every byte, each limit at n and n + 1, and a seeded storm of random bytes.

mod body;
mod chunk;
mod endpoint;
mod env;
mod exec;
mod form;
mod head;

/// Calls `parse` with the input whole, in two pieces cut at every place, and byte by byte; all must agree.
#[track_caller]
fn same_however_split<T: PartialEq + std::fmt::Debug>(input: &[u8], parse: impl Fn(&[&[u8]]) -> T) -> T {
    let whole = parse(&[input]);
    for at in 0..=input.len() {
        let (left, right) = input.split_at(at);
        assert_eq!(parse(&[left, right]), whole, "cut at {at} in {:?}", String::from_utf8_lossy(input));
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(parse(&bytes), whole, "byte by byte");
    whole
}

/// Random bytes that repeat from run to run (xorshift), drawn from an alphabet that gets a parser into trouble.
fn storms(alphabet: &'static [u8], mut each: impl FnMut(&[u8])) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    for _ in 0..20_000 {
        let input: Vec<u8> = (0..next() % 60).map(|_| alphabet[next() % alphabet.len()]).collect();
        each(&input);
    }
}
