//! Reading the words.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

use super::{Command, Invocation, Listing, Switches, near};
use crate::{
    agent, bundle,
    config::{Setting, table},
    error::Error,
    report::Level,
    toolchain::Spec,
};

/// Reads the words behind the program's name.
///
/// # Errors
/// [`Error::Usage`] with one sentence.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Invocation, Error> {
    let mut reader = Reader {
        words: Parser::from_args(words),
        settings: Vec::new(),
        switches: Switches {
            level: Level::Normal,
            dry_run: false,
            json: false,
            no_input: false,
            yes: false,
            origin: false,
        },
    };
    let command = reader.read()?;
    Ok(Invocation { settings: reader.settings, switches: reader.switches, command })
}

struct Reader {
    words: Parser,
    settings: Vec<(&'static Setting, String)>,
    switches: Switches,
}

/// An option without its value.
enum Name {
    Short(char),
    Long(String),
}

impl Reader {
    fn read(&mut self) -> Result<Command, Error> {
        loop {
            let name = match self.words.next()? {
                None => return Ok(Command::Help { long: false }),
                Some(Arg::Value(word)) => {
                    let word = word.string()?;
                    return self.command(&word);
                }
                Some(Arg::Short(letter)) => Name::Short(letter),
                Some(Arg::Long(name)) => Name::Long(name.to_owned()),
            };
            if let Some(command) = self.option(&name)? {
                return Ok(command);
            }
        }
    }

    /// Takes one option; help and version end the reading.
    fn option(&mut self, name: &Name) -> Result<Option<Command>, Error> {
        let long = match name {
            Name::Short('h') => return Ok(Some(Command::Help { long: false })),
            Name::Short('V') => "version",
            Name::Short('v') => "verbose",
            Name::Short('q') => "quiet",
            Name::Short(letter) => return Err(near::unknown("option", &format!("-{letter}"), near::options())),
            Name::Long(name) => name,
        };
        match long {
            "help" => return Ok(Some(Command::Help { long: true })),
            "version" => return Ok(Some(Command::Version)),
            "verbose" => self.switches.level = Level::Verbose,
            "quiet" => self.switches.level = Level::Quiet,
            "dry-run" => self.switches.dry_run = true,
            "json" => self.switches.json = true,
            "no-input" => self.switches.no_input = true,
            "yes" => self.switches.yes = true,
            "origin" => self.switches.origin = true,
            "no-toolchain-cache" => {
                self.settings.extend(table::by_option("cache").map(|cache| (cache, "0".to_owned())))
            }
            _ => {
                let unknown = || near::unknown("option", &format!("--{long}"), near::options());
                let setting = table::by_option(long).ok_or_else(unknown)?;
                let value = self.words.value()?.string()?;
                self.settings.push((setting, value));
            }
        }
        Ok(None)
    }

    fn command(&mut self, word: &str) -> Result<Command, Error> {
        if let Some(agent) = agent::by_name(word) {
            // Everything behind the name is the agent's own.
            return Ok(Command::Agent { agent, args: self.words.raw_args()?.collect() });
        }
        match word {
            "run" => {
                let words = self.words_behind()?;
                if words.is_empty() {
                    return Err(Error::Usage("`run` needs a command: aifo-coder run -- CMD".to_owned()));
                }
                Ok(Command::Run { words })
            }
            "toolchain" => {
                let missing = "`toolchain` needs a kind: aifo-coder toolchain rust -- cargo --version";
                let kind = self.words.value().map_err(|_missing| Error::Usage(missing.to_owned()))?;
                Ok(Command::Toolchain { spec: Spec::parse(&kind.string()?)?, words: self.words_behind()? })
            }
            "bundle" => Ok(Command::Bundle(bundle::Order::parse(self.words_behind()?)?)),
            "help" => Ok(Command::Help { long: true }),
            _ => self.plain_command(word),
        }
    }

    /// A command whose words are few and fixed.
    fn plain_command(&mut self, word: &str) -> Result<Command, Error> {
        let words = self.words_behind()?.into_iter().map(|word| word.string());
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = match (word, words.as_slice()) {
            ("ps", []) => Command::Listing(Listing::Ps),
            ("gc", []) => Command::Listing(Listing::Gc),
            ("images", []) => Command::Listing(Listing::Images),
            ("config", ["show"]) => Command::Listing(Listing::ConfigShow),
            ("support", []) => Command::Listing(Listing::Support),
            ("doctor", []) => Command::Doctor { agent: None },
            ("doctor", [name]) => {
                let known = agent::AGENTS.iter().map(|agent| agent.name());
                let agent = agent::by_name(name).ok_or_else(|| near::unknown("agent", name, known))?;
                Command::Doctor { agent: Some(agent) }
            }
            ("toolchain-cache-clear", []) => Command::CacheClear,
            ("completions", [shell @ ("bash" | "zsh" | "fish")]) => Command::Completions { shell: (*shell).to_owned() },
            ("man", []) => Command::Man,
            ("normalize", [agent, command]) => {
                Command::Normalize { agent: (*agent).to_owned(), command: (*command).to_owned() }
            }
            _ => return Err(near::misused(word, &words)),
        };
        Ok(command)
    }

    /// Options may also follow these commands; the first plain word or `--` begins what is theirs.
    fn words_behind(&mut self) -> Result<Vec<OsString>, Error> {
        loop {
            if self.words.try_raw_args().is_some_and(|raw| raw.peek() == Some("--".as_ref())) {
                return Ok(self.words.raw_args()?.skip(1).collect());
            }
            let name = match self.words.next()? {
                None => return Ok(Vec::new()),
                Some(Arg::Value(first)) => {
                    return Ok([first].into_iter().chain(self.words.raw_args()?).collect());
                }
                Some(Arg::Short(letter)) => Name::Short(letter),
                Some(Arg::Long(name)) => Name::Long(name.to_owned()),
            };
            if self.option(&name)?.is_some() {
                return Err(Error::Usage("ask for help before the command: aifo-coder --help".to_owned()));
            }
        }
    }
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}
