import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.serializer.SerializerFeature;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.Validators;
import org.apache.rocketmq.client.common.ThreadLocalIndex;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.impl.producer.TopicPublishInfo;
import org.apache.rocketmq.client.latency.MQFaultStrategy;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/**
 * What the Java client of one release makes of routes, queues and consumers: a case per line on stdin, its answer on
 * stdout. The release's own classes do everything; what moved between packages or is private is reached by reflection.
 */
public final class ClientOracle {
    /** The decisions of a case hold if it took less real time than half a second, the grain of its virtual time. */
    private static final long QUICK_NANOS = 300_000_000L;

    private static final boolean FIVE = exists("org.apache.rocketmq.remoting.protocol.route.TopicRouteData");
    private static final Class<?> ROUTE = type(FIVE
        ? "org.apache.rocketmq.remoting.protocol.route.TopicRouteData"
        : "org.apache.rocketmq.common.protocol.route.TopicRouteData");

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever else prints
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            answers.println(JSON.toJSONString(answer(JSON.parseObject(line)), SerializerFeature.WriteMapNullValue));
        }
        answers.flush();
        System.exit(0);
    }

    private static Object answer(JSONObject asked) throws Exception {
        try {
            return switch (asked.getString("op")) {
                case "publish" -> publish(asked);
                case "subscribe" -> sorted((Collection<MessageQueue>) invoke(MQClientInstance.class, null,
                    "topicRouteData2TopicSubscribeInfo", asked.getString("topic"), route(asked, "route")));
                case "endpoints" -> endpoints(asked);
                case "changed" -> changed(route(asked, "old"), route(asked, "new"));
                case "sort" -> sorted(queues(asked.getJSONArray("queues"), null));
                case "topic" -> topic(asked.getString("topic"));
                case "allocate" -> allocate(asked);
                case "select" -> select(asked);
                default -> throw new AssertionError(asked);
            };
        } catch (IllegalArgumentException | IndexOutOfBoundsException | MQClientException refused) {
            return Collections.singletonMap("refused", refused.toString());
        }
    }

    // routes to queues

    private static Object publish(JSONObject asked) throws Exception {
        TopicPublishInfo info = publishInfo(asked);
        JSONObject answer = new JSONObject();
        answer.put("order", info.isOrderTopic());
        answer.put("queues", rows(info.getMessageQueueList()));
        return answer;
    }

    private static TopicPublishInfo publishInfo(JSONObject asked) throws Exception {
        return (TopicPublishInfo) invoke(MQClientInstance.class, null, "topicRouteData2TopicPublishInfo",
            asked.getString("topic"), route(asked, "route"));
    }

    private static Object endpoints(JSONObject asked) throws Exception {
        Map<MessageQueue, String> found = (Map<MessageQueue, String>) invoke(
            type("org.apache.rocketmq.remoting.rpc.ClientMetadata"), null, "topicRouteData2EndpointsForStaticTopic",
            asked.getString("topic"), route(asked, "route"));
        List<Object> rows = new ArrayList<>();
        found.keySet().stream().sorted().forEach(
            queue -> rows.add(List.of(queue.getBrokerName(), queue.getQueueId(), found.get(queue))));
        return rows;
    }

    private static boolean changed(Object old, Object now) throws Exception {
        if (FIVE) {
            return (Boolean) invoke(ROUTE, now, "topicRouteDataChanged", old);
        }
        Object instance = unsafe().allocateInstance(MQClientInstance.class); // the method looks at its arguments only
        return (Boolean) invoke(MQClientInstance.class, instance, "topicRouteDataIsChange", old, now);
    }

    private static Object topic(String topic) throws MQClientException {
        Validators.checkTopic(topic);
        Validators.isNotAllowedSendTopic(topic);
        return true;
    }

    // consumers

    private static Object allocate(JSONObject asked) {
        List<String> cids = asked.getJSONArray("cids").toJavaList(String.class);
        List<MessageQueue> mine = strategy(asked.getJSONObject("strategy")).allocate(
            "group", asked.getString("cid"), queues(asked.getJSONArray("queues"), asked.getString("topic")), cids);
        return rows(mine);
    }

    private static AllocateMessageQueueStrategy strategy(JSONObject described) {
        switch (described.getString("name")) {
            case "AVG":
                return new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle();
            case "CONFIG":
                AllocateMessageQueueByConfig byConfig = new AllocateMessageQueueByConfig();
                byConfig.setMessageQueueList(queues(described.getJSONArray("queues"), "configured"));
                return byConfig;
            case "MACHINE_ROOM":
                AllocateMessageQueueByMachineRoom byRoom = new AllocateMessageQueueByMachineRoom();
                byRoom.setConsumeridcs(new HashSet<>(described.getJSONArray("rooms").toJavaList(String.class)));
                return byRoom;
            case "CONSISTENT_HASH":
                int nodes = described.getIntValue("nodes");
                Integer places = described.getInteger("places");
                return places == null
                    ? new AllocateMessageQueueConsistentHash(nodes)
                    : new AllocateMessageQueueConsistentHash(nodes, key -> key.codePoints().asLongStream().sum() % places);
            default:
                return new AllocateMachineRoomNearby(strategy(described.getJSONObject("inner")),
                    new AllocateMachineRoomNearby.MachineRoomResolver() {
                        @Override
                        public String brokerDeployIn(MessageQueue queue) {
                            return beforeAt(queue.getBrokerName());
                        }

                        @Override
                        public String consumerDeployIn(String clientId) {
                            return beforeAt(clientId);
                        }
                    });
        }
    }

    private static String beforeAt(String name) {
        return name.substring(0, Math.max(0, name.indexOf('@')));
    }

    // producers

    /** Runs the steps of a case until they ran quickly enough: virtual time passes by moving what the table says. */
    private static Object select(JSONObject asked) throws Exception {
        while (true) {
            long began = System.nanoTime();
            List<Object> answers = steps(asked);
            if (System.nanoTime() - began < QUICK_NANOS) {
                return answers;
            }
        }
    }

    private static List<Object> steps(JSONObject asked) throws Exception {
        MQFaultStrategy strategy = faultStrategy();
        strategy.setSendLatencyFaultEnable(asked.getBoolean("latency"));
        Object tolerance = get(strategy, "latencyFaultTolerance");
        startAt((ThreadLocalIndex) get(tolerance, "whichItemWorst"), asked.getIntValue("worst"));
        TopicPublishInfo info = publishInfo(asked);
        startAt(info.getSendWhichQueue(), asked.getIntValue("start"));
        List<Object> answers = new ArrayList<>();
        for (Object step : asked.getJSONArray("steps")) {
            JSONArray words = (JSONArray) step;
            switch (words.getString(0)) {
                case "advance" -> advance(tolerance, words.getLongValue(1));
                case "update" -> update(strategy, words);
                default -> answers.add(selected(strategy, tolerance, info, words));
            }
        }
        return answers;
    }

    private static MQFaultStrategy faultStrategy() throws Exception {
        if (!FIVE) {
            return MQFaultStrategy.class.getConstructor().newInstance();
        }
        Class<?> resolver = type("org.apache.rocketmq.client.latency.Resolver");
        Class<?> detector = type("org.apache.rocketmq.client.latency.ServiceDetector");
        return MQFaultStrategy.class.getConstructor(ClientConfig.class, resolver, detector)
            .newInstance(new ClientConfig(), null, null);
    }

    private static void update(MQFaultStrategy strategy, JSONArray words) throws Exception {
        List<Object> values = new ArrayList<>(
            List.of(words.getString(1), words.getLongValue(2), words.getBooleanValue(3)));
        if (FIVE) {
            values.add(words.getBooleanValue(4));
        }
        invoke(MQFaultStrategy.class, strategy, "updateFaultItem", values.toArray());
    }

    /** 4.x writes into the queue that it takes from the list, so each choice gets a list of its own. */
    private static Object selected(MQFaultStrategy strategy, Object tolerance, TopicPublishInfo info, JSONArray words)
        throws Exception {
        String last = words.getString(1);
        List<MessageQueue> kept = new ArrayList<>();
        info.getMessageQueueList().forEach(
            queue -> kept.add(new MessageQueue(queue.getTopic(), queue.getBrokerName(), queue.getQueueId())));
        MessageQueue queue;
        if (FIVE) {
            set(info.getSendWhichQueue(), "random", new Fixed(words.getIntValue(3)));
            queue = (MessageQueue) invoke(MQFaultStrategy.class, strategy, "selectOneMessageQueue",
                info, last, words.getBooleanValue(2));
        } else {
            queue = (MessageQueue) invoke(MQFaultStrategy.class, strategy, "selectOneMessageQueue", info, last);
        }
        info.setMessageQueueList(kept);
        JSONObject answer = new JSONObject();
        answer.put("queue", queue == null ? null : List.of(queue.getBrokerName(), queue.getQueueId()));
        answer.put("table", table(tolerance));
        answer.put("picked", FIVE ? invoke(tolerance.getClass(), tolerance, "pickOneAtLeast") : null);
        return answer;
    }

    private static Object table(Object tolerance) throws Exception {
        List<List<Object>> rows = new ArrayList<>();
        for (Map.Entry<String, Object> item : items(tolerance).entrySet()) {
            rows.add(List.of(item.getKey(), invoke(tolerance.getClass(), tolerance, "isAvailable", item.getKey()),
                !FIVE || (Boolean) invoke(tolerance.getClass(), tolerance, "isReachable", item.getKey())));
        }
        rows.sort((one, other) -> ((String) one.get(0)).compareTo((String) other.get(0)));
        return rows;
    }

    private static void advance(Object tolerance, long milliseconds) throws Exception {
        for (Object item : items(tolerance).values()) {
            set(item, "startTimestamp", (Long) get(item, "startTimestamp") - milliseconds);
        }
    }

    private static Map<String, Object> items(Object tolerance) throws Exception {
        return (Map<String, Object>) get(tolerance, "faultItemTable");
    }

    private static void startAt(ThreadLocalIndex index, int start) throws Exception {
        ((ThreadLocal<Integer>) get(index, "threadLocalIndex")).set(start);
    }

    /** A random that is not. */
    private static final class Fixed extends Random {
        private static final long serialVersionUID = 1L;
        private final int value;

        Fixed(int value) {
            this.value = value;
        }

        @Override
        public int nextInt(int bound) {
            return value;
        }
    }

    // values in and out

    private static Object route(JSONObject asked, String key) {
        String text = asked.getString(key);
        return text == null ? null : RemotingSerializable.decode(text.getBytes(StandardCharsets.UTF_8), ROUTE);
    }

    /** Queues from rows of topic, broker name and id; with a topic given, of broker name and id. */
    private static List<MessageQueue> queues(JSONArray rows, String topic) {
        List<MessageQueue> queues = new ArrayList<>();
        for (int i = 0; i < rows.size(); i++) {
            JSONArray row = rows.getJSONArray(i);
            queues.add(topic == null
                ? new MessageQueue(row.getString(0), row.getString(1), row.getIntValue(2))
                : new MessageQueue(topic, row.getString(0), row.getIntValue(1)));
        }
        return queues;
    }

    private static List<Object> sorted(Collection<MessageQueue> queues) {
        List<MessageQueue> list = new ArrayList<>(queues);
        Collections.sort(list);
        return rows(list);
    }

    private static List<Object> rows(List<MessageQueue> queues) {
        List<Object> rows = new ArrayList<>();
        queues.forEach(queue -> rows.add(List.of(queue.getTopic(), queue.getBrokerName(), queue.getQueueId())));
        return rows;
    }

    // reflection

    private static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException absent) {
            throw new IllegalStateException(absent);
        }
    }

    private static sun.misc.Unsafe unsafe() throws Exception {
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (sun.misc.Unsafe) field.get(null);
    }

    private static Object get(Object object, String name) throws Exception {
        return field(object, name).get(object);
    }

    private static void set(Object object, String name, Object value) throws Exception {
        field(object, name).set(object, value);
    }

    private static Field field(Object object, String name) throws Exception {
        Field field = object.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Calls the one method of this name and number of arguments that isn't a bridge for erased types. */
    private static Object invoke(Class<?> in, Object object, String name, Object... arguments) throws Exception {
        for (Method method : in.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length && !method.isBridge()) {
                method.setAccessible(true);
                try {
                    return method.invoke(object, arguments);
                } catch (InvocationTargetException failed) {
                    throw (Exception) failed.getCause();
                }
            }
        }
        throw new NoSuchMethodException(in + "." + name);
    }
}
