"""Parsers of this package under their contract: any bytes give a value or a RequestError, nothing else."""

from collections.abc import Callable

from msgspec import json

from namekeeper.common.slices import run_slices
from namekeeper.messages import bodies
from namekeeper.messages.bodies import encode_mapping
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.registration import RegistrationBody
from tests.unit.messages.samples import finish

__all__ = ["FUZZ_TARGETS"]


def _registration(version: int, *, compressed: bool) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        body = finish(decode_registration_body(data, version=version, compressed=compressed, slice_topics=2))
        _check(body)

    return target


def _check(body: RegistrationBody) -> None:
    """Whatever came in can be sent on, and nothing in it has no name."""
    json.encode(body)
    for mapping in body.mappings.values():
        encode_mapping(mapping, standard=True)
    assert "" not in body.topics
    assert None not in body.topics
    assert len(body.topics) <= body.topic_count


FUZZ_TARGETS: dict[str, Callable[[bytes], object]] = {
    "registration_json": _registration(513, compressed=False),
    "registration_json_before_3_0_11": _registration(0, compressed=False),
    "registration_compressed_4x": _registration(373, compressed=True),
    "registration_compressed_5x": _registration(513, compressed=True),
    "topic_route": lambda data: bodies.encode_topic_route(bodies.decode_topic_route(data), standard=True),
    "cluster_info": lambda data: run_slices(
        bodies.encode_cluster_info(bodies.decode_cluster_info(data), standard=True)
    ),
    "data_version": lambda data: bodies.encode_data_version(bodies.decode_data_version(data)),
    "kv_table": lambda data: bodies.encode_kv_table(bodies.decode_kv_table(data)),
    "topic_list": lambda data: bodies.encode_topic_list(bodies.decode_topic_list(data)),
}
"""Name of a target -> a callable that may raise RequestError only."""
