"""Shows text of strangers harmlessly: on one line, and without any character that acts on a terminal."""

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""The text with every character escaped that is not for display, as in `\x1b` or `\u202e`.

    Escaped are control characters (C0, DEL, C1), line and paragraph separators, bidi controls and other
    invisible characters of format, lone surrogates, and code points without a character. The result is one
    line. A backslash stays as it is, so the result is for reading only: it can't be turned back.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
