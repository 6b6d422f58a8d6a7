//! A stream split into frames that may be look-ups: those with a short header and without a body.

use crate::header::{Form, MAX_HEADER_BYTES};

/// Length field, header word.
const PREFIX_BYTES: usize = 8;

/// What stands at the begin of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A whole frame that may be a look-up.
    Request {
        /// How the header is written, if it is what it says.
        form: Form,
        /// The header's bytes.
        header: &'a [u8],
        /// Bytes of the whole frame.
        size: usize,
    },
    /// The begin of one.
    Partial,
    /// Something else.
    Other,
}

/// Say what the first frame of `bytes` is.
pub fn next(bytes: &[u8]) -> Next<'_> {
    let Some(prefix) = bytes.first_chunk::<PREFIX_BYTES>() else {
        return Next::Partial;
    };
    let length = u32::from_be_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
    let word = u32::from_be_bytes([prefix[4], prefix[5], prefix[6], prefix[7]]) as usize;
    // The top byte of the word is the form of the header, the others are its length.
    let form = match word >> 24 {
        0 => Form::Json,
        1 => Form::Binary,
        _ => return Next::Other,
    };
    let header_size = word & 0xff_ffff;
    if header_size > MAX_HEADER_BYTES || length != header_size + 4 {
        return Next::Other;
    }
    let size = PREFIX_BYTES + header_size;
    bytes.get(PREFIX_BYTES..size).map_or(Next::Partial, |header| Next::Request { form, header, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(header: &[u8]) -> Vec<u8> {
        let size = header.len() as u32;
        [&(size + 4).to_be_bytes()[..], &size.to_be_bytes()[..], header].concat()
    }

    #[test]
    fn a_whole_request_is_its_header() {
        let bytes = [&frame(b"{\"opaque\":42}")[..], b"more"].concat();
        assert_eq!(next(&bytes), Next::Request { form: Form::Json, header: b"{\"opaque\":42}", size: 21 });
        assert_eq!(next(&frame(b"")), Next::Request { form: Form::Json, header: b"", size: 8 });
        let binary = [0, 0, 0, 5, 1, 0, 0, 1, b'x'];
        assert_eq!(next(&binary), Next::Request { form: Form::Binary, header: b"x", size: 9 });
        assert_eq!(next(&binary[..8]), Next::Partial);
    }

    #[test]
    fn a_request_that_is_not_whole_is_partial_at_any_byte() {
        let bytes = frame(b"{\"opaque\":42}");
        for end in 0..bytes.len() {
            assert_eq!(next(&bytes[..end]), Next::Partial, "{end}");
        }
    }

    #[test]
    fn what_is_no_look_up_is_other() {
        let mut with_body = [&frame(b"{\"opaque\":42}")[..], b"x"].concat();
        with_body[3] += 1;
        let unknown_form = [&[0, 0, 0, 5, 2, 0, 0, 1][..], b"x"].concat();
        let binary_with_body = [&[0, 0, 0, 6, 1, 0, 0, 1][..], b"xy"].concat();
        let too_long = frame(&[b' '; MAX_HEADER_BYTES + 1]);
        let short = vec![0, 0, 0, 3, 0, 0, 0, 0];
        let huge = vec![0xff; 16];
        for bytes in [with_body, unknown_form, binary_with_body, too_long, short, huge] {
            assert_eq!(next(&bytes), Next::Other, "{bytes:?}");
        }
    }
}
