//! A stream split into look-ups: frames with a JSON header, without a body, that may be known.

use memchr::memmem::Finder;

/// Length field, header word.
const PREFIX_BYTES: usize = 8;
/// A header of a look-up has 200 bytes, 400 with a signature; what is longer is never known.
pub const MAX_HEADER_BYTES: usize = 1_024 + 32;
const OPAQUE: &[u8] = b"\"opaque\":";
/// Larger numbers may not be an int32: they are decoded by the server.
pub const MAX_DIGITS: usize = 9;

/// What stands at the begin of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A whole frame that may be a look-up: its header around the digits of its opaque.
    Request {
        /// The header up to the word `opaque` and its colon.
        before: &'a [u8],
        /// Those of the opaque.
        digits: &'a [u8],
        /// The header after the comma that follows them.
        after: &'a [u8],
        /// Bytes of the whole frame.
        size: usize,
    },
    /// The begin of one.
    Partial,
    /// Something else.
    Other,
}

/// Finds requests; the search for the opaque is prepared once.
pub struct Scanner {
    opaque: Finder<'static>,
}

impl Default for Scanner {
    fn default() -> Self {
        Scanner { opaque: Finder::new(OPAQUE) }
    }
}

impl Scanner {
    /// Say what the first frame of `bytes` is.
    pub fn next<'a>(&self, bytes: &'a [u8]) -> Next<'a> {
        let Some(prefix) = bytes.first_chunk::<PREFIX_BYTES>() else {
            return Next::Partial;
        };
        let length = u32::from_be_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
        let word = u32::from_be_bytes([prefix[4], prefix[5], prefix[6], prefix[7]]) as usize;
        // The top byte of the word is the form of the header; with it 0 the word is the header's length.
        if word > MAX_HEADER_BYTES || length != word + 4 {
            return Next::Other;
        }
        let size = PREFIX_BYTES + word;
        match bytes.get(PREFIX_BYTES..size) {
            None => Next::Partial,
            Some(header) => self.around_opaque(header, size).unwrap_or(Next::Other),
        }
    }

    fn around_opaque<'a>(&self, header: &'a [u8], size: usize) -> Option<Next<'a>> {
        let at = self.opaque.find(header)?;
        let rest = &header[at + OPAQUE.len()..];
        let comma = rest.iter().position(|byte| *byte == b',')?;
        let digits = &rest[..comma];
        let is_plain = matches!(digits.first(), Some(b'1'..=b'9'))
            && digits.len() <= MAX_DIGITS
            && digits.iter().all(u8::is_ascii_digit);
        let before = &header[..at + OPAQUE.len()];
        is_plain.then_some(Next::Request { before, digits, after: &rest[comma + 1..], size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn frame(header: &[u8]) -> Vec<u8> {
        let size = header.len() as u32;
        [&(size + 4).to_be_bytes()[..], &size.to_be_bytes()[..], header].concat()
    }

    #[test]
    fn a_whole_request_is_split_around_its_opaque() {
        let bytes = [&frame(b"{\"opaque\":42,\"x\":1}")[..], b"more"].concat();
        let expected = Next::Request { before: b"{\"opaque\":", digits: b"42", after: b"\"x\":1}", size: 27 };
        assert_eq!(Scanner::default().next(&bytes), expected);
    }

    #[test]
    fn a_request_that_is_not_whole_is_partial_at_any_byte() {
        let bytes = frame(b"{\"opaque\":42,\"x\":1}");
        for end in 0..bytes.len() {
            assert_eq!(Scanner::default().next(&bytes[..end]), Next::Partial, "{end}");
        }
    }

    #[test]
    fn what_is_no_look_up_is_other() {
        let mut with_body = [&frame(b"{\"opaque\":42,\"x\":1}")[..], b"x"].concat();
        with_body[3] += 1;
        let binary = [&[0, 0, 0, 5, 1, 0, 0, 1][..], b"x"].concat();
        let too_long = frame(&[b' '; MAX_HEADER_BYTES + 1]);
        let short = vec![0, 0, 0, 3, 0, 0, 0, 0];
        let huge = vec![0xff; 16];
        for bytes in [with_body, binary, too_long, short, huge, frame(b"{}"), frame(b"")] {
            assert_eq!(Scanner::default().next(&bytes), Next::Other, "{bytes:?}");
        }
    }

    #[test]
    fn only_plain_digits_are_copied() {
        for digits in ["07", "1e5", " 7", "null", "\"7\"", "7.0", "", "-5", "0", "2147483647"] {
            let bytes = frame(format!("{{\"opaque\":{digits},\"x\":1}}").as_bytes());
            assert_eq!(Scanner::default().next(&bytes), Next::Other, "{digits}");
        }
    }

    #[test]
    fn any_bytes_are_something() {
        let mut state = 1_u64;
        let frame = frame(b"{\"opaque\":42,\"x\":1}");
        let inputs = if cfg!(miri) { 1_000 } else { 200_000 };
        for _ in 0..inputs {
            let mut bytes = frame.clone();
            for _ in 0..2 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 20) as u8;
            }
            if let Next::Request { before, digits, after, size } = Scanner::default().next(&bytes) {
                assert_eq!(before.len() + digits.len() + 1 + after.len() + 8, size);
            }
        }
    }
}
