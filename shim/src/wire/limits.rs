//! Every limit of the protocol, by name: what a peer may make the other side hold in memory.
//!
//! A message at a limit passes, one byte more is refused; each limit has a test at both.

/// A request or response head, its empty line included.
pub const MAX_HEAD: usize = 64 * 1024;
/// Fields in a head.
pub const MAX_FIELDS: usize = 100;
/// The method of a request.
pub const MAX_METHOD: usize = 32;
/// The target of a request.
pub const MAX_TARGET: usize = 8 * 1024;
/// The encoded body of a request. The kernel takes 2 MiB of arguments and environment, and the form encoding can
/// triple them, so everything that can be executed fits.
pub const MAX_BODY: u64 = 8 * 1024 * 1024;
/// Hex digits of a chunk's size: what fits 64 bits.
pub const MAX_CHUNK_DIGITS: usize = 16;
/// The extension of one chunk; all extensions of a body together may be as long as a head.
pub const MAX_CHUNK_EXTENSION: usize = 256;
/// Trailers behind the last chunk, in bytes and in fields.
pub const MAX_TRAILERS: usize = 8 * 1024;
/// Fields among the trailers.
pub const MAX_TRAILER_FIELDS: usize = 32;
/// A key of a form: the longest that the protocol knows has seven letters.
pub const MAX_FORM_KEY: usize = 64;
/// The name of a tool.
pub const MAX_TOOL: usize = 64;
/// A working directory, as the kernel limits paths (PATH_MAX, the NUL included).
pub const MAX_CWD: usize = 4095;
/// One argument or variable, as the kernel limits strings at exec (MAX_ARG_STRLEN, the NUL included).
pub const MAX_ARG: usize = 131_071;
/// What a client shows of an answer that refused its call.
pub const MAX_REASON: usize = 4 * 1024;
