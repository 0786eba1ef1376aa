//! SHA-256 (FIPS 180-4), for names that follow content (the session image and its volume) and for checking bundles.
//!
//! In one go or in pieces. Pure.

/// Initial hash values: the first 32 bits of the fractional parts of the square roots of the first eight primes.
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Round constants: the same of the cube roots of the first 64 primes.
const ROUND: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// The digest of `data` in hex.
pub(crate) fn sha256(data: &[u8]) -> String {
    let mut sum = Sha256::default();
    sum.add(data);
    sum.hex()
}

/// A digest that is being made of pieces, in a fixed amount of memory.
#[derive(Debug, Clone)]
pub(crate) struct Sha256 {
    state: [u32; 8],
    /// What of the current block has come.
    block: [u8; 64],
    held: usize,
    length: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        Self { state: START, block: [0; 64], held: 0, length: 0 }
    }
}

impl Sha256 {
    /// Adds the next bytes.
    pub(crate) fn add(&mut self, mut data: &[u8]) {
        self.length = self.length.wrapping_add(data.len() as u64);
        if self.held > 0 {
            let (first, rest) = data.split_at(data.len().min(64 - self.held));
            self.hold(first);
            data = rest;
            if self.held < 64 {
                return;
            }
            compress(&mut self.state, &self.block);
            self.held = 0;
        }
        let (blocks, rest) = data.as_chunks::<64>();
        blocks.iter().for_each(|block| compress(&mut self.state, block));
        self.hold(rest);
    }

    fn hold(&mut self, piece: &[u8]) {
        self.block.iter_mut().skip(self.held).zip(piece).for_each(|(to, from)| *to = *from);
        self.held += piece.len();
    }

    /// Ends it: a one bit, zeros, and the length in bits; two blocks where the first has no room for the length.
    pub(crate) fn hex(mut self) -> String {
        let mut tail = [0; 128];
        tail.iter_mut().zip(self.block.iter().take(self.held).chain(&[0x80])).for_each(|(to, from)| *to = *from);
        let blocks = if self.held < 56 { 1 } else { 2 };
        let bits = self.length.wrapping_mul(8).to_be_bytes();
        tail.iter_mut().skip(blocks * 64 - 8).zip(bits).for_each(|(to, from)| *to = from);
        tail.as_chunks::<64>().0.iter().take(blocks).for_each(|block| compress(&mut self.state, block));
        self.state.iter().map(|word| format!("{word:08x}")).collect()
    }
}

fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..64 {
        let (two, fifteen) = (words[at - 2], words[at - 15]);
        let small = fifteen.rotate_right(7) ^ fifteen.rotate_right(18) ^ (fifteen >> 3);
        let large = two.rotate_right(17) ^ two.rotate_right(19) ^ (two >> 10);
        words[at] = words[at - 16].wrapping_add(small).wrapping_add(words[at - 7]).wrapping_add(large);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(ROUND) {
        let mix = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let one = h.wrapping_add(mix).wrapping_add(choice).wrapping_add(constant).wrapping_add(*word);
        let spread = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = spread.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_own_examples() {
        for (data, digest) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(sha256(data.as_bytes()), digest);
        }
        let million = sha256(&vec![b'a'; 1_000_000]);
        assert_eq!(million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }

    #[test]
    fn pieces_make_the_same_digest_wherever_they_are_cut() {
        let data: Vec<u8> = (0..=255).collect();
        for cut in 0..=data.len() {
            for second in [cut, (cut + 1).min(256), (cut + 64).min(256), 256] {
                let mut sum = Sha256::default();
                [&data[..cut], &data[cut..second], &data[second..]].into_iter().for_each(|piece| sum.add(piece));
                assert_eq!(sum.hex(), sha256(&data), "cut at {cut} and {second}");
            }
        }
    }

    #[test]
    fn every_length_around_a_block_agrees_with_a_second_implementation() {
        use std::{
            io::Write,
            process::{Command, Stdio},
        };
        for length in [55, 56, 57, 63, 64, 65, 119, 120, 128] {
            let data = vec![b'x'; length];
            let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(&data).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(String::from_utf8_lossy(&output.stdout).starts_with(&sha256(&data)), "{length} bytes");
        }
    }
}
