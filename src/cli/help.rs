//! The help, short and long. Both fit 79 columns; a test holds them to the parser.

use crate::config::VARIABLES;

const USAGE: &str = "\
aifo-coder: run coding agents in slim containers, their toolchains in sidecars

Usage: aifo-coder [OPTIONS] COMMAND [ARGS]

Commands:
  shell [ARGS]                 Run bash as the agent; ARGS are bash's own
  run [--image REF] -- CMD     Run CMD as the agent
  toolchain KIND[@VERSION][=IMAGE] [-- CMD]
                               Run CMD, or a shell, in a toolchain's container
  ps                           List running sessions
  gc                           Remove what ended sessions have left
  doctor                       Prove the whole path, from docker to a tool call

Options:
  --toolchain KIND[@VERSION][=IMAGE]
                     Add a sidecar: rust, node, python, c-cpp, go; repeatable
  --tool KIND:NAME   Carry one more tool to a sidecar of this kind; repeatable
  --image REF        Use this image for the agent
  --runtime NAME     docker (default), or local: plain processes, no isolation
  --dry-run          Print the commands instead of running them
  --json             Print lists as JSON
  -v, --verbose      Say more: every tool call, timings
  -q, --quiet        Say only what went wrong
  -h, --help         Print help; --help prints more than -h
  -V, --version      Print the version
";

const EXAMPLES: &str = "
Examples:
  aifo-coder --toolchain rust --toolchain node shell
  aifo-coder --toolchain c-cpp run -- make test
  aifo-coder toolchain rust -- cargo build --release
  aifo-coder --toolchain rust --dry-run shell
  aifo-coder --toolchain rust doctor
";

const EXIT_CODES: &str = "
Exit codes:
  0-255  that of the agent, verbatim; 128 + n when signal n ended it
  2      the command line is not understood
  86     in the agent: a tool call was refused, or no proxy is configured
  124    in the agent: a tool reached the limit that you set
  125    aifo-coder or docker failed before the agent ran
  126    the command was found but cannot be executed
  127    the command was not found
";

/// What `-h` prints.
pub(crate) fn short() -> String {
    USAGE.to_owned()
}

/// What `--help` prints.
pub(crate) fn long() -> String {
    let mut text = format!("{USAGE}{EXAMPLES}{EXIT_CODES}\nEnvironment:\n");
    for variable in VARIABLES {
        text.push_str(&format!("  {}\n      {}\n", variable.name, variable.meaning));
    }
    text
}

/// Every option that the help names.
pub(super) fn option_names() -> impl Iterator<Item = &'static str> {
    let options = USAGE.split("Options:").nth(1).unwrap_or_default();
    let words = options.split_whitespace().map(|word| word.trim_end_matches([',', ';', ':']));
    words.filter(|word| word.starts_with('-') && word.len() > 1)
}
