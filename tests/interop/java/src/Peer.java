import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.exception.RemotingException;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * A RocketMQ client for the tests. Compiled against each release; prints one JSON object per line.
 *
 * <pre>
 * produce  NAMESRV TOPIC COUNT          sends "0", "1" ... and prints where each one went
 * ordered  NAMESRV TOPIC COUNT KEYS     the same, message i with key i % KEYS; a key always goes to the same queue
 * consume  NAMESRV TOPIC GROUP COUNT    receives COUNT messages from the beginning
 * inorder  NAMESRV TOPIC GROUP COUNT    the same with an orderly listener
 * exchange NAMESRV TOPIC GROUP COUNT    produce, then consume, in one process
 * steady   NAMESRV TOPIC GROUP LOOKED   sends and receives, and asks for the route of LOOKED, until it is killed
 * queues   NAMESRV TOPIC                the message queues to publish to and to consume from
 * admin    NAMESRV COMMAND ... , COMMAND ...  mqadmin's sub-commands; a line with one comma between their outputs
 * admins   -       -                    runs each line of its input, NAMESRV COMMAND ... with tabs between its words,
 *                                       as admin does; a line with one comma after each output
 * </pre>
 */
public final class Peer {
    private static final int WITHIN_SECONDS = 60;
    /** Every 20 seconds a consumer asks again for the offset of a queue for which the broker gave none in time. */
    private static final int MESSAGES_WITHIN_SECONDS = 300;
    private static final int ATTEMPTS = 3;

    public static void main(String[] args) {
        try {
            run(args);
            System.exit(0); // netty's threads would take seconds to go by themselves
        } catch (Exception failure) {
            failure.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(String[] args) throws Exception {
        String namesrv = args[1];
        String topic = args[2];
        switch (args[0]) {
            case "produce" -> produce(namesrv, topic, Integer.parseInt(args[3]), 0);
            case "ordered" -> produce(namesrv, topic, Integer.parseInt(args[3]), Integer.parseInt(args[4]));
            case "consume" -> consume(namesrv, topic, args[3], Integer.parseInt(args[4]), false);
            case "inorder" -> consume(namesrv, topic, args[3], Integer.parseInt(args[4]), true);
            case "exchange" -> {
                produce(namesrv, topic, Integer.parseInt(args[4]), 0);
                consume(namesrv, topic, args[3], Integer.parseInt(args[4]), false);
            }
            case "steady" -> steady(namesrv, topic, args[3], args[4]);
            case "queues" -> queues(namesrv, topic);
            case "admins" -> admins();
            case "admin" -> admin(namesrv, Arrays.asList(args).subList(2, args.length));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void produce(String namesrv, String topic, int count, int keys) throws Exception {
        DefaultMQProducer producer = producer(namesrv);
        for (int i = 0; i < count; i++) {
            String key = keys == 0 ? "" : String.valueOf(i % keys);
            Message message = new Message(topic, "tag", key, String.valueOf(i).getBytes(StandardCharsets.UTF_8));
            SendResult sent = keys == 0
                ? producer.send(message)
                : producer.send(message, (queues, sending, chosen) -> queues.get((Integer) chosen % queues.size()), i % keys);
            print("sent", i, key, sent.getMessageQueue(), sent.getSendStatus().name());
        }
        producer.shutdown();
    }

    private static void consume(String namesrv, String topic, String group, int count, boolean orderly) throws Exception {
        CountDownLatch missing = new CountDownLatch(count);
        DefaultMQPushConsumer consumer = consumer(namesrv, group);
        consumer.subscribe(topic, "*");
        if (orderly) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                received(messages, missing);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                received(messages, missing);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        boolean all = missing.await(MESSAGES_WITHIN_SECONDS, TimeUnit.SECONDS);
        consumer.shutdown();
        if (!all) {
            System.err.println(missing.getCount() + " of " + count + " messages missing");
            System.exit(1);
        }
    }

    private static void steady(String namesrv, String topic, String group, String looked) throws Exception {
        DefaultMQProducer producer = producer(namesrv);
        Thread looking = new Thread(() -> {
            while (true) {
                lookUp(producer, looked);
            }
        });
        looking.setDaemon(true);
        looking.start();
        CountDownLatch never = new CountDownLatch(Integer.MAX_VALUE);
        DefaultMQPushConsumer consumer = consumer(namesrv, group);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            received(messages, never);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        for (int i = 0; ; Thread.sleep(20)) {
            try {
                SendResult sent = producer.send(new Message(topic, String.valueOf(i).getBytes(StandardCharsets.UTF_8)));
                print("sent", i, "", sent.getMessageQueue(), sent.getSendStatus().name());
                i++;
            } catch (MQClientException noRoute) {
                print("failed", i, "", new MessageQueue(topic, "", -1), String.valueOf(noRoute.getResponseCode()));
            } catch (MQBrokerException | RemotingException busy) {
                // The same message is sent again: this is about name servers.
            }
        }
    }

    /** Asks the name server now, and prints of how many brokers the route is; nothing if there is no answer. */
    private static void lookUp(DefaultMQProducer producer, String topic) {
        String status = "";
        long brokers = 0;
        try {
            brokers = producer.fetchPublishMessageQueues(topic).stream().map(MessageQueue::getBrokerName).distinct().count();
            Thread.sleep(5);
        } catch (MQClientException e) {
            if (!(e.getCause() instanceof MQClientException)) {
                return;
            }
            status = String.valueOf(((MQClientException) e.getCause()).getResponseCode());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        print("looked", (int) brokers, "", new MessageQueue(topic, "", -1), status);
    }

    @SuppressWarnings("deprecation")
    private static void queues(String namesrv, String topic) throws Exception {
        DefaultMQProducer producer = producer(namesrv);
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("queues", signing());
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("consumer");
        consumer.start();
        patient(producer);
        patient(consumer);
        String publish = json(() -> producer.fetchPublishMessageQueues(topic));
        String subscribe = json(() -> consumer.fetchSubscribeMessageQueues(topic));
        System.out.println("{\"publish\":" + publish + ",\"subscribe\":" + subscribe + "}");
        producer.shutdown();
        consumer.shutdown();
    }

    private static void admin(String namesrv, List<String> words) {
        int end = words.indexOf(",");
        List<String> line = new ArrayList<>(end < 0 ? words : words.subList(0, end));
        line.addAll(1, List.of("-n", namesrv));
        MQAdminStartup.main(line.toArray(new String[0]));
        if (end >= 0) {
            System.out.println("\n,"); // what was printed may lack the end of its line
            admin(namesrv, words.subList(end + 1, words.size()));
        }
    }

    private static void admins() throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<String> words = Arrays.asList(line.split("\t"));
            admin(words.get(0), words.subList(1, words.size()));
            System.out.println("\n,");
        }
    }

    /** Signs each request if the properties peer.accessKey and peer.secretKey are set. */
    private static RPCHook signing() {
        String accessKey = System.getProperty("peer.accessKey");
        return accessKey == null
            ? null
            : new AclClientRPCHook(new SessionCredentials(accessKey, System.getProperty("peer.secretKey")));
    }

    private static DefaultMQProducer producer(String namesrv) throws MQClientException {
        DefaultMQProducer producer = new DefaultMQProducer("producers", signing());
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("producer");
        producer.setPollNameServerInterval(1000);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        return producer;
    }

    private static DefaultMQPushConsumer consumer(String namesrv, String group) {
        DefaultMQPushConsumer consumer =
            new DefaultMQPushConsumer(group, signing(), new AllocateMessageQueueAveragely());
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("consumer");
        consumer.setPollNameServerInterval(1000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        return consumer;
    }

    private static void received(List<MessageExt> messages, CountDownLatch missing) {
        for (MessageExt message : messages) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            String key = message.getKeys() == null ? "" : message.getKeys();
            MessageQueue queue = new MessageQueue(message.getTopic(), message.getBrokerName(), message.getQueueId());
            print("received", Integer.parseInt(body), key, queue, "");
            missing.countDown();
        }
    }

    private static synchronized void print(String what, int number, String key, MessageQueue queue, String status) {
        System.out.println("{\"event\":\"" + what + "\",\"number\":" + number + ",\"key\":\"" + key + "\",\"broker\":\""
            + queue.getBrokerName() + "\",\"queue\":" + queue.getQueueId() + ",\"status\":\"" + status + "\"}");
    }

    /** Queues as JSON: none if the name server answers that there is no route, but never for want of an answer. */
    private static String json(Callable<Collection<MessageQueue>> fetch) throws Exception {
        return new TreeSet<>(answered(fetch)).stream()
            .map(queue -> "[\"" + queue.getBrokerName() + "\"," + queue.getQueueId() + "]")
            .collect(Collectors.joining(",", "[", "]"));
    }

    /**
     * Asks again if the request was not sent, as on a connection that a 4.9 client closes because a look-up of its own
     * took 3 s. That an answer never comes is a failure.
     */
    private static Collection<MessageQueue> answered(Callable<Collection<MessageQueue>> fetch) throws Exception {
        for (int attempt = 1; ; attempt++) {
            try {
                return fetch.call();
            } catch (MQClientException noQueues) {
                Throwable cause = noQueues.getCause();
                if (!(cause instanceof RemotingException)) {
                    return List.of();
                }
                if (attempt == ATTEMPTS || cause instanceof RemotingTimeoutException) {
                    throw noQueues;
                }
            }
        }
    }

    /** Lets a started client wait longer for queues than its 6 s, which is little on a busy machine. */
    private static void patient(ClientConfig client) {
        MQClientManager.getInstance().getOrCreateMQClientInstance(client).getMQAdminImpl()
            .setTimeoutMillis(TimeUnit.SECONDS.toMillis(WITHIN_SECONDS));
    }
}
