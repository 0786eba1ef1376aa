//! Sessions in real containers, started by the real launcher. All need a Docker Engine and the images of
//! `cargo xtask images`; run by `cargo xtask test`, or `cargo test --test it -- --ignored docker::`.

mod agents;
mod bad_input;
mod built;
mod bundle;
mod caches;
mod codes;
mod death;
mod dry_run;
mod entrypoint;
mod git;
mod golden;
mod hardening;
mod image_failures;
mod images;
mod life;
mod lists;
mod locks;
mod mounts;
mod neighbours;
mod paths;
mod push;
mod references;
mod refusals;
mod secrets;
mod settings;
mod shells;
mod signing;
mod tenth;
mod terminal;
mod tmux;
mod volumes;
mod work;
