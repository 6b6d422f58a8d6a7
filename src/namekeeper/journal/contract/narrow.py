"""Cuts the topic rows of other topics out of a line before it is decoded.

A checkpoint has all topic rows, up to 1,000 in a line, and an answer needs only one of them. To find that one
by its bytes takes a hundredth of the time of decoding them all.
"""

__all__ = ["only_rows_of"]

_ROWS = b',"rows":[['
_END = b']],"crc":"'
_END_AT = slice(-len(b']],"crc":"01234567"}'), -len(b'01234567"}'))


def only_rows_of(data: bytes, name: bytes) -> bytes:
    """The line of a `topic_queues` record with only the rows of one topic.

    The line is returned unchanged if our writer did not write it, or if its broker has this name.

    Args:
        data: the line; its checksum, if it has one, is right.
        name: name of the topic, as JSON.
    """
    begin = data.find(_ROWS)
    if begin < 0 or data[_END_AT] != _END or data.endswith(b'"broker_name":' + name, 0, begin):
        return data
    if b"\\" in data:
        return data  # without escapes no quotation mark is inside a text, so the match is a row
    row_begin = b"[" + name
    rows: list[bytes] = []
    at = data.find(row_begin, begin)
    while at >= 0:
        end = data.index(b"]", at + len(row_begin)) + 1
        rows.append(data[at:end])
        at = data.find(row_begin, end)
    return b'%b,"rows":[%b]}' % (data[:begin], b",".join(rows))
