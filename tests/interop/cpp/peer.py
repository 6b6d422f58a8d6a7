"""RocketMQ's C++ client for the tests: sends messages, receives them, prints one JSON object per line.

Run by an interpreter that has the package `rocketmq`, which brings librocketmq along:
peer.py NAMESRV TOPIC GROUP COUNT
"""

import json
import queue
import sys

from rocketmq.client import Message, Producer, PushConsumer, SendStatus

WITHIN_SECONDS = 300


def main(namesrv: str, topic: str, group: str, count: int) -> None:
    """Send so many messages, then receive as many."""
    producer = Producer("cpp-producers", timeout=10_000)
    producer.set_namesrv_addr(namesrv)
    producer.start()
    for number in range(count):
        message = Message(topic)
        message.set_body(str(number))
        sent = producer.send_sync(message)
        if sent.status != SendStatus.OK:
            sys.exit(f"not sent: {sent}")
        print(json.dumps({"event": "sent", "number": number}), flush=True)
    producer.shutdown()

    received: queue.Queue[int] = queue.Queue()
    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(namesrv)
    consumer.subscribe(topic, lambda message: received.put(int(message.body)))
    consumer.start()
    for _ in range(count):
        print(json.dumps({"event": "received", "number": received.get(timeout=WITHIN_SECONDS)}), flush=True)
    consumer.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
