//! Waiting for several descriptors, some of which may not matter at the moment.

use std::{io, time::Duration};

use rustix::event::{PollFd, Timespec};

/// Waits until one of them is ready, hung up or in error, or the time is up; says which. Those that are `None` are not
/// waited for and never ready.
pub(super) fn poll<const N: usize>(list: [Option<PollFd<'_>>; N], limit: Option<Duration>) -> io::Result<[bool; N]> {
    let asked = list.each_ref().map(Option::is_some);
    let mut present: Vec<PollFd<'_>> = list.into_iter().flatten().collect();
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut present, limit.as_ref()))?;
    let mut found = present.iter().map(|fd| !fd.revents().is_empty());
    Ok(asked.map(|asked| asked && found.next().unwrap_or(false)))
}
