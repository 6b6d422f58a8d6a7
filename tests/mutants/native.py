"""`make mutants-native`: known bugs of the native front, each of which its own tests must find.

The crate is copied, changed, and tested with cargo. What the front does together with the server is seeded in
tests/unit/app/test_linearizability.py, from the outside.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

__all__ = ["NATIVE_MUTANTS", "NativeMutant"]

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "native"
TARGET = ROOT / "build" / "native-mutants"
LIMIT_SECONDS = 300
"""A test that waits for what does not come has caught it."""


class NativeMutant(NamedTuple):
    """A bug: a text that occurs once in a file of the crate, and what it is replaced by."""

    name: str
    file: str
    old: str
    new: str
    rule: str
    """What does not hold any more."""

    def text(self) -> str:
        """The file with the bug in it.

        Raises:
            ValueError: the old text is not there exactly once.
        """
        text = (CRATE / "src" / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text occurs {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


NATIVE_MUTANTS = (
    NativeMutant(
        "forgets-nothing", "store.rs", "let Some(entry) = self.forms[usize::from(standard)].remove(topic) else {",
        "let Some(entry) = self.forms[usize::from(standard)].get(topic).map(|each| Entry {\n"
        "            content: Arc::clone(&each.content),\n            counter: each.counter,\n"
        "            is_asked: AtomicBool::new(false),\n        }) else {",
        "what is forgotten is not answered after",
    ),
    NativeMutant(
        "forgets-one-form", "store.rs", "self.remove(topic.as_ref(), false) | self.remove(topic.as_ref(), true)",
        "self.remove(topic.as_ref(), false) || self.remove(topic.as_ref(), true)", "a topic is forgotten in both forms",
    ),
    NativeMutant(
        "answers-while-paused", "store.rs", "        if self.is_paused {\n", "        if false {\n",
        "nothing is answered while not all that is wrong is forgotten",
    ),
    NativeMutant(
        "mixes-forms", "store.rs", "self.forms[usize::from(look_up.standard)].get(", "self.forms[1].get(",
        "an answer has the form that was asked for",
    ),
    NativeMutant(
        "says-nothing-was-asked", "store.rs", "entry.is_asked.store(true, Ordering::Relaxed);", "",
        "what was asked for is told when it is forgotten",
    ),
    NativeMutant(
        "another-opaque", "store.rs", "out.extend_from_slice(digits);",
        "out.extend_from_slice(&digits[1..]);\n        out.push(b'9');",
        "an answer has the opaque of its request",
    ),
    NativeMutant(
        "keeps-bodies", "store.rs", "if Arc::strong_count(&content) == 2 {", "if false {",
        "what is forgotten takes no memory",
    ),
    NativeMutant(
        "frees-nothing-as-it-learns", "store.rs", "insert(topic.into(), entry);\n        self.free_dropped();",
        "insert(topic.into(), entry);", "bodies of many topics that are forgotten at once are freed",
    ),
    NativeMutant(
        "counts-twice", "store.rs", "count.fetch_add(1,", "count.fetch_add(2,", "requests are counted once",
    ),
    NativeMutant(
        "believes-any-digits", "json_header.rs", "(1..=MAX_DIGITS).contains(&size)", "size > 0",
        "a number that may be no int32 is the server's",
    ),
    NativeMutant(
        "leading-zero", "json_header.rs", "(rest[sign] != b'0' || (size == 1 && sign == 0))", "(rest[sign] != b'0' || sign == 0)",
        "digits are copied only if the decoder would write them so",
    ),
    NativeMutant(
        "any-code", "json_header.rs", "number(code)? != LOOK_UP", "code.is_none()", "only look-ups are answered",
    ),
    NativeMutant(
        "answers-one-way-requests", "json_header.rs", "number(flag)? != 0", "false",
        "what wants no answer gets none",
    ),
    NativeMutant(
        "any-language", "json_header.rs", "language.is_none_or(|name| LANGUAGES.contains(&name))", "true",
        "a header that the server reads leniently is the server's",
    ),
    NativeMutant(
        "answers-a-zone", "header.rs", '"__ZONE_MODE" => None,', "", "what a zone is answered is the server's",
    ),
    NativeMutant(
        "the-last-of-two", "header.rs", "Some(_) => None,", "Some(_) => Some(()),",
        "a header with two members of a name is the server's",
    ),
    NativeMutant(
        "escapes-are-not-seen", "json_header.rs", "matches!(byte, b'\"' | b'\\\\' | 0..=0x1f)", "*byte == b'\"'",
        "a string with escapes is the server's",
    ),
    NativeMutant(
        "more-after-the-end", "json_header.rs", "    reader.end()?;\n", "", "a header is one object",
    ),
    NativeMutant(
        "form-by-version-alone", "header.rs", 'value.eq_ignore_ascii_case("true")', "value.is_empty()",
        "a client may ask for standard JSON",
    ),
    NativeMutant(
        "form-without-version", "header.rs", "version >= STANDARD_JSON_VERSION", "version > STANDARD_JSON_VERSION",
        "clients from 4.9.4 on get standard JSON",
    ),
    NativeMutant(
        "any-number-is-an-opaque", "header.rs", ".filter(|opaque| *opaque > 0)", "",
        "an opaque that no client begins at is the server's",
    ),
    NativeMutant(
        "any-code-in-binary", "rocketmq_header.rs", "code != LOOK_UP || ", "", "only look-ups are answered",
    ),
    NativeMutant(
        "any-language-in-binary", "rocketmq_header.rs", "language >= LANGUAGES || ", "",
        "a header with another language is the server's",
    ),
    NativeMutant(
        "answers-one-way-requests-in-binary", "rocketmq_header.rs", "flag != 0 || ", "", "what wants no answer gets none",
    ),
    NativeMutant(
        "fields-end-anywhere", "rocketmq_header.rs", " || usize::try_from(size) != Ok(reader.rest.len())", "",
        "what follows the fields of a binary header is a body",
    ),
    NativeMutant(
        "fields-without-a-value", "rocketmq_header.rs", "if !name.is_empty() && !value.is_empty() {", "{",
        "fields without a name or a value are left out, as by the server",
    ),
    NativeMutant(
        "any-text-in-binary", "rocketmq_header.rs", ".filter(|text| text.is_ascii())", "",
        "what is not ASCII is the server's",
    ),
    NativeMutant(
        "any-form", "frames.rs", "_ => return Next::Other,\n    };", "_ => Form::Binary,\n    };",
        "a header in an unknown form is the server's",
    ),
    NativeMutant(
        "looks-into-long-headers", "frames.rs", "if header_size > MAX_HEADER_BYTES || ", "if ",
        "what is kept of a frame is bounded",
    ),
    NativeMutant(
        "swallows-bodies", "frames.rs", " || length != header_size + 4", " || length < header_size + 4",
        "a request with a body is the server's",
    ),
    NativeMutant(
        "forgets-the-begin-of-a-frame", "front.rs", "connection.partial.extend_from_slice(&input[at..]);", "",
        "a frame may come in any pieces",
    ),
    NativeMutant(
        "unread-bytes-lost", "front.rs",
        "Some(_) => return Served::Returned { unread: input[at..].to_vec(), unsent: Vec::new() }",
        "Some(_) => return Served::Returned { unread: Vec::new(), unsent: Vec::new() }",
        "what was read and not served comes back",
    ),
    NativeMutant(
        "unsent-bytes-lost", "front.rs", "let unsent = self.answers[sent..].to_vec();",
        "let unsent = Vec::new();", "what the peer did not take comes back",
    ),
    NativeMutant(
        "a-panic-that-nobody-hears-of", "front.rs", "Returned { is_broken: true, ..Returned::default() }",
        "Returned::default()", "a panic ends its connection",
    ),
    NativeMutant(
        "the-end-is-not-told", "front.rs", "Ok(Served::Idle) if !has_closed => return,",
        "Ok(Served::Idle) => return,", "the end of a stream is the server's",
    ),
    NativeMutant(
        "one-lane-forgotten", "front.rs", "for lane in &self.lanes {", "for lane in &self.lanes[..1] {",
        "every thread tells what moved",
    ),
)  # fmt: skip


def main() -> int:
    """Try some; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.native", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="some of them (default: all)")
    wanted = parser.parse_args().names
    survivors = 0
    for mutant in NATIVE_MUTANTS:
        if wanted and mutant.name not in wanted:
            continue
        found = _caught_by(mutant)
        survivors += not found
        print(f"{mutant.name}: {f'caught by {found}' if found else 'SURVIVED'}", flush=True)
    return int(survivors > 0)


def _caught_by(mutant: NativeMutant) -> str:
    """The first test that failed; empty if none did."""
    with tempfile.TemporaryDirectory(prefix="namekeeper-mutant-") as name:
        crate = Path(name) / "native"
        shutil.copytree(CRATE, crate, ignore=shutil.ignore_patterns("target"))
        (crate / "src" / mutant.file).write_text(mutant.text())
        command = ["cargo", "test", "--no-default-features", "--lib", "--quiet", "--", "--test-threads", "4"]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "RUST_BACKTRACE": "0"}
        try:
            done = subprocess.run(
                command, cwd=crate, env=environment, capture_output=True, text=True, check=False,
                timeout=LIMIT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "a test that did not end"
    if "error: could not compile" in done.stderr:
        raise RuntimeError(f"{mutant.name} does not compile:\n{done.stderr[-2000:]}")
    failed = [line.strip() for line in done.stdout.splitlines() if line.startswith("    ") and "::" in line]
    return failed[0] if done.returncode and failed else ""


if __name__ == "__main__":
    sys.exit(main())
