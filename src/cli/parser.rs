//! Reading the words.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

use super::{Command, FORMS, Invocation, Listing, Switches, near};
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
    if reader.switches.dry_run {
        refuse_dry_run(&command)?;
    }
    Ok(Invocation { settings: reader.settings, switches: reader.switches, command })
}

/// What proves that sessions work has to run some: a dry run of it would either lie or run them.
fn refuse_dry_run(command: &Command) -> Result<(), Error> {
    let name = match command {
        Command::Doctor { .. } => "doctor",
        Command::Listing(Listing::Support) => "support",
        _ => return Ok(()),
    };
    Err(Error::Usage(format!(
        "--dry-run is for sessions, and `{name}` really runs some: aifo-coder --dry-run shell, or aifo-coder {name}"
    )))
}

struct Reader {
    words: Parser,
    settings: Vec<(&'static Setting, String)>,
    switches: Switches,
}

/// What is found where a word may stand.
enum Word {
    Plain(OsString),
    /// An option that is a command of its own: help, version.
    Command(Command),
}

/// An option without its value.
enum Name {
    Short(char),
    Long(String),
}

impl Reader {
    fn read(&mut self) -> Result<Command, Error> {
        match self.next_word()? {
            None => Ok(Command::Help { long: false }),
            Some(Word::Plain(word)) => self.command(&word.string()?),
            Some(Word::Command(command)) => Ok(command),
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
            "run" => self.with_words(|words| match words.as_slice() {
                [] => Err(Error::Usage("`run` needs a command: aifo-coder run -- CMD".to_owned())),
                _ => Ok(Command::Run { words }),
            }),
            "toolchain" => {
                let missing = "`toolchain` needs a kind: aifo-coder toolchain rust -- cargo --version";
                let kind = match self.next_word()? {
                    None => return Err(Error::Usage(missing.to_owned())),
                    Some(Word::Plain(kind)) => kind.string()?,
                    Some(Word::Command(command)) => return Ok(command),
                };
                let spec = Spec::parse(&kind)?;
                self.with_words(|words| Ok(Command::Toolchain { spec, words }))
            }
            "bundle" => self.with_words(|words| Ok(Command::Bundle(bundle::Order::parse(words)?))),
            "help" => Ok(Command::Help { long: true }),
            _ => self.plain_command(word),
        }
    }

    /// A command whose words are few and fixed.
    fn plain_command(&mut self, word: &str) -> Result<Command, Error> {
        if !FORMS.iter().any(|form| form.name == word) {
            return Err(near::misused(word, &[]));
        }
        let mut words = Vec::new();
        while let Some(found) = self.next_word()? {
            match found {
                Word::Plain(found) => words.push(found.string()?),
                Word::Command(command) => return Ok(command),
            }
        }
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

    /// What stands behind a command that runs something: options may follow it, too, and the first plain word or `--`
    /// begins what is to be run.
    fn with_words(&mut self, make: impl FnOnce(Vec<OsString>) -> Result<Command, Error>) -> Result<Command, Error> {
        match self.next_word()? {
            None => make(Vec::new()),
            Some(Word::Plain(first)) => make([first].into_iter().chain(self.words.raw_args()?).collect()),
            Some(Word::Command(command)) => Ok(command),
        }
    }

    /// The next word that is no option; options on the way are taken.
    fn next_word(&mut self) -> Result<Option<Word>, Error> {
        loop {
            let name = match self.words.next()? {
                None => return Ok(None),
                Some(Arg::Value(word)) => return Ok(Some(Word::Plain(word))),
                Some(Arg::Short(letter)) => Name::Short(letter),
                Some(Arg::Long(name)) => Name::Long(name.to_owned()),
            };
            if let Some(command) = self.option(&name)? {
                return Ok(Some(Word::Command(command)));
            }
        }
    }
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}
