//! What must hold for any bytes that a stranger sends: checked by libFuzzer (`make fuzz-native`) and, for a
//! few changed look-ups, by `cargo test`.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

use namekeeper_front::frames::{next, Next};
use namekeeper_front::front::{Front, Returned};
use namekeeper_front::header::{read, Form, LookUp, MAX_HEADER_BYTES};
use serde_json::{Map, Value};

const HEAD: &[u8] = b"{\"opaque\":";
const TAIL: &[u8] = b"}";
/// Topic, form, body.
const KNOWN: [(&str, bool, &[u8]); 3] = [("T", true, b"new"), ("T", false, b"old"), ("U", true, b"")];
const LIMIT: Duration = Duration::from_secs(60);
/// A socket's buffer has room for this many writes of a byte, when nobody reads it any more.
const MOST_PIECES: usize = 200;

/// A frame without a body.
pub fn frame(form: Form, header: &[u8]) -> Vec<u8> {
    let size = header.len() as u32;
    let word = size | u32::from(form == Form::Binary) << 24;
    [&(size + 4).to_be_bytes()[..], &word.to_be_bytes()[..], header].concat()
}

/// The first frame of `bytes` is what the protocol says, no byte that follows changes that, and a look-up in it
/// says what another reader finds there.
pub fn check_frame(bytes: &[u8]) {
    match next(bytes) {
        Next::Request { form, header, size } => {
            assert_eq!(frame(form, header), bytes[..size], "a request is its header");
            assert!(matches!(next(&bytes[..size]), Next::Request { .. }));
            for end in [0, 4, 7, size / 2, size - 1] {
                assert_eq!(next(&bytes[..end]), Next::Partial, "its begin may become one: {end}");
            }
            match (form, read(form, header)) {
                (Form::Json, Some(look_up)) => check_json(header, &look_up),
                (Form::Binary, Some(look_up)) => check_binary(header, &look_up),
                (_, None) => {}
            }
        }
        Next::Partial => assert!(bytes.len() < 8 + MAX_HEADER_BYTES, "what is kept is bounded"),
        Next::Other => {
            let more = [bytes, b"\0\"opaque\":1,"].concat();
            assert_eq!(next(&more), Next::Other, "what is no look-up does not become one");
        }
    }
}

/// A header in JSON that is read as a look-up is one.
fn check_json(header: &[u8], look_up: &LookUp) {
    let members: Map<String, Value> = serde_json::from_slice(header).unwrap();
    let number = |name: &str| members.get(name).map_or(0, |value| value.as_i64().unwrap());
    assert_eq!((number("code"), number("flag")), (105, 0));
    assert_eq!(number("opaque"), i64::from(look_up.opaque));
    let opaque = format!("\"opaque\":{}", look_up.opaque);
    assert!(without_blanks(header).contains(&opaque), "an opaque is as an encoder writes it");
    assert!((1..1_000_000_000).contains(&look_up.opaque));
    let fields = members["extFields"].as_object().unwrap();
    assert!(!fields.contains_key("__ZONE_MODE") && fields.values().all(Value::is_string));
    assert_eq!(fields["topic"], look_up.topic);
    let asks_for_standard = fields
        .get("acceptStandardJsonOnly")
        .is_some_and(|value| value.as_str().unwrap().to_lowercase() == "true");
    assert_eq!(look_up.standard, number("version") >= 401 || asks_for_standard);
}

fn without_blanks(header: &[u8]) -> String {
    String::from_utf8_lossy(header).replace([' ', '\t', '\n', '\r'], "")
}

/// A binary header that is read as a look-up is what an encoder writes for one.
fn check_binary(header: &[u8], look_up: &LookUp) {
    let number = |at: usize, size: usize| {
        header[at..at + size].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!((number(0, 2), number(9, 4)), (105, 0), "code and flag");
    assert!(number(2, 1) < 14, "a language");
    assert_eq!(number(5, 4), look_up.opaque as usize);
    assert!((1..1 << 31).contains(&look_up.opaque));
    let mut at = 17 + number(13, 4);
    assert!(header[17..at].is_ascii());
    assert_eq!(at + 4 + number(at, 4), header.len(), "fields end the header");
    at += 4;
    let mut fields = Vec::new();
    while at < header.len() {
        let name = &header[at + 2..at + 2 + number(at, 2)];
        at += 2 + name.len();
        let value = &header[at + 4..at + 4 + number(at, 4)];
        at += 4 + value.len();
        assert!(name.is_ascii() && value.is_ascii());
        if !name.is_empty() && !value.is_empty() {
            fields.push((name, value));
        }
    }
    let with_name = |wanted: &[u8]| -> Vec<&[u8]> {
        fields.iter().filter(|(name, _)| *name == wanted).map(|(_, value)| *value).collect()
    };
    let (topics, asking) = (with_name(b"topic"), with_name(b"acceptStandardJsonOnly"));
    assert_eq!(topics, [look_up.topic.as_bytes()]);
    assert!(asking.len() < 2 && !fields.iter().any(|(name, _)| *name == b"__ZONE_MODE"));
    let is_new = (401..1 << 15).contains(&number(3, 2));
    assert_eq!(look_up.standard, is_new || asking.iter().any(|value| value.to_ascii_lowercase() == b"true"));
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
    for piece in stream.chunks(1 + usize::from(*pieces) + stream.len() / MOST_PIECES) {
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
    let [top, ..] = *bytes.get(4..8)? else { return None };
    let form = [Form::Json, Form::Binary].into_iter().nth(top.into())?;
    let size = u32::from_be_bytes([0, bytes[5], bytes[6], bytes[7]]) as usize;
    let header = bytes.get(8..8 + size)?;
    if frame(form, header) != bytes[..8 + size] || size > MAX_HEADER_BYTES {
        return None;
    }
    let look_up = read(form, header)?;
    let known = KNOWN.iter().find(|known| (known.0, known.1) == (look_up.topic, look_up.standard))?;
    let header = [HEAD, look_up.opaque.to_string().as_bytes(), TAIL].concat();
    let sizes = [(4 + header.len() + known.2.len()) as u32, header.len() as u32];
    Some(([&sizes[0].to_be_bytes(), &sizes[1].to_be_bytes(), &header[..], known.2].concat(), 8 + size))
}

/// One for the whole run: only the sockets are new each time.
fn front() -> &'static Front {
    static FRONT: OnceLock<Front> = OnceLock::new();
    FRONT.get_or_init(|| {
        let front = Front::start(HEAD, TAIL, 1).unwrap();
        front.change(|store| {
            KNOWN.iter().for_each(|(topic, standard, body)| store.learn(topic, *standard, 0, body))
        });
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

    fn json(header: &str) -> Vec<u8> {
        frame(Form::Json, header.as_bytes())
    }

    fn binary(topic: &str, version: i16, opaque: i32) -> Vec<u8> {
        let topic_size = (topic.len() as i32).to_be_bytes();
        let fields = [b"\0\x05topic", &topic_size[..], topic.as_bytes(), b"\0\x01x\0\0\0\x01y"].concat();
        let numbers = [&[0, 105, 9][..], &version.to_be_bytes(), &opaque.to_be_bytes(), &[0; 8]].concat();
        frame(Form::Binary, &[&numbers[..], &(fields.len() as i32).to_be_bytes(), &fields].concat())
    }

    /// Some look-ups in a row, a few of whose bytes are others; the same in every run.
    fn changed(state: &mut u64, changes: usize) -> Vec<u8> {
        let mut random = |below: usize| {
            *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*state >> 33) as usize % below
        };
        let mut bytes = vec![random(256) as u8];
        for _ in 0..1 + random(4) {
            let topic = ["T", "U", "V"][random(3)];
            let version = [400, 513][random(2)];
            bytes.extend(match random(9) {
                0 => json(&format!("{{\"code\":105,\"opaque\":123456789,\"extFields\":{{\"topic\":\"{topic}\"}}}}")),
                1 => json("{\"code\":105,\"opaque\":1234567890,\"extFields\":{\"topic\":\"T\"}}"),
                2 => json("{\"code\":106,\"opaque\":7}"),
                3 => json("{\"code\":105,\"opaque\":7,\"extFields\":{\"topic\":\"T\",\"__ZONE_MODE\":\"true\"}}"),
                4..=6 => binary(topic, version, [random(2_000) as i32, i32::MAX, -1][random(3)]),
                _ => json(&format!("{{\"code\":105,\"extFields\":{{\"topic\":\"{topic}\",\"x\":\"y\"}},\"flag\":0,\
                    \"language\":\"GO\",\"opaque\":{},\"serializeTypeCurrentRPC\":\"JSON\",\"version\":{version}}}", random(2_000))),
            });
        }
        for _ in 0..random(changes + 1) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"0\",:{} \\\xff"[random(9)]),
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
