//! `aifo-provider ADDRESS LOG LAST-WORD [COMMAND…]`: the stand-in as a program, for trying an agent by hand.
//!
//! Prints its URL, writes a line of JSON to LOG for every request, and ends when its standard input is closed.

use std::{
    env,
    fs::File,
    io::{self, Read, Write},
    process::ExitCode,
};

use aifo_provider::{Provider, Script};

fn main() -> ExitCode {
    match run(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "aifo-provider: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> io::Result<()> {
    let [address, log, last_word, steps @ ..] = words else {
        return Err(io::Error::other("usage: aifo-provider ADDRESS LOG LAST-WORD [COMMAND...]"));
    };
    let address = address.parse().map_err(|_no| io::Error::other(format!("`{address}` is no address")))?;
    let provider = Provider::start(address, Script::new(steps, last_word), Some(File::create(log)?))?;
    writeln!(io::stdout(), "{}", provider.url())?;
    io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)
}
