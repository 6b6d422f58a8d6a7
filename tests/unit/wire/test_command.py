from namekeeper.wire.command import OUR_VERSION, RemotingCommand, Response, request


def test_bit_0_alone_makes_a_response():
    assert [RemotingCommand(flag=flag).is_response for flag in (0, 1, 2, 3, -1, 4)] == [
        False,
        True,
        False,
        True,
        True,
        False,
    ]


def test_bit_1_makes_it_oneway():
    assert [RemotingCommand(flag=flag).is_oneway for flag in (0, 1, 2, 3)] == [False, False, True, True]


def test_a_command_says_nothing_of_its_own():
    assert RemotingCommand() == RemotingCommand(0, None, 0, 0, 0, None, None, b"")


def test_a_request_of_ours_says_who_we_are():
    made = request(105, {"topic": "T"}, b"x", opaque=7)
    assert made == RemotingCommand(105, "PYTHON", OUR_VERSION, 7, 0, None, {"topic": "T"}, b"x")


def test_a_request_may_be_oneway_and_claim_another_version():
    made = request(904, oneway=True, version=373)
    assert (made.is_oneway, made.version) == (True, 373)


def test_an_answer_is_a_success_unless_told():
    assert Response() == Response(0, None, None, b"")
