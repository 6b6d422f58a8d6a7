"""`namekeeper messages`: test, list, schema, and bad input of run; the process itself has tests of its own."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.commands.messages import EXIT_NOT_SENT
from namekeeper.cli.group import namekeeper
from namekeeper.notifications.outbox_folder import OUTBOX_FILE
from tests.support.server.webhook import Reply, WebhookServer
from tests.unit.notifications.seen import FAILED, START, found, receiver, settings_of, started

SECRET = "s3cr3t"
FILE = """
outbox = "out"
[receivers.ops]
type = "webhook"
url_env = "OPS_URL"
[receivers.chat]
type = "apprise"
url_file = "chat.url"
"""


def asked(folder: Path, *words: str, text: str = FILE, **environment: str) -> Result:
    (folder / "messages.toml").write_text(text)
    command = ["messages", *words, "-c", str(folder / "messages.toml")]
    return CliRunner().invoke(namekeeper, command, env=environment)


def test_a_test_reports_each_receiver(tmp_path: Path):
    with WebhookServer() as ops, WebhookServer(lambda _: Reply(500)) as chat:
        (tmp_path / "chat.url").write_text(chat.url(f"/{SECRET}").replace("http:", "json:"))
        words = {"OPS_URL": ops.url(f"/{SECRET}")}
        result = asked(tmp_path, "test", **words)
        assert (result.output, result.exit_code) == ("ops: sent\nchat: HTTP 500\n", EXIT_NOT_SENT)
        (document,) = ops.documents
        assert (document["is_test"], document["events"], document["receiver"]) == (True, [], "ops")
        assert chat.documents[0]["title"] == "Namekeeper: test"
        one = asked(tmp_path, "test", "ops", "--json", **words)
        assert (json.loads(one.output), one.exit_code) == ({"ops": {"is_sent": True, "reason": None}}, 0)
        assert (len(ops.requests), len(chat.requests)) == (2, 1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "text", "reason"),
    [
        (("test", "nobody"), FILE, "has no receiver 'nobody'"),
        (("test",), "outbox =", "is not TOML"),
        (("list",), FILE, "has no outbox: `namekeeper messages run` makes one"),
        (("run",), FILE, "receiver 'ops': the environment variable OPS_URL is not set"),
        (("run",), FILE.replace("OPS_URL", "HOME").split("[receivers.chat]")[0], "give --journal DIR, or journals"),
        (("run", "--journal", "/nowhere"), FILE.replace("OPS_URL", "HOME").split("[receivers.chat]")[0], "/nowhere"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(tmp_path: Path, words, text, reason):
    result = asked(tmp_path, *words, text=text)
    assert result.exit_code == 2
    assert reason in result.output
    assert result.output.count("\n") == 1


def test_a_file_that_is_not_there_or_no_text_is_one_line(tmp_path: Path):
    for content in (None, b"\xff"):
        if content is not None:
            (tmp_path / "m.toml").write_bytes(content)
        result = CliRunner().invoke(namekeeper, ["messages", "list", "-c", str(tmp_path / "m.toml")])
        assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert CliRunner().invoke(namekeeper, ["messages", "list", "-c", str(tmp_path)]).exit_code == 2


def test_the_outbox_is_listed(tmp_path: Path):
    settings = settings_of(receiver("ops"), receiver("chat"))
    outbox = started(settings, *(found(f"b{number}", START - 60_000 * number) for number in range(1, 4)))
    outbox.next_message(settings.receivers[0], settings, START)
    outbox.finish("ops", FAILED, START)
    outbox.receivers["chat"].given_up = 2
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / OUTBOX_FILE).write_bytes(msgspec.json.encode(outbox))
    result = asked(tmp_path, "list")
    assert result.output.splitlines() == [
        "3 open incidents",
        "ops: 0 sent, 1 is being sent, after 1 attempt: HTTP 500, 2 events waiting",
        "chat: 0 sent, 3 events waiting, 2 given up",
    ]
    assert result.exit_code == 0
    assert json.loads(asked(tmp_path, "list", "--json").output)["receivers"]["ops"]["problem"] == "HTTP 500"


def test_the_schema_is_printed_and_is_the_documented_one():
    result = CliRunner().invoke(namekeeper, ["messages", "schema"])
    assert result.output == Path("docs/reference/messages.schema.json").read_text()
