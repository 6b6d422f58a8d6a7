"""Common parts of `mqnamesrv` and `namekeeper serve`: read settings, start the server, report errors."""

import errno
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import structs

from namekeeper.common.printable import printable
from namekeeper.config.load import parse_list
from namekeeper.config.properties import as_utf8
from namekeeper.config.settings import SPECS, NamesrvSettings
from namekeeper.config.startup import Startup, make_startup
from namekeeper.errors import ConfigError
from namekeeper.files import SMALL_FILE_BYTES, problem_with, read_if_exists, read_with_backup
from namekeeper.remoting.address import parse_addresses

__all__ = [
    "BAD_OPTION",
    "FAILED",
    "JAVA_SWITCHES",
    "JAVA_VALUES",
    "complain",
    "guarded",
    "launch",
    "load_startup",
    "path_of",
    "print_config",
    "say",
]

FAILED = 255
"""Java's -1: the server did not start, for any reason."""


BAD_OPTION = 1

JAVA_VALUES = {
    **dict.fromkeys(("-c", "--configFile"), "config_file"),
    **dict.fromkeys(("-n", "--namesrvAddr"), "namesrv_addr"),
}
"""Options of Java's mqnamesrv that have a value."""

JAVA_SWITCHES = {
    **dict.fromkeys(("-h", "--help"), "help"),
    **dict.fromkeys(("-p", "--printConfigItem"), "print"),
}
"""Options of Java's mqnamesrv without a value."""


_NO_HOME = "~"
"""Stays at the beginning of a path where there is no home."""
_WRITTEN = ("kv_config_path", "log_root")
"""Paths that every server writes to."""
_IS_FOLDER = (
    "Is a directory: give a file. A container engine makes an empty folder of that name if the file that it"
    " has to mount is not on the host"
)
_MADE = {*_WRITTEN, "config_store_path", "journal_path"}
"""Paths whose folders a server makes."""


def load_startup(config_file: str | None, flags: Mapping[str, str | None]) -> Startup:
    """Read files and environment, put them together with the flags; print warnings on stderr.

    Args:
        config_file: The file of `-c`.
        flags: Texts by field name.

    Raises:
        ConfigError: One line that says what can't be used.
    """
    home = _home() or _NO_HOME
    file_data, note = _read(config_file) if config_file else (None, "")

    def make(tls_file_data: bytes | None) -> Startup:
        return make_startup(
            file_data=file_data,
            config_file=config_file,
            tls_file_data=tls_file_data,
            environment=os.environ,
            flags=flags,
            home=home,
        )

    startup = make(None)
    tls_file_data, tls_note = _read_if_readable(startup.settings.tls_config_file)
    if tls_file_data is not None:
        startup = make(tls_file_data)
    notes = [text for text in (note, tls_note) if text]
    startup = structs.replace(startup, warnings=(*notes, *startup.warnings))
    for warning in (*startup.warnings, *_about_names(startup.runtime_config.settings)):
        complain(f"WARN {warning}")
    return startup


def _about_names(settings: NamesrvSettings) -> list[str]:
    """Return problems of addresses and names that clients have to repeat literally."""
    found = _about_addresses(settings)
    if settings.http_host_names:
        from namekeeper.http.doors import problem_with_host_name

        problems = map(problem_with_host_name, parse_list(as_utf8(settings.http_host_names)))
        found += [f"httpHostNames: {problem}" for problem in problems if problem]
    return found


def _about_addresses(settings: NamesrvSettings) -> list[str]:
    """Return problems of the address list, which clients take literally."""
    given = settings.address_server_list
    if not given:
        return []
    try:
        meant = ";".join(map(str, parse_addresses(as_utf8(given))))
    except ConfigError as error:
        return [f"addressServerList: clients get the list as it is: {error}"]
    return [] if meant == given else [f"addressServerList: clients get the list as it is: write {meant}"]


def path_of(settings: NamesrvSettings, *fields: str, instead: str = "") -> str:
    """The path in the first of some fields.

    Args:
        settings: of the server.
        fields: all have to be given where there is no home.
        instead: what may be given instead; their properties by default.

    Raises:
        ConfigError: one of the paths is below the home of this user, which is not known.
    """
    lacking = [
        spec.name for spec in SPECS.values()
        if spec.field in fields and getattr(settings, spec.field).startswith(f"{_NO_HOME}/")
    ]  # fmt: skip
    if lacking:
        raise ConfigError(
            f"there is no home folder: HOME is not set, and uid {os.getuid()} is in no passwd file; set HOME,"
            f" or give {instead or ' and '.join(lacking)}"
        )
    return str(getattr(settings, fields[0]))


def launch(startup: Startup) -> int:
    """Run the server until it is stopped; return its exit status."""
    written = (*_WRITTEN, "config_store_path") if startup.settings.allow_config_update else _WRITTEN
    path_of(startup.settings, *written)
    _refuse_dangling_links(startup.settings)
    if startup.config_file:
        say(f"load config properties file OK, {printable(startup.config_file)}")
    from namekeeper.app.run import run

    return run(startup)


def print_config(startup: Startup) -> int:
    """Print the properties in effect; return the exit status."""
    say(startup.runtime_config.text().rstrip("\n"))
    return 0


def guarded(start: Callable[[], int]) -> int:
    """Run a command; a ConfigError becomes one line on stderr and status 255."""
    try:
        return start()
    except ConfigError as error:
        complain(f"namekeeper: {error}")
    except BrokenPipeError:
        pass  # the reader of the output has closed the pipe
    except Exception:  # noqa: BLE001 -- a bug: everything about it is of use, and Java's status too
        import traceback

        traceback.print_exc()
    return FAILED


def say(text: str) -> None:
    """Print a line at once; scripts wait for some of them."""
    print(text, flush=True)


def complain(text: str) -> None:
    """Print a line on stderr; it may repeat arguments, and characters that act on a terminal are escaped."""
    print(printable(text), file=sys.stderr)


def _home() -> str | None:
    """The home folder of this user; None if it is not known, as for a uid that a container was given."""
    home = os.environ.get("HOME", "")
    if not home.startswith("/"):
        import pwd  # only where HOME does not say it

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    return home if home.startswith("/") else None


def _refuse_dangling_links(settings: NamesrvSettings) -> None:
    """Refuse a path below a link to something that is not there, such as a disk that is not mounted.

    The folder would be made on another disk, and its content would seem to be lost.
    """
    for spec in SPECS.values():
        path = getattr(settings, spec.field) if spec.field in _MADE else ""
        for link in (each for each in (Path(path), *Path(path).parents) if path and each.is_symlink()):
            target = os.path.realpath(link)  # a link of the file itself may lead to where it will be
            if not link.exists() and (str(link) != path or not Path(target).parent.is_dir()):
                raise ConfigError(
                    f"{spec.name}={path}: {link} is a link to {target}, which is not there; mount or make it,"
                    " or remove the link"
                )


def _read(path: str) -> tuple[bytes, str]:
    """Content of the properties file, or that of its backup with a warning."""
    try:
        found = read_with_backup(path, bytes, limit=SMALL_FILE_BYTES)
    except OSError as error:
        where = error.filename or path
        why = _IS_FOLDER if Path(where).is_dir() else problem_with(where, error)
        raise ConfigError(f"can't read the properties file {where}: {why}") from None
    if found.is_backup:
        what = f"the properties file {path} can't be used: {found.problem}; {path}.bak is used instead"
        return found.value or b"", f"{what}, without the last change: restore the one, and remove the other"
    if found.value is None and not found.problem:
        raise ConfigError(f"can't read the properties file {path}: {os.strerror(errno.ENOENT)}")
    return found.value or b"", ""


def _read_if_readable(path: str) -> tuple[bytes | None, str]:
    """Content of the TLS file, or a warning: as in Java a file that can't be read counts for nothing."""
    try:
        return (read_if_exists(path, limit=SMALL_FILE_BYTES) if path else None), ""
    except OSError as error:
        return None, f"tls.config.file={path} is left out: {problem_with(path, error)}"
