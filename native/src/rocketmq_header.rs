//! The header of a look-up in RocketMQ's binary form (protocol.md 1.4) with ASCII strings, each where its length says.

use crate::header::{Fields, LookUp, LOOK_UP};

/// Peers send the number of a language below this; another one is none for the server.
const LANGUAGES: u8 = 14;

/// Read a header; None if it is no look-up, or is to be read by the server.
pub fn read(header: &[u8]) -> Option<LookUp<'_>> {
    let mut reader = Reader { rest: header };
    let code = reader.int16()?;
    let [language] = reader.take()?;
    let version = reader.int16()?;
    let (opaque, flag) = (reader.int32()?, reader.int32()?);
    let remark = reader.int32()?;
    reader.string(remark)?;
    let size = reader.int32()?;
    // What follows the fields begins the body, of which there is none.
    if code != LOOK_UP || language >= LANGUAGES || flag != 0 || usize::try_from(size) != Ok(reader.rest.len())
    {
        return None;
    }
    let mut fields = Fields::default();
    while !reader.rest.is_empty() {
        let size = reader.int16()?;
        let name = reader.string(size)?;
        let size = reader.int32()?;
        let value = reader.string(size)?;
        // The server leaves out what has an empty name or value.
        if !name.is_empty() && !value.is_empty() {
            fields.set(name, value)?;
        }
    }
    fields.look_up(version, opaque)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const SIZE: usize>(&mut self) -> Option<[u8; SIZE]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    fn int16(&mut self) -> Option<i32> {
        self.take().map(|bytes| i16::from_be_bytes(bytes).into())
    }

    fn int32(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    /// A string of ASCII with so many bytes.
    fn string(&mut self, size: i32) -> Option<&'a str> {
        let size = usize::try_from(size).ok().filter(|size| *size <= self.rest.len())?;
        let (taken, rest) = self.rest.split_at(size);
        self.rest = rest;
        std::str::from_utf8(taken).ok().filter(|text| text.is_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAVA: u8 = 0;
    const VERSION: i16 = 513;
    const TOPIC: [(&[u8], &[u8]); 2] = [(b"topic", b"T"), (b"x", b"y")];

    fn fields(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
        let each = pairs.iter().map(|(name, value)| {
            let sizes = ((name.len() as i16).to_be_bytes(), (value.len() as i32).to_be_bytes());
            [&sizes.0[..], name, &sizes.1[..], value].concat()
        });
        each.collect::<Vec<_>>().concat()
    }

    fn header(
        code: i16,
        language: u8,
        version: i16,
        opaque: i32,
        flag: i32,
        remark: &[u8],
        fields: &[u8],
    ) -> Vec<u8> {
        [
            &code.to_be_bytes()[..],
            &[language],
            &version.to_be_bytes(),
            &opaque.to_be_bytes(),
            &flag.to_be_bytes(),
            &(remark.len() as i32).to_be_bytes(),
            remark,
            &(fields.len() as i32).to_be_bytes(),
            fields,
        ]
        .concat()
    }

    fn usual(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
        header(105, JAVA, VERSION, 42, 0, b"", &fields(pairs))
    }

    fn found(header: &[u8]) -> Option<(String, bool, u32)> {
        read(header).map(|found| (found.topic.to_string(), found.standard, found.opaque))
    }

    fn expected(topic: &str, standard: bool, opaque: u32) -> Option<(String, bool, u32)> {
        Some((topic.to_string(), standard, opaque))
    }

    #[test]
    fn a_look_up_is_its_topic_the_form_of_its_answer_and_its_opaque() {
        assert_eq!(found(&usual(&TOPIC)), expected("T", true, 42));
        let other = header(105, 13, 400, i32::MAX, 0, b"remark", &fields(&TOPIC));
        assert_eq!(found(&other), expected("T", false, 2_147_483_647));
    }

    #[test]
    fn the_form_is_told_by_the_version_and_by_a_field() {
        for (version, standard) in [(-1, false), (0, false), (400, false), (401, true), (i16::MAX, true)] {
            let old = header(105, JAVA, version, 42, 0, b"", &fields(&TOPIC));
            assert_eq!(found(&old), expected("T", standard, 42), "{version}");
        }
        for (value, standard) in [("true", true), ("TRUE", true), ("false", false), ("true ", false)] {
            let pairs = fields(&[(b"acceptStandardJsonOnly", value.as_bytes()), (b"topic", b"T")]);
            assert_eq!(
                found(&header(105, JAVA, 1, 42, 0, b"", &pairs)),
                expected("T", standard, 42),
                "{value}"
            );
        }
    }

    #[test]
    fn what_has_no_name_or_no_value_is_left_out_as_by_the_server() {
        let pairs: [(&[u8], &[u8]); 4] =
            [(b"topic", b""), (b"", b"U"), (b"__ZONE_MODE", b""), (b"topic", b"T")];
        assert_eq!(found(&usual(&pairs)), expected("T", true, 42));
        assert_eq!(found(&usual(&pairs[..3])), None);
    }

    #[test]
    fn what_is_no_look_up_or_not_plain_is_the_servers() {
        let plain = fields(&TOPIC);
        let others = [
            header(106, JAVA, VERSION, 42, 0, b"", &plain),
            header(105, 14, VERSION, 42, 0, b"", &plain),
            header(105, 0xff, VERSION, 42, 0, b"", &plain),
            header(105, JAVA, VERSION, 0, 0, b"", &plain),
            header(105, JAVA, VERSION, -42, 0, b"", &plain),
            header(105, JAVA, VERSION, 42, 1, b"", &plain),
            header(105, JAVA, VERSION, 42, 2, b"", &plain),
            header(105, JAVA, VERSION, 42, 0, "\u{e9}".as_bytes(), &plain),
            header(105, JAVA, VERSION, 42, 0, b"", b""),
            usual(&[(b"topic", b"T"), (b"topic", b"T")]),
            usual(&[(b"topic", "T\u{e9}".as_bytes())]),
            usual(&[(b"topic", b"T\xff")]),
            usual(&[(b"topic", b"T"), (b"__ZONE_MODE", b"false")]),
            [&usual(&TOPIC)[..], b"x"].concat(),
        ];
        for each in others {
            assert_eq!(found(&each), None, "{each:?}");
        }
    }

    #[test]
    fn a_length_that_does_not_fit_is_the_servers_wherever_it_stands() {
        let plain = usual(&TOPIC);
        for end in 0..plain.len() {
            assert_eq!(found(&plain[..end]), None, "{end}");
        }
        // The remark's, the fields', a name's and a value's.
        for (at, size) in [(13, 4), (17, 4), (21, 2), (28, 4)] {
            for wrong in [0xff, 0x7f] {
                let mut changed = plain.clone();
                changed[at..at + size].fill(wrong);
                assert_eq!(found(&changed), None, "{at}");
            }
        }
    }
}
