"""A real Java broker, producer and consumer work through our name server: python -m tests.interop.demo_java."""

import sys
import time

from tests.interop.clients import JavaClient
from tests.interop.routes import route
from tests.interop.servers import Namekeeper
from tests.support.java.artifacts import compiled
from tests.support.java.servers import JavaBroker, available

VERSION = "5.5.0"
TOPIC = "greetings"


def main() -> int:
    """Run the demo; the exit status is 0 if the messages came through."""
    if reason := available():
        print(f"This demo needs Java: {reason}.", file=sys.stderr)
        return 2
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    say(f"Apache RocketMQ {VERSION}: fetched from Maven Central unless it is in target/java already ...")
    compiled(VERSION)
    with Namekeeper() as server:
        say(f"namekeeper serves at {server.address}")
        say("a Java broker starts; it may take 15 s to register ...")
        with JavaBroker(VERSION, [server.address]) as broker:
            say(f"{broker.name} at {broker.address} has registered {len(broker.topics())} topics")
            client = JavaClient(VERSION, server.address)
            for row in client.produce(TOPIC, 3):
                say(f"a Java producer sent message {row['number']} to {row['broker']}, queue {row['queue']}")
            found = route(server.address, TOPIC)
            assert found
            read, write, _ = found.queues[broker.name]
            say(
                f"namekeeper's route of {TOPIC!r}: {broker.name} at {found.brokers[broker.name][0]}, {read}/{write} queues"
            )
            received = client.consume(TOPIC, "demo", 3)
            for row in received:
                say(
                    f"a Java consumer received message {row['number']} from {row['broker']}, queue {row['queue']}"
                )
            broker.stop()
            say(
                "the broker stopped and unregistered"
                + (": no route left" if route(server.address, TOPIC) is None else "")
            )
        server.stop()
    say("namekeeper stopped")
    return 0 if sorted(row["number"] for row in received) == [0, 1, 2] else 1


if __name__ == "__main__":
    sys.exit(main())
