//! The half of the bench that runs in containers: `xtask inside …`, as `/workspace/bench` there.
//!
//! - `spawn N CMD…`      starts CMD N times, one after the other; prints a line of microseconds each
//! - `storm N AT CMD…`   starts CMD N times, AT at a time, `{}` replaced by the number; prints a line of exit codes
//! - `source BYTES`      writes that many bytes that look random; prints their checksum on stderr
//! - `sink PAUSE_US`     reads to the end, pausing after each MiB; prints count and checksum

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::{
    cmd::{Failure, io_failure},
    report,
};

const MIB: usize = 1024 * 1024;

/// Runs what was asked for.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    let count = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).ok_or_else(usage);
    match words.first().copied() {
        Some("spawn") => spawn(count(1)?, words.get(2..).unwrap_or_default()),
        Some("storm") => storm(count(1)?, count(2)?, words.get(3..).unwrap_or_default()),
        Some("source") => source(count(1)?).map_err(io_failure("write", "stdout")),
        Some("sink") => sink(Duration::from_micros(count(1)?)).map_err(io_failure("read", "stdin")),
        _ => Err(usage()),
    }
}

fn usage() -> Failure {
    Failure::new("inside: spawn N CMD, storm N AT CMD, source BYTES, or sink PAUSE_US")
}

fn spawn(times: u64, words: &[&str]) -> Result<(), Failure> {
    let (program, args) = words.split_first().ok_or_else(usage)?;
    let mut lines = String::new();
    for _ in 0..times {
        let begun = Instant::now();
        let status = Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).status();
        let elapsed = begun.elapsed();
        let status = status.map_err(io_failure("start", program))?;
        if !status.success() {
            return Err(Failure::new(format!("`{program}` ended with {status}")));
        }
        lines.push_str(&format!("{}\n", elapsed.as_nanos() / 1000));
    }
    report::out(&lines);
    Ok(())
}

fn storm(times: u64, at_once: u64, words: &[&str]) -> Result<(), Failure> {
    let (program, args) = words.split_first().ok_or_else(usage)?;
    let next = AtomicUsize::new(0);
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    let run = || {
        let mut codes = String::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= times {
                return codes;
            }
            let args = args.iter().map(|arg| arg.replace("{}", &number.to_string()));
            let status = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).status();
            let code = status.ok().and_then(|status| status.code()).unwrap_or(-1);
            codes.push_str(&format!("{number} {code}\n"));
        }
    };
    let all: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(run)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    report::out(&all.concat());
    Ok(())
}

/// Fast enough not to be what is measured, and different everywhere, so that a lost or doubled piece shows.
struct Stream(u64);

impl Stream {
    fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_exact_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            word.copy_from_slice(&self.0.to_le_bytes());
        }
    }
}

/// Depends on every byte and its place.
#[derive(Default)]
struct Checksum {
    sum: u64,
    part: Vec<u8>,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        // Pieces come in any size; words are taken from the whole stream.
        let mut rest = bytes;
        if !self.part.is_empty() {
            let (fill, behind) = rest.split_at(rest.len().min(8 - self.part.len()));
            self.part.extend_from_slice(fill);
            rest = behind;
            if self.part.len() < 8 {
                return;
            }
            let word = std::mem::take(&mut self.part);
            self.mix(&word);
        }
        let whole = rest.len() - rest.len() % 8;
        rest[..whole].chunks_exact(8).for_each(|word| self.mix(word));
        self.part.extend_from_slice(&rest[whole..]);
    }

    fn mix(&mut self, word: &[u8]) {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        self.sum = (self.sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn value(&self) -> String {
        format!("{:016x}-{}", self.sum, self.part.len())
    }
}

fn source(bytes: u64) -> io::Result<()> {
    let (mut stream, mut checksum, mut buffer) =
        (Stream(0x2545_f491_4f6c_dd1d), Checksum::default(), vec![0; 64 * 1024]);
    let (mut out, mut left) = (io::stdout().lock(), bytes);
    while left > 0 {
        stream.fill(&mut buffer);
        let count = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
        checksum.add(&buffer[..count]);
        out.write_all(&buffer[..count])?;
        left -= count as u64;
    }
    out.flush()?;
    writeln!(io::stderr(), "source {bytes} {}", checksum.value())
}

fn sink(pause: Duration) -> io::Result<()> {
    let (mut checksum, mut total, mut buffer) = (Checksum::default(), 0u64, vec![0; 64 * 1024]);
    let mut input = io::stdin().lock();
    loop {
        let count = input.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        checksum.add(&buffer[..count]);
        let before = total / MIB as u64;
        total += count as u64;
        if !pause.is_zero() && total / MIB as u64 > before {
            thread::sleep(pause);
        }
    }
    report::out(&format!("sink {total} {}\n", checksum.value()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_does_not_depend_on_pieces_but_on_every_byte() {
        let data: Vec<u8> = (0..=255).cycle().take(1001).collect();
        let of = |pieces: usize, data: &[u8]| {
            let mut checksum = Checksum::default();
            data.chunks(pieces).for_each(|piece| checksum.add(piece));
            checksum.value()
        };
        assert!([1, 3, 8, 9, 1000].into_iter().all(|pieces| of(pieces, &data) == of(1001, &data)));
        let mut other = data.clone();
        other.swap(500, 509);
        assert_ne!(of(1001, &other), of(1001, &data));
    }
}
