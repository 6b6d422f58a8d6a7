// A RocketMQ client in Node for the tests: sends messages, receives them, prints one JSON object per line.
//
// Usage: node peer.js NAMESRV TOPIC GROUP COUNT
'use strict';

const { Consumer, Message, Producer } = require('ali-ons');

const WITHIN_MS = 60_000;
const [nameSrv, topic, consumerGroup, countText] = process.argv.slice(2);
const count = Number(countText);
const httpclient = {}; // it must be there, to ask an address server, which is not used here
const logger = { info() {}, debug() {}, warn: console.error, error: console.error };

function show(event, number, broker, queue) {
  console.log(JSON.stringify({ event, number, broker, queue }));
}

async function produce() {
  const producer = new Producer({ nameSrv, httpclient, producerGroup: 'node-producers', logger });
  await producer.ready();
  for (let i = 0; i < count; i++) {
    const sent = await producer.send(new Message(topic, 'tag', String(i)));
    if (sent.sendStatus !== 'SEND_OK') throw new Error(`not sent: ${sent.sendStatus}`);
    show('sent', i, sent.messageQueue.brokerName, Number(sent.messageQueue.queueId));
  }
}

async function consume() {
  const consumer = new Consumer({ nameSrv, httpclient, consumerGroup, logger });
  let missing = count;
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`${missing} of ${count} messages missing`)), WITHIN_MS);
    consumer.on('error', console.error); // its retry topic has no route before the broker has made one
    consumer.subscribe(topic, '*', async message => {
      show('received', Number(message.body.toString()), message.brokerName ?? '', message.queueId);
      missing -= 1;
      if (missing === 0) resolve();
    });
  });
}

produce()
  .then(consume)
  .then(() => process.exit(0), error => {
    console.error(error);
    process.exit(1);
  });
