//! Looking at sessions from outside: what runs, what was left, whether everything would work.

mod doctor;
mod gc;
mod sessions;

pub(crate) use self::{doctor::run as doctor, gc::run as gc, sessions::run as ps};
