"""Names that are longer than the limit are refused with what to do."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.processor.limits import check_names


def test_the_remark_says_which_name_is_too_long():
    check_names(3, cluster_name="abc", zone_name=None, broker_name="")
    with pytest.raises(RequestError) as raised:
        check_names(3, cluster_name="abc", broker_name="abcd")
    assert raised.value.code == 1
    assert raised.value.remark == "the broker name has 4 characters; 3 are allowed (nameCharactersLimit)"
