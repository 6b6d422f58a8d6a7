"""Bugs in what the server and the pipeline share, and in the zip that carries both to a cluster."""

from tests.mutants.mutant import Mutant

__all__ = ["COMMON_MUTANTS"]

COMMON_MUTANTS = (
    Mutant(
        "bidi-controls-shown",
        "common/printable.py",
        'return "".join(each if each.isprintable() else _escaped(each) for each in text)',
        'return "".join(each if each.isprintable() or each > "\\xff" else _escaped(each) for each in text)',
        "text of strangers has no bidi control and no line separator when it is shown",
        ("common/test_printable.py",),
    ),
    Mutant(
        "c1-controls-shown",
        "common/printable.py",
        'return "".join(each if each.isprintable() else _escaped(each) for each in text)',
        'return "".join(each if each.isprintable() or "\\x80" <= each < "\\xa0" else _escaped(each) for each in text)',
        "text of strangers can't begin a sequence of the terminal with a C1 control",
        ("common/test_printable.py",),
    ),
    Mutant(
        "json-raw",
        "common/printable.py",
        'return "".join(each if each.isprintable() or each in "\\n\\t" else _escaped_in_json(each) for each in text)',
        "return text",
        "no JSON form prints a bidi control or a C1 control of a stranger",
        ("cli/test_output.py",),
    ),
    Mutant(
        "output-raw",
        "cli/output.py",
        "click.echo(printable_lines(text), err=err)",
        "click.echo(text, err=err)",
        "what a command prints can't act on a terminal, whoever made the text",
        ("cli/test_output.py",),
    ),
    Mutant(
        "forged-line",
        "cli/render.py",
        'return "\\n".join(map(printable, lines))',
        'return "\\n".join(lines)',
        "a name with a line end can't make a line of a table",
        ("cli/test_output.py",),
    ),
    Mutant(
        "link-followed",
        "files.py",
        "flags | os.O_NOFOLLOW | os.O_NONBLOCK",
        "flags | os.O_NONBLOCK",
        "a symbolic link in the place of a lock or pid file is not followed",
        ("test_files.py",),
    ),
    Mutant(
        "hard-link-taken",
        "files.py",
        "if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:",
        "if stat.S_ISREG(found.st_mode):",
        "a file that has another name is not written over",
        ("test_files.py",),
    ),
    Mutant(
        "sweep-of-the-living",
        "files.py",
        "and not _is_another_process(int(match[2]))",
        "",
        "a temporary file that another process is writing stays",
        ("test_files.py",),
    ),
    Mutant(
        "pid-of-a-stranger",
        "app/pid_file.py",
        "and _has_open(words[0], fd)",
        "",
        "mqshutdown stops no process that does not hold its pid file itself",
        ("app/test_pid_file.py",),
    ),
    Mutant(
        "kv-file-of-another",
        "processor/kv.py",
        "if state.kv_refusal is not None:",
        "if state.kv_refusal is not None and not state.kv_config:",
        "a name server that does not own the KV file refuses changes of it",
        ("app/test_kv_file.py",),
    ),
    Mutant(
        "bare-number-is-ms",
        "common/durations.py",
        "total = float(seconds[1]) * 1_000 if seconds else _sum_of_parts(text)",
        "total = float(seconds[1]) if seconds else _sum_of_parts(text)",
        "a duration without a unit is in seconds",
        ("common/test_durations.py",),
    ),
    Mutant(
        "template-not-in-the-zip",
        "pipeline/package.py",
        "if entry.name == _COMPILED:",
        'if entry.name == _COMPILED or entry.name.endswith(".j2"):',
        "every file of its packages is in the zip for a cluster",
        ("pipeline/test_package.py",),
    ),
)
