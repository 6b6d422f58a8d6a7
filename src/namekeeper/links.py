"""Follows symbolic links to a file that is replaced, if those who made them may choose this file."""

import errno
import os
import stat
from pathlib import Path

__all__ = ["followed"]

LINKS_LIMIT = 40
"""Links that lead from one to the next; the kernel follows as many."""


def followed(path: str) -> str:
    """Return the file to which the symbolic links of a path lead; it may be missing.

    A user who may write to the folder can put a link there, and so choose which file is replaced. The owner
    of a link is the user who made it.

    Raises:
        OSError: A link, or the file to which it leads, belongs to another user than that of this process or
            root.
    """
    where = Path(path)
    for _ in range(LINKS_LIMIT):
        try:
            found = os.lstat(where)
        except FileNotFoundError:
            break
        is_link = stat.S_ISLNK(found.st_mode)
        if (is_link or where != Path(path)) and found.st_uid not in {0, os.geteuid()}:
            what = f"{where} is a link" if is_link else f"it is a link to {where}"
            why = f"{what} of uid {found.st_uid}, not of {os.geteuid()} or root"
            raise OSError(errno.EPERM, f"{why}: give the path of the file itself, or change the owner", path)
        if not is_link:
            break
        where = where.parent / where.readlink()
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return str(where.parent.resolve() / where.name)
