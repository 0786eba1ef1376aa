//! What an ELF file says of itself: for which machine it is, and whether it needs anything beside the kernel. Pure.
//!
//! The launcher asks before it puts programs into containers that hold nothing else, the build before it ships them.

/// Whether a 64-bit little-endian program has no interpreter and needs no library.
pub fn is_static(program: &[u8]) -> bool {
    program.starts_with(MAGIC) && segments(program).is_some_and(|segments| segments.iter().all(is_allowed))
}

/// The machine's number (62 is x86_64, 183 is arm64), for a 64-bit little-endian program.
pub fn machine(program: &[u8]) -> Option<u64> {
    program.starts_with(MAGIC).then(|| number::<2>(program, 18))?
}

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;

struct Segment<'a> {
    kind: u64,
    content: &'a [u8],
}

fn segments(program: &[u8]) -> Option<Vec<Segment<'_>>> {
    let (table, size, count) = (number::<8>(program, 32)?, number::<2>(program, 54)?, number::<2>(program, 56)?);
    let segment = |index| {
        let header = program.get(usize::try_from(table + index * size).ok()?..)?;
        let at = usize::try_from(number::<8>(header, 8)?).ok()?;
        let length = usize::try_from(number::<8>(header, 32)?).ok()?;
        Some(Segment { kind: number::<4>(header, 0)?, content: program.get(at..at.checked_add(length)?)? })
    };
    (0..count).map(segment).collect()
}

/// A static-pie has a dynamic segment for its own relocations; a DT_NEEDED (1) in it would name a library.
fn is_allowed(segment: &Segment<'_>) -> bool {
    const DT_NEEDED: u64 = 1;
    match segment.kind {
        PT_INTERP => false,
        PT_DYNAMIC => !segment.content.chunks_exact(16).any(|entry| number::<8>(entry, 0) == Some(DT_NEEDED)),
        _ => true,
    }
}

fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes: &[u8; BYTES] = bytes.get(at..)?.first_chunk()?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment of this kind, whose content is one entry with this tag.
    fn elf(kind: u8, tag: u8) -> Vec<u8> {
        let mut program = vec![0; 136];
        program[..6].copy_from_slice(MAGIC);
        program[18] = 62;
        (program[32], program[54], program[56]) = (64, 56, 1);
        (program[64], program[72], program[96], program[120]) = (kind, 120, 16, tag);
        program
    }

    #[test]
    fn a_static_program_of_the_right_machine_is_told_from_others() {
        assert_eq!(machine(&elf(1, 0)), Some(62));
        assert!(is_static(&elf(1, 0)) && is_static(&elf(2, 7)));
        assert!(!is_static(&elf(3, 0)), "an interpreter");
        assert!(!is_static(&elf(2, 1)), "a library");
        assert!((0..136).all(|length| !is_static(&elf(1, 0)[..length])), "cut short");
        assert_eq!(machine(b"#!/bin/sh\n"), None);
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&own), "a test links the system's libc");
    }
}
