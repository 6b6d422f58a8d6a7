"""The reference page of all properties, made from their specs: `python -m namekeeper.config.reference`."""

import sys
from collections.abc import Iterator

from namekeeper.config.property import GROUPS, PropertyGroup, Spec, format_value
from namekeeper.config.settings import SPECS

__all__ = ["render_reference"]

_HEAD = """\
<!-- Made by `python -m namekeeper.config.reference > docs/reference/configuration.md`; a test compares. -->

# Configuration

A property can be set in five ways. If it is set in several of them, the first of this list counts:

1. a flag of `namekeeper serve`: `--listen-port 9876`, and `--order-message-enable` or
   `--order-message-enable=false` for a boolean;
2. an environment variable: `NAMEKEEPER_LISTEN_PORT=9876`. An empty one counts as none. `ROCKETMQ_HOME` and
   `ROCKETMQ_SERIALIZE_TYPE` are read too;
3. the properties file of `-c`, in Java's format and with Java's names: `listenPort=9876`. `tls.*` keys of the
   file that `tls.config.file` names count before those of the properties file;
4. a system property of Java in `JAVA_OPT` or `JAVA_OPT_EXT`, as RocketMQ's start scripts take them, or in
   `JAVA_TOOL_OPTIONS`, `JDK_JAVA_OPTIONS` or `_JAVA_OPTIONS`: `-Dtls.server.mode=enforcing`. Names with a dot
   count. `-Duser.home=/opt` replaces the home, and `-Drocketmq.home.dir=/opt/rocketmq` sets `rocketmqHome`;
5. the default.

The name of a flag or variable follows from that of the property: `tls.server.certPath` is
`--tls-server-cert-path` and `NAMEKEEPER_TLS_SERVER_CERT_PATH`.

Values in the file are read by Java's rules. A number with a blank after it can't be read, so the default is
used; `true` with a blank after it is false; blanks around a string are removed. Java does not report this.
Here stderr and the log have a line about it, and `mqnamesrv -c FILE -p` shows it before anything is started.
In a flag or a variable such a value is an error. A value outside its limits is always an error.

Lines that Java reads as something else than they seem give a warning with their number and what to write
instead: single backslashes, quotes, comments behind a value, lines for a shell, YAML, XML, names that stand
twice. An empty value with which Java starts, as in `kvConfigPath=`, gives a warning and the default; for
`bindAddress` it means the loopback address, as in Java. If a variable overrides a value of the file, a
warning names both.

Other options for Java, such as `-Xmx`, have no effect. A warning names those that change what RocketMQ's name
server does, such as `-javaagent`, and says what to do instead.

A path that begins with `~/` needs a home: that of `HOME`, or else of the passwd file. Without one the server
starts if `kvConfigPath` and `logRoot` are given. A path below a link to something that is not there is
refused: its folder would be made on another disk.

`kvConfigPath` and `configStorePath` may be symbolic links, also to a file that is not there yet. The server
replaces the file to which they lead, and the links stay. A user who may write to the folder of such a path
could put a link there, and so choose which file the server replaces. So each link, and the file to which it
leads, must belong to the user of the server or to root. Otherwise the server does not start, or refuses the
change, with a line that names the link. Links that Kubernetes makes for its volumes belong to root. The
server can read a file in a volume of a ConfigMap, but not change it.

Unknown names are kept, shown by request 319 and written back. A name that looks misspelt gives a warning with
the properties that may have been meant, and so does a variable that begins with `NAMEKEEPER_` and is none of
ours.

The server refuses request 318 (`mqadmin updateNamesrvConfig`) unless `allowConfigUpdate` is true, and always
for properties that are not marked *update* below, for names ending in `path`, `file`, `dir`, `root`, `home`
and the like, and for those in `configBlackList`. The server writes the changes to `configStorePath`: the
keys that were there and those that changed, but no defaults and no flags. *live* means that a change has an
effect at once; other properties take effect at the next start.

A property marked *inert* has no counterpart in this server. It is accepted, shown and kept, so that
existing files work.
"""


def render_reference() -> str:
    """The page as Markdown."""
    return _HEAD + "".join("".join(_section(group)) for group in GROUPS)


def _section(group: PropertyGroup) -> Iterator[str]:
    yield f"\n## {GROUPS[group]}\n\n"
    yield "| property | type | default | 318 | meaning |\n| --- | --- | --- | --- | --- |\n"
    for spec in SPECS.values():
        if spec.facts.group is group:
            yield _row(spec)


def _row(spec: Spec) -> str:
    facts = spec.facts
    default = format_value(spec.default)
    also = "".join(f"; also read as `{alias}`" for alias in facts.aliases)
    about = facts.about.replace("|", "\\|")
    cells = (
        f"`{spec.name}`",
        _type(spec),
        f"`{default}`" if default else "",
        _update(spec),
        f"{about}{also}{' *(inert)*' if facts.inert else ''}",
    )
    return f"| {' | '.join(cells)} |\n"


def _type(spec: Spec) -> str:
    if spec.facts.choices:
        return ", ".join(f"`{choice}`" for choice in spec.facts.choices)
    return f"{spec.kind.value}, {spec.facts.unit}" if spec.facts.unit else spec.kind.value


def _update(spec: Spec) -> str:
    if spec.facts.path or not spec.facts.remote:
        return ""
    return "update, live" if spec.facts.live else "update"


if __name__ == "__main__":
    sys.stdout.write(render_reference())
