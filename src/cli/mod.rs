//! From words to an [`Invocation`]. Pure: nothing here looks at the system.

mod help;

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

pub(crate) use self::help::{long as long_help, short as short_help};
use crate::{
    error::Error,
    report::Level,
    toolchain::{Spec, is_tool_name},
};

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) options: Options,
    pub(crate) command: Command,
}

/// Options that stand before the command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) toolchains: Vec<Spec>,
    /// Tools beyond the table: kind and name.
    pub(crate) tools: Vec<(String, String)>,
    pub(crate) image: Option<String>,
    pub(crate) runtime: Runtime,
    pub(crate) dry_run: bool,
    pub(crate) json: bool,
    pub(crate) level: Level,
}

/// Where agent and tools run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Docker,
    /// Plain processes of this host: no isolation.
    Local,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help { long: bool },
    Version,
    Shell { args: Vec<OsString> },
    Run { command: Vec<OsString> },
    Toolchain { spec: Spec, command: Vec<OsString> },
    Ps,
    Gc,
    Doctor,
}

const COMMANDS: &[&str] = &["shell", "run", "toolchain", "ps", "gc", "doctor"];

/// Reads the words behind the program's name.
///
/// # Errors
/// [`Error::Usage`] with one sentence.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Invocation, Error> {
    let mut parser = Parser::from_args(words);
    let mut options = Options {
        toolchains: Vec::new(),
        tools: Vec::new(),
        image: None,
        runtime: Runtime::Docker,
        dry_run: false,
        json: false,
        level: Level::Normal,
    };
    let command = loop {
        match parser.next()? {
            None => break Command::Help { long: false },
            Some(Arg::Value(word)) => break command(&word.string()?, &mut parser, &mut options)?,
            Some(arg) => {
                if let Some(special) = option(&arg.into_owned(), &mut parser, &mut options)? {
                    break special;
                }
            }
        }
    };
    options.toolchains = Spec::last_of_each_kind(options.toolchains);
    Ok(Invocation { options, command })
}

/// Takes one option; help and version end the reading.
fn option(arg: &OwnedArg, parser: &mut Parser, options: &mut Options) -> Result<Option<Command>, Error> {
    let mut text = || Ok::<String, Error>(parser.value()?.string()?);
    match arg {
        OwnedArg::Short('h') => return Ok(Some(Command::Help { long: false })),
        OwnedArg::Short('V') => return Ok(Some(Command::Version)),
        OwnedArg::Short('v') => options.level = Level::Verbose,
        OwnedArg::Short('q') => options.level = Level::Quiet,
        OwnedArg::Long(name) => match name.as_str() {
            "help" => return Ok(Some(Command::Help { long: true })),
            "version" => return Ok(Some(Command::Version)),
            "verbose" => options.level = Level::Verbose,
            "quiet" => options.level = Level::Quiet,
            "dry-run" => options.dry_run = true,
            "json" => options.json = true,
            "toolchain" => options.toolchains.push(Spec::parse(&text()?)?),
            "tool" => options.tools.push(tool(&text()?)?),
            "image" => options.image = Some(text()?).filter(|image| !image.is_empty()),
            "runtime" => options.runtime = runtime(&text()?)?,
            _ => return Err(unknown_option(&format!("--{name}"))),
        },
        OwnedArg::Short(letter) => return Err(unknown_option(&format!("-{letter}"))),
    }
    Ok(None)
}

fn command(word: &str, parser: &mut Parser, options: &mut Options) -> Result<Command, Error> {
    match word {
        // Everything behind the name is the shell's own.
        "shell" => Ok(Command::Shell { args: parser.raw_args()?.collect() }),
        "run" => {
            let command = words_behind(parser, options)?;
            if command.is_empty() {
                return Err(Error::Usage("`run` needs a command: aifo-coder run -- CMD".to_owned()));
            }
            Ok(Command::Run { command })
        }
        "toolchain" => {
            let spec = Spec::parse(&parser.value().map_err(|_missing| kind_missing())?.string()?)?;
            Ok(Command::Toolchain { spec, command: words_behind(parser, options)? })
        }
        "ps" | "gc" | "doctor" => {
            if let Some(extra) = words_behind(parser, options)?.first() {
                return Err(Error::Usage(format!("`{word}` takes no argument, got `{}`", extra.display())));
            }
            Ok(match word {
                "ps" => Command::Ps,
                "gc" => Command::Gc,
                _ => Command::Doctor,
            })
        }
        "help" => Ok(Command::Help { long: true }),
        _ => Err(unknown("command", word, COMMANDS.iter().copied())),
    }
}

/// Options may also follow these commands; the first plain word or `--` begins the command to run.
fn words_behind(parser: &mut Parser, options: &mut Options) -> Result<Vec<OsString>, Error> {
    loop {
        if parser.try_raw_args().is_some_and(|raw| raw.peek() == Some("--".as_ref())) {
            let mut words: Vec<OsString> = parser.raw_args()?.collect();
            words.remove(0);
            return Ok(words);
        }
        match parser.next()? {
            None => return Ok(Vec::new()),
            Some(Arg::Value(first)) => {
                let mut words = vec![first];
                words.extend(parser.raw_args()?);
                return Ok(words);
            }
            Some(arg) => {
                if option(&arg.into_owned(), parser, options)?.is_some() {
                    return Err(Error::Usage("ask for help before the command: aifo-coder --help".to_owned()));
                }
            }
        }
    }
}

fn tool(text: &str) -> Result<(String, String), Error> {
    let bad = || Error::Usage(format!("tool `{text}` is not KIND:NAME"));
    let (kind, name) = text.split_once(':').ok_or_else(bad)?;
    let kind = Spec::parse(kind)?.kind.name.to_owned();
    if is_tool_name(name) { Ok((kind, name.to_owned())) } else { Err(bad()) }
}

fn runtime(text: &str) -> Result<Runtime, Error> {
    match text {
        "docker" => Ok(Runtime::Docker),
        "local" => Ok(Runtime::Local),
        _ => Err(Error::Usage(format!("no runtime `{text}`; there are docker and local"))),
    }
}

fn kind_missing() -> Error {
    Error::Usage("`toolchain` needs a kind: aifo-coder toolchain rust -- cargo --version".to_owned())
}

fn unknown_option(option: &str) -> Error {
    unknown("option", option, help::option_names())
}

/// An unknown word, with the nearest known one where there is a near one.
fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let nearest = known.map(|name| (distance(word, name), name)).min();
    Error::Usage(match nearest {
        Some((distance, name)) if distance <= 2 || (distance == 3 && word.len() > 6) => {
            format!("no {what} `{word}`; did you mean `{name}`?")
        }
        _ => format!("no {what} `{word}`; see aifo-coder --help"),
    })
}

/// Insertions, deletions and replacements between two words (Wagner and Fischer).
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (at, from) in one.chars().enumerate() {
        let mut diagonal = at;
        row[0] = at + 1;
        for (column, to) in two.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[two.len()]
}

/// A `lexopt` argument that no longer borrows from the parser.
#[derive(Debug)]
enum OwnedArg {
    Short(char),
    Long(String),
}

trait IntoOwned {
    fn into_owned(self) -> OwnedArg;
}

impl IntoOwned for Arg<'_> {
    fn into_owned(self) -> OwnedArg {
        match self {
            Self::Short(letter) => OwnedArg::Short(letter),
            Self::Long(name) => OwnedArg::Long(name.to_owned()),
            Self::Value(word) => OwnedArg::Long(word.to_string_lossy().into_owned()),
        }
    }
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}

#[cfg(test)]
mod tests;
