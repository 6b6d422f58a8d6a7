"""Any command that the protocol can carry."""

from hypothesis import strategies as st

from namekeeper.wire.codes import LanguageCode
from namekeeper.wire.command import RemotingCommand

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
languages = st.none() | st.sampled_from([code.name for code in LanguageCode])

json_commands = st.builds(
    RemotingCommand,
    code=int32,
    language=languages,
    version=int32,
    opaque=int32,
    flag=int32,
    remark=st.none() | st.text(),
    ext_fields=st.none() | st.dictionaries(st.text(), st.text(), max_size=5),
    body=st.binary(),
)

binary_commands = st.builds(
    RemotingCommand,
    code=int16,
    language=languages,
    version=int16,
    opaque=int32,
    flag=int32,
    remark=st.none() | st.text(min_size=1),
    ext_fields=st.none() | st.dictionaries(st.text(min_size=1), st.text(min_size=1), min_size=1, max_size=5),
    body=st.binary(),
)
"""What the binary form can say: empty strings and no ext fields are the same as none there."""
