from namekeeper.remoting.signing import signing_hook
from namekeeper.wire.command import request


def test_the_hook_signs_a_request():
    command = request(106)
    signing_hook("RocketMQ", "12345678")("10.0.0.1:9876", command)
    assert command.ext_fields == {"AccessKey": "RocketMQ", "Signature": "IUc8rrO/0gDch8CjObLQsW2rsiA="}
