//! Answers known look-ups beside the interpreter; see docs/decisions of Namekeeper for why and how.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod frames;
#[allow(missing_docs)]
pub mod front;
#[allow(missing_docs)]
pub mod header;
mod json_header;
mod rocketmq_header;
pub mod store;

#[cfg(feature = "python")]
mod python;
