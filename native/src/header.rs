//! The header of a look-up (105), in either form, as well-behaved peers write it.
//!
//! What is written otherwise is the server's, which reads what Java's name server reads. So nothing here is lenient:
//! a header that is read here has the same meaning there, whatever order, blanks and further ext fields it has.

use crate::{json_header, rocketmq_header};

/// A header of a look-up has 200 bytes, 400 with a signature; what is longer is never looked into.
pub const MAX_HEADER_BYTES: usize = 1_024 + 32;
/// The code of a look-up.
pub const LOOK_UP: i32 = 105;
/// Clients of 4.9.4 and later are answered in standard JSON.
const STANDARD_JSON_VERSION: i32 = 401;

/// How a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    /// RocketMQ's own.
    Binary,
}

/// What a header asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct LookUp<'a> {
    pub topic: &'a str,
    /// Whether the answer is in standard JSON, or in that of clients before 4.9.4.
    pub standard: bool,
    pub opaque: u32,
}

/// Read a header; None if it is no look-up, or is to be read by the server.
pub fn read(form: Form, header: &[u8]) -> Option<LookUp<'_>> {
    match form {
        Form::Json => json_header::read(header),
        Form::Binary => rocketmq_header::read(header),
    }
}

/// What an answer depends on of the ext fields.
#[derive(Default)]
pub struct Fields<'a> {
    topic: Option<&'a str>,
    accepts_standard_only: Option<&'a str>,
}

impl<'a> Fields<'a> {
    /// Note a field; None if it is not the first of its name, or has the answer narrowed to a zone.
    pub fn set(&mut self, name: &str, value: &'a str) -> Option<()> {
        match name {
            "topic" => once(&mut self.topic, value),
            "acceptStandardJsonOnly" => once(&mut self.accepts_standard_only, value),
            "__ZONE_MODE" => None,
            _ => Some(()),
        }
    }

    /// What a header with these fields asks for; None without a topic, or if the opaque is none that a client begins at.
    pub fn look_up(self, version: i32, opaque: i32) -> Option<LookUp<'a>> {
        let standard = version >= STANDARD_JSON_VERSION
            || self.accepts_standard_only.is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let opaque = u32::try_from(opaque).ok().filter(|opaque| *opaque > 0)?;
        Some(LookUp { topic: self.topic?, standard, opaque })
    }
}

/// Set what may be set once: of members with the same name, readers disagree which one counts.
pub fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    match slot.replace(value) {
        None => Some(()),
        Some(_) => None,
    }
}
