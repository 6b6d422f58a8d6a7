//! The header of a look-up in JSON with plain ASCII strings and whole numbers.

use crate::header::{once, Fields, LookUp, LOOK_UP};

/// Larger numbers may not be an int32: they are decoded by the server.
const MAX_DIGITS: usize = 9;
/// Another name is none for the server, which reads such a header leniently.
const LANGUAGES: [&str; 14] = [
    "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS",
    "RUST", "NODE_JS",
];

/// Read a header; None if it is no look-up, or is to be read by the server.
pub fn read(header: &[u8]) -> Option<LookUp<'_>> {
    let text = std::str::from_utf8(header).ok().filter(|text| text.is_ascii())?;
    let mut reader = Reader { text, at: 0 };
    let (mut code, mut flag, mut opaque, mut version, mut language) = (None, None, None, None, None);
    let mut fields = None;
    reader.members(|reader, name| match name {
        "code" => once(&mut code, reader.number()?),
        "flag" => once(&mut flag, reader.number()?),
        "opaque" => once(&mut opaque, reader.number()?),
        "version" => once(&mut version, reader.number()?),
        "language" => once(&mut language, reader.string()?),
        "extFields" => once(&mut fields, read_fields(reader)?),
        "serializeTypeCurrentRPC" | "remark" => reader.string().map(drop),
        _ => None,
    })?;
    reader.end()?;
    let is_known_language = language.is_none_or(|name| LANGUAGES.contains(&name));
    let number = |digits: Option<&str>| digits.unwrap_or("0").parse().ok();
    if number(code)? != LOOK_UP || number(flag)? != 0 || !is_known_language {
        return None;
    }
    fields?.look_up(number(version)?, number(opaque)?)
}

fn read_fields<'a>(reader: &mut Reader<'a>) -> Option<Fields<'a>> {
    let mut fields = Fields::default();
    reader.members(|reader, name| {
        let value = reader.string()?;
        fields.set(name, value)
    })?;
    Some(fields)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn skip_blanks(&mut self) {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(|byte| is_blank(byte)).count();
    }

    /// Go over a byte if it is the next one.
    fn eat(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        (self.rest().first() == Some(&byte)).then(|| self.at += 1)
    }

    fn take(&mut self, size: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + size];
        self.at += size;
        taken
    }

    fn end(&mut self) -> Option<()> {
        self.skip_blanks();
        self.rest().is_empty().then_some(())
    }

    /// An object, each of whose names is given to `each`, which reads the value.
    fn members(&mut self, mut each: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.eat(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.eat(b':')?;
            each(self, name)?;
            if self.eat(b',').is_none() {
                return self.eat(b'}');
            }
        }
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'a str> {
        self.eat(b'"')?;
        let size = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
        let is_whole = self.rest()[size] == b'"';
        let value = self.take(size);
        self.at += 1;
        is_whole.then_some(value)
    }

    /// A whole number as encoders write it; after it, a fraction or an exponent is no member's end.
    fn number(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let rest = self.rest();
        let sign = usize::from(rest.first() == Some(&b'-'));
        let size = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_plain = (1..=MAX_DIGITS).contains(&size) && (rest[sign] != b'0' || (size == 1 && sign == 0));
        is_plain.then(|| self.take(sign + size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAVA: &str =
        "{\"code\":105,\"extFields\":{\"topic\":\"T\",\"x\":\"y\"},\"flag\":0,\"language\":\"JAVA\",\
                        \"opaque\":42,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}";

    fn changed(from: &str, to: &str) -> String {
        assert_eq!(JAVA.matches(from).count(), 1, "{from}");
        JAVA.replace(from, to)
    }

    fn found(header: &str) -> Option<(&str, bool, u32)> {
        read(header.as_bytes()).map(|found| (found.topic, found.standard, found.opaque))
    }

    #[test]
    fn a_look_up_is_its_topic_the_form_of_its_answer_and_its_opaque() {
        assert_eq!(found(JAVA), Some(("T", true, 42)));
        assert_eq!(found("{\"code\":105,\"opaque\":7,\"extFields\":{\"topic\":\"\"}}"), Some(("", false, 7)));
    }

    #[test]
    fn order_blanks_and_what_the_server_ignores_change_nothing() {
        let other = " {\"opaque\" : 42 ,\n\"remark\":\"r\",\"version\":513,\"code\":105,\
                     \"extFields\": {\"a\":\"b\",\"a\":\"c\",\t\"topic\":\"T\" } }\r\n";
        assert_eq!(found(other), Some(("T", true, 42)));
    }

    #[test]
    fn the_form_is_told_by_the_version_and_by_a_field() {
        for (to, standard) in
            [("400", false), ("401", true), ("-1", false), ("0", false), ("999999999", true)]
        {
            assert_eq!(found(&changed("513", to)), Some(("T", standard, 42)), "{to}");
        }
        let accepting = |value: &str| {
            changed("\"x\":\"y\"", &format!("\"acceptStandardJsonOnly\":\"{value}\"")).replace("513", "1")
        };
        for (value, standard) in
            [("true", true), ("TRUE", true), ("false", false), ("", false), ("true ", false)]
        {
            assert_eq!(found(&accepting(value)), Some(("T", standard, 42)), "{value}");
        }
    }

    #[test]
    fn every_language_of_rocketmq_is_known_and_no_other_one() {
        for language in LANGUAGES {
            assert!(found(&changed("JAVA", language)).is_some(), "{language}");
        }
        assert_eq!(found(&changed("JAVA", "java")), None);
    }

    #[test]
    fn what_is_no_look_up_or_not_plain_is_the_servers() {
        let others = [
            ("105", "106"),
            ("105", "1050"),
            ("105", "105.0"),
            ("105", "\"105\""),
            ("\"flag\":0", "\"flag\":1"),
            ("\"flag\":0", "\"flag\":2"),
            ("\"flag\":0", "\"flag\":-0"),
            ("\"flag\":0", "\"flag\":null"),
            ("42", "0"),
            ("42", "-42"),
            ("42", "042"),
            ("42", "4e1"),
            ("42", "42.0"),
            ("42", "\"42\""),
            ("42", "2147483647"),
            ("42", ""),
            ("42", "42,\"opaque\":42"),
            ("513", "513,\"version\":1"),
            ("513", "01"),
            ("\"topic\":\"T\"", "\"topic\":\"T\",\"topic\":\"T\""),
            ("\"topic\":\"T\"", "\"topik\":\"T\""),
            ("\"topic\":\"T\"", "\"topic\":null"),
            ("\"topic\":\"T\"", "\"topic\":\"\\u0054\""),
            ("\"topic\":\"T\"", "\"topic\":\"T\u{e9}\""),
            ("\"x\":\"y\"", "\"x\":\"\n\""),
            ("\"x\":\"y\"", "\"x\":1"),
            ("\"x\":\"y\"", "\"__ZONE_MODE\":\"false\""),
            ("\"language\"", "\"languages\""),
            ("\"JAVA\"", "12"),
            ("513}", "513}}"),
            ("513}", "513"),
            ("513}", "513,}"),
            ("{\"code\"", "[\"code\""),
            (",\"flag\"", "\"flag\""),
        ];
        for (from, to) in others {
            assert_eq!(found(&changed(from, to)), None, "{from} -> {to}");
        }
        assert_eq!(found("{\"code\":105,\"opaque\":7}"), None);
        assert_eq!(found("{}"), None);
        assert_eq!(read(b"{\"code\":105,\xff"), None);
        for end in 0..JAVA.len() {
            assert_eq!(found(&JAVA[..end]), None, "{end}");
        }
    }

    #[test]
    fn any_bytes_are_read() {
        let mut state = 1_u64;
        for _ in 0..if cfg!(miri) { 1_000 } else { 200_000 } {
            let mut bytes = JAVA.as_bytes().to_vec();
            for _ in 0..2 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = b"0,:{}\"\\ -.e\xff"[(state >> 20) as usize % 12];
            }
            if let Some(found) = read(&bytes) {
                assert!((1..1_000_000_000).contains(&found.opaque));
            }
        }
    }
}
