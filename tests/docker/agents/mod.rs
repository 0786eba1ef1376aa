//! Real agents from their registries, each in its own container, each pointed at the stand-in for its provider.
//!
//! They need the agents' slim images besides what all sessions need. Crush and Plandex are not among them: no registry
//! carries their programs.

mod outlive;
mod paths;
mod recipes;
mod smart;
mod stage;
mod version;
mod work;
mod wrap;
