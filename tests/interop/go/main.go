// A RocketMQ client in Go for the tests: sends messages, receives them, prints one JSON object per line.
//
// Usage: peer NAMESRV TOPIC GROUP COUNT
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const within = 60 * time.Second

type event struct {
	Event  string `json:"event"`
	Number int    `json:"number"`
	Broker string `json:"broker"`
	Queue  int    `json:"queue"`
}

func main() {
	rlog.SetOutputPath("client.log")
	namesrv, topic, group := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	produce(namesrv, topic, count)
	consume(namesrv, topic, group, count)
}

func produce(namesrv, topic string, count int) {
	sender, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		producer.WithSendMsgTimeout(10*time.Second),
		producer.WithRetry(2),
	)
	check(err)
	check(sender.Start())
	for i := 0; i < count; i++ {
		sent, err := sender.SendSync(context.Background(), primitive.NewMessage(topic, []byte(strconv.Itoa(i))))
		check(err)
		show(event{"sent", i, sent.MessageQueue.BrokerName, sent.MessageQueue.QueueId})
	}
	check(sender.Shutdown())
}

func consume(namesrv, topic, group string, count int) {
	receiver, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		consumer.WithGroupName(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	check(err)
	received := make(chan event, count)
	check(receiver.Subscribe(topic, consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, message := range messages {
				number, err := strconv.Atoi(string(message.Body))
				check(err)
				received <- event{"received", number, message.Queue.BrokerName, message.Queue.QueueId}
			}
			return consumer.ConsumeSuccess, nil
		}))
	check(receiver.Start())
	deadline := time.After(within)
	for i := 0; i < count; i++ {
		select {
		case one := <-received:
			show(one)
		case <-deadline:
			check(fmt.Errorf("%d of %d messages received", i, count))
		}
	}
	check(receiver.Shutdown())
}

func show(what event) {
	line, err := json.Marshal(what)
	check(err)
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
