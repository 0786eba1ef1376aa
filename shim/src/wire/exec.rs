//! What a call asks for: a tool, a directory, arguments and variables, all bytes.

use std::{error::Error, fmt};

use super::{
    env,
    form::{self, FormError, Pair},
    limits::{MAX_CWD, MAX_TOOL},
};

/// Byte strings without NUL, one behind the other, each ended by a NUL: the shape in which the kernel takes them.
/// Compact, because a call may bring a million of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CStrings {
    bytes: Vec<u8>,
    count: usize,
}

impl CStrings {
    /// Appends a string; what stands behind a NUL in it could not be passed on and is left out.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend(string.iter().take_while(|&&byte| byte != 0));
        self.bytes.push(0);
        self.count += 1;
    }

    /// Reads strings back from their bytes; none when the last one has no end.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let ended = bytes.last().is_none_or(|&last| last == 0);
        let count = bytes.iter().filter(|&&byte| byte == 0).count();
        ended.then_some(Self { bytes, count })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The strings, without their NULs.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split(|&byte| byte == 0).take(self.count)
    }
}

/// Why a call was refused before anything was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecError {
    Form(FormError),
    NoTool,
    ToolTwice,
    ToolTooLong,
    CwdTwice,
    CwdTooLong,
    BadVariable,
}

impl From<FormError> for ExecError {
    fn from(cause: FormError) -> Self {
        Self::Form(cause)
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(cause) => cause.fmt(f),
            Self::NoTool => f.write_str("no tool named"),
            Self::ToolTwice => f.write_str("tool named twice"),
            Self::ToolTooLong => f.write_str("tool name too long"),
            Self::CwdTwice => f.write_str("cwd named twice"),
            Self::CwdTooLong => f.write_str("cwd too long"),
            Self::BadVariable => f.write_str("variable without a name"),
        }
    }
}

impl Error for ExecError {}

/// One call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecRequest {
    pub tool: Vec<u8>,
    /// Empty where the client named none; the server then takes its first root.
    pub cwd: Vec<u8>,
    /// Without the tool's own name.
    pub args: CStrings,
    /// `NAME=value` each.
    pub env: CStrings,
}

impl ExecRequest {
    /// The form that carries it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.args.as_bytes().len() + self.env.as_bytes().len() + 256);
        form::encode("tool", &self.tool, &mut out);
        form::encode("cwd", &self.cwd, &mut out);
        self.args.iter().for_each(|arg| form::encode("arg", arg, &mut out));
        self.env.iter().for_each(|variable| form::encode("env", variable, &mut out));
        out
    }
}

/// Builds an [`ExecRequest`] from a form that arrives in pieces.
#[derive(Debug, Default)]
pub struct ExecDecoder {
    form: form::Decoder,
    request: ExecRequest,
    has_cwd: bool,
}

impl ExecDecoder {
    /// # Errors
    /// Any [`ExecError`].
    pub fn feed(&mut self, input: &[u8]) -> Result<(), ExecError> {
        let Self { form, request, has_cwd } = self;
        form.feed(input, |pair| accept(request, has_cwd, &pair))
    }

    /// # Errors
    /// Any [`ExecError`].
    pub fn finish(mut self) -> Result<ExecRequest, ExecError> {
        if let Some(last) = self.form.finish()? {
            accept(&mut self.request, &mut self.has_cwd, &last)?;
        }
        if self.request.tool.is_empty() { Err(ExecError::NoTool) } else { Ok(self.request) }
    }
}

/// Keys of other protocols are passed over, so that a newer client can talk to an older server.
fn accept(request: &mut ExecRequest, has_cwd: &mut bool, Pair { key, value }: &Pair) -> Result<(), ExecError> {
    match key.as_slice() {
        b"tool" if !request.tool.is_empty() => return Err(ExecError::ToolTwice),
        b"tool" if value.len() > MAX_TOOL => return Err(ExecError::ToolTooLong),
        b"tool" => request.tool.clone_from(value),
        b"cwd" if *has_cwd => return Err(ExecError::CwdTwice),
        b"cwd" if value.len() > MAX_CWD => return Err(ExecError::CwdTooLong),
        b"cwd" => {
            request.cwd.clone_from(value);
            *has_cwd = true;
        }
        b"arg" => request.args.push(value),
        b"env" => {
            let name = env::name_of(value).ok_or(ExecError::BadVariable)?;
            if env::may_cross(name) {
                request.env.push(value);
            }
        }
        _ => {}
    }
    Ok(())
}
