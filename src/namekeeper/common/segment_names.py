"""The form of the name of a journal's segment (journal/contract/v1.json)."""

import re

__all__ = ["NAMESRV_ID", "SEGMENT_NAME"]

NAMESRV_ID = r"[A-Za-z0-9._]+(?:-[A-Za-z0-9._]+)*"
"""Pattern of the id of a name server: letters, digits, dots, underscores, single hyphens inside."""

SEGMENT_NAME = re.compile(
    rf"(?P<namesrv>{NAMESRV_ID})-(?P<uuid8>[0-9a-f]{{8}})-(?P<boot>[0-9]{{13}})-(?P<first_seq>[0-9]{{12}})"
    r"(?:-(?P<last_seq>[0-9]{12}))?\.jsonl(?P<form>\.open|\.gz|)"
)
"""A whole file name; to be used with `fullmatch`. A segment with a last seq is sealed."""
