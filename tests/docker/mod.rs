//! Sessions in real containers, started by the real launcher. All need a Docker Engine and the images of
//! `cargo xtask images`; run by `cargo xtask test`, or `cargo test --test it -- --ignored docker::`.

mod agents;
mod codes;
mod death;
mod dry_run;
mod hardening;
mod images;
mod life;
mod neighbours;
mod paths;
mod refusals;
mod secrets;
mod settings;
mod shells;
mod terminal;
mod tmux;
mod work;
