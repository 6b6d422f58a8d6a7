//! What must hold for any bytes that a stranger sends: checked by libFuzzer (`make fuzz-native`) and, for a
//! few changed look-ups, by `cargo test`.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

use namekeeper_front::frames::{Next, Scanner, MAX_DIGITS, MAX_HEADER_BYTES};
use namekeeper_front::front::{Front, Returned};

const OPAQUE: &[u8] = b"\"opaque\":";
const HEAD: &[u8] = b"{\"opaque\":";
const TAIL: &[u8] = b"}";
/// Header without the digits of its opaque -> body.
const KNOWN: [(&[u8], &[u8]); 2] =
    [(b"{\"opaque\":\"x\":1}", b"one"), (b"{\"code\":105,\"opaque\":\"x\":2}", b"")];
const LIMIT: Duration = Duration::from_secs(60);

/// A frame without a body.
pub fn frame(header: &[u8]) -> Vec<u8> {
    let size = header.len() as u32;
    [&(size + 4).to_be_bytes()[..], &size.to_be_bytes()[..], header].concat()
}

/// The first frame of `bytes` is what the protocol says, and no byte that follows changes that.
pub fn check_frame(bytes: &[u8]) {
    let scanner = Scanner::default();
    match scanner.next(bytes) {
        Next::Request { before, digits, after, size } => {
            let rebuilt = frame(&[before, digits, b",", after].concat());
            assert_eq!(rebuilt, bytes[..size], "a request is its parts");
            let opaque: i32 = std::str::from_utf8(digits).unwrap().parse().unwrap();
            assert_eq!(opaque.to_string().as_bytes(), digits, "an opaque is as an encoder writes it");
            assert!(opaque > 0 && digits.len() <= MAX_DIGITS);
            assert!(matches!(scanner.next(&bytes[..size]), Next::Request { .. }));
            for end in [0, 4, 7, size / 2, size - 1] {
                assert_eq!(scanner.next(&bytes[..end]), Next::Partial, "its begin may become one: {end}");
            }
        }
        Next::Partial => assert!(bytes.len() < 8 + MAX_HEADER_BYTES, "what is kept is bounded"),
        Next::Other => {
            let more = [bytes, b"\0\"opaque\":1,"].concat();
            assert_eq!(scanner.next(&more), Next::Other, "what is no look-up does not become one");
        }
    }
}

/// A lent socket is answered as far as its bytes are known look-ups, in whatever pieces they come; the bytes
/// after that come back. The first byte says how long the pieces are.
pub fn check_stream(bytes: &[u8]) {
    let Some((pieces, stream)) = bytes.split_first() else { return };
    let front = front();
    let (own, mut peer) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    peer.set_read_timeout(Some(LIMIT)).unwrap();
    front.lend(1, own.try_clone().unwrap().into()).unwrap();
    for piece in stream.chunks(1 + usize::from(*pieces)) {
        peer.write_all(piece).unwrap();
    }
    peer.shutdown(Shutdown::Write).unwrap();
    let came = returned(front);
    assert!(!came.is_broken, "no bytes make the front fail");
    own.shutdown(Shutdown::Write).unwrap();
    // What the front had not read when it returned the socket is still there.
    let mut left = Vec::new();
    own.set_nonblocking(false).unwrap();
    (&own).read_to_end(&mut left).unwrap();
    let mut got = Vec::new();
    peer.read_to_end(&mut got).unwrap();
    let (answers, rest) = expected(stream);
    assert_eq!([got, came.unsent].concat(), answers, "each known look-up is answered, in order");
    assert_eq!([came.unread, left].concat(), rest, "and nothing that was sent is lost");
}

/// The same, the slow way: the answers to the known look-ups at the begin, and all bytes after them.
fn expected(stream: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut answers = Vec::new();
    let mut rest = stream;
    while let Some((answer, size)) = expected_answer(rest) {
        answers.extend(answer);
        rest = &rest[size..];
    }
    (answers, rest)
}

fn expected_answer(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let word = u32::from_be_bytes(bytes.get(4..8)?.try_into().unwrap()) as usize;
    let header = bytes.get(8..word.checked_add(8)?)?;
    if frame(header) != bytes[..8 + word] {
        return None;
    }
    let at = header.windows(OPAQUE.len()).position(|window| window == OPAQUE)?;
    let (before, rest) = header.split_at(at + OPAQUE.len());
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let opaque: u32 = std::str::from_utf8(&rest[..comma]).ok()?.parse().ok()?;
    let key = [before, &rest[comma + 1..]].concat();
    let (_, body) = KNOWN.iter().find(|(known, _)| *known == key)?;
    let digits = opaque.to_string();
    if digits.as_bytes() != &rest[..comma] || !(1..1_000_000_000).contains(&opaque) {
        return None;
    }
    let header = [HEAD, digits.as_bytes(), TAIL].concat();
    let sizes = [(4 + header.len() + body.len()) as u32, header.len() as u32];
    Some(([&sizes[0].to_be_bytes(), &sizes[1].to_be_bytes(), &header[..], body].concat(), 8 + word))
}

/// One for the whole run: only the sockets are new each time.
fn front() -> &'static Front {
    static FRONT: OnceLock<Front> = OnceLock::new();
    FRONT.get_or_init(|| {
        let front = Front::start(HEAD, TAIL, 1).unwrap();
        front.change(|store| KNOWN.iter().for_each(|(key, body)| store.learn(key, 0, body)));
        front.notices().set_nonblocking(false).unwrap();
        front
    })
}

fn returned(front: &Front) -> Returned {
    // Blocking here, since nothing else waits: the front reads what is there until 64 bytes are not full.
    let mut notices = front.notices();
    notices.set_read_timeout(Some(LIMIT)).unwrap();
    notices.read_exact(&mut [0]).unwrap();
    notices.set_nonblocking(true).unwrap();
    let came = front.take_returned().pop().unwrap();
    notices.set_nonblocking(false).unwrap();
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some look-ups in a row, a few of whose bytes are others; the same in every run.
    fn changed(state: &mut u64, changes: usize) -> Vec<u8> {
        let mut random = |below: usize| {
            *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*state >> 33) as usize % below
        };
        let mut bytes = vec![random(256) as u8];
        for _ in 0..1 + random(4) {
            bytes.extend(match random(6) {
                0 => frame(b"{\"code\":105,\"opaque\":123456789,\"x\":2}"),
                1 => frame(b"{\"opaque\":1234567890,\"x\":1}"),
                2 => frame(b"{\"x\":1}"),
                3 => frame(b"{\"x\":\"opaque\":9,1}"),
                _ => frame(format!("{{\"opaque\":{},\"x\":1}}", random(2_000)).as_bytes()),
            });
        }
        for _ in 0..random(changes + 1) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"0\",:{}\0\xff"[random(8)]),
            }
        }
        bytes
    }

    #[test]
    fn any_bytes_are_a_frame_a_begin_or_something_else() {
        let mut state = 1;
        for _ in 0..200_000 {
            check_frame(&changed(&mut state, 3)[1..]);
        }
    }

    #[test]
    fn any_stream_is_answered_as_far_as_it_is_known() {
        let mut state = 2;
        for _ in 0..10_000 {
            check_stream(&changed(&mut state, 2));
        }
    }
}
