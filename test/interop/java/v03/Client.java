import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.a2a.A2A;
import io.a2a.client.ClientBuilder;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.transport.grpc.GrpcTransport;
import io.a2a.client.transport.grpc.GrpcTransportConfig;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfig;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfig;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.spec.AgentCard;
import io.a2a.spec.DataPart;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskArtifactUpdateEvent;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatusUpdateEvent;
import io.a2a.spec.TextPart;
import io.a2a.util.Utils;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Drives an agent with the Java SDK for A2A 0.3 and prints the result of each operation, one JSON object per line.
 *
 * Arguments: [--transport NAME] [--extension URI]... [--data JSON] [--all] URL
 */
class Client {
    static final ObjectMapper JSON = Utils.OBJECT_MAPPER.copy().disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS);
    static final Set<TaskState> LAST = Set.of(TaskState.COMPLETED, TaskState.CANCELED, TaskState.FAILED, TaskState.REJECTED);
    static final List<ManagedChannel> channels = new ArrayList<>();

    static AgentCard card;
    static ClientCallContext context;
    static String transport = "JSONRPC";

    public static void main(String[] arguments) throws Exception {
        List<String> extensions = new ArrayList<>();
        String url = null;
        String data = null;
        boolean all = false;
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--transport" -> transport = arguments[++i];
                case "--extension" -> extensions.add(arguments[++i]);
                case "--data" -> data = arguments[++i];
                case "--all" -> all = true;
                default -> url = arguments[i];
            }
        }
        Map<String, String> headers = extensions.isEmpty() ? Map.of() : Map.of("X-A2A-Extensions", String.join(",", extensions));
        context = new ClientCallContext(Map.of(), headers);
        card = A2A.getAgentCard(url);
        report("card", () -> card);
        run(data, all);
        channels.forEach(ManagedChannel::shutdownNow);
        System.exit(0);
    }

    static void run(String data, boolean all) throws Exception {
        if (data != null) {
            DataPart part = new DataPart(JSON.readValue(data, Map.class));
            report("sendData", () -> send(true, message("data", part)));
            return;
        }
        report("message", () -> send(true, message("message")));
        String task = idOf(report("send", () -> send(true, message("task"))));
        // Without null, which the SDK cannot read from a Struct.
        DataPart part = new DataPart(new LinkedHashMap<>(Map.of("a", 1, "b", List.of("x", 1.5))));
        report("sendData", () -> send(true, message("data", part)));
        report("stream", () -> events(message("stream")));
        report("get", () -> client(true, false).getTask(new TaskQueryParams(task), context));
        report("getUnknown", () -> client(true, false).getTask(new TaskQueryParams("unknown"), context));
        String running = idOf(report("sendLong", () -> send(false, message("long"))));
        report("cancel", () -> client(true, false).cancelTask(new TaskIdParams(running), context));
        if (!all) return;
        PushNotificationConfig push = new PushNotificationConfig.Builder().id("config").url("http://127.0.0.1:9/hook").token("t").build();
        var pushes = client(true, false);
        report("pushCreate", () -> pushes.setTaskPushNotificationConfiguration(new TaskPushNotificationConfig(task, push), context));
        var wanted = new GetTaskPushNotificationConfigParams(task, "config");
        report("pushGet", () -> pushes.getTaskPushNotificationConfiguration(wanted, context));
        var every = new ListTaskPushNotificationConfigParams(task);
        report("pushList", () -> pushes.listTaskPushNotificationConfigurations(every, context));
        report("pushDelete", () -> {
            pushes.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(task, "config"), context);
            return "deleted";
        });
        report("pushGetDeleted", () -> pushes.getTaskPushNotificationConfiguration(wanted, context));
        // Over HTTP, the SDK does not give the error of a stream to its caller.
        if (transport.equals("GRPC")) report("subscribeFinished", () -> subscription(task));
        else report("subscribe", () -> joined(idOf(send(false, message("long")))));
    }

    static Message message(String text, Part<?>... more) {
        List<Part<?>> parts = new ArrayList<>(List.of(new TextPart(text)));
        parts.addAll(List.of(more));
        return new Message.Builder().role(Message.Role.USER).messageId(UUID.randomUUID().toString()).parts(parts).build();
    }

    static io.a2a.client.Client client(boolean blocking, boolean streaming) throws Exception {
        ClientConfig config = new ClientConfig.Builder()
            .setStreaming(streaming).setPolling(!blocking).setUseClientPreference(true).build();
        ClientBuilder builder = io.a2a.client.Client.builder(card).clientConfig(config);
        switch (transport) {
            case "GRPC" -> builder.withTransport(GrpcTransport.class, new GrpcTransportConfig(Client::channel));
            case "HTTP+JSON" -> builder.withTransport(RestTransport.class, new RestTransportConfig());
            default -> builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfig());
        }
        return builder.build();
    }

    /** The address of the card as it is. */
    static ManagedChannel channel(String address) {
        ManagedChannel channel = ManagedChannelBuilder.forTarget(address).usePlaintext().build();
        channels.add(channel);
        return channel;
    }

    /** The message or the task that a unary call returns. */
    static Object send(boolean blocking, Message message) throws Exception {
        List<Object> seen = new ArrayList<>();
        client(blocking, false).sendMessage(message, List.of((event, agent) -> seen.add(plain(event))), error -> {}, context);
        return seen.get(0);
    }

    /** Every event of a stream, up to the message or the last state of the task. */
    static Object events(Message message) throws Exception {
        BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
        client(true, true).sendMessage(message, List.of((event, agent) -> queue.add(plain(event))), error -> ended(queue, error), context);
        return collected(queue);
    }

    /** Cancels a running task once its subscription has begun. */
    static Object joined(String task) throws Exception {
        BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
        client(true, true).resubscribe(new TaskIdParams(task), List.of((event, agent) -> queue.add(plain(event))), error -> ended(queue, error), context);
        if (queue.poll(20, TimeUnit.SECONDS) == null) throw new Exception("the subscription does not begin");
        client(true, false).cancelTask(new TaskIdParams(task), context);
        return "subscribed";
    }

    static Object subscription(String task) throws Exception {
        BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
        client(true, true).resubscribe(new TaskIdParams(task), List.of((event, agent) -> queue.add(plain(event))), error -> ended(queue, error), context);
        return collected(queue);
    }

    /** The SDK calls the handler of errors with null, too. */
    static void ended(BlockingQueue<Object> queue, Throwable error) {
        if (error != null) queue.add(error);
    }

    static List<Object> collected(BlockingQueue<Object> queue) throws Exception {
        List<Object> seen = new ArrayList<>();
        while (true) {
            Object event = queue.poll(20, TimeUnit.SECONDS);
            if (event == null) throw new Exception("no further event after " + seen.size());
            if (event instanceof Exception error) throw error;
            seen.add(event);
            boolean last = event instanceof Message
                || event instanceof Task task && LAST.contains(task.getStatus().state())
                || event instanceof TaskStatusUpdateEvent update && LAST.contains(update.getStatus().state());
            if (last) return seen;
        }
    }

    static Object plain(ClientEvent event) {
        if (event instanceof MessageEvent one) return one.getMessage();
        if (event instanceof TaskEvent one) return one.getTask();
        return ((TaskUpdateEvent) event).getUpdateEvent();
    }

    static String idOf(Object sent) {
        return sent instanceof Task task ? task.getId() : "unknown";
    }

    /** Prints the result of an operation, or the exception as a caller would log it. */
    static Object report(String operation, Callable<Object> work) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>(Map.of("operation", operation));
        try {
            Object value = work.call();
            line.put("value", value);
            System.out.println(JSON.writeValueAsString(line));
            return value;
        } catch (Throwable error) {
            Throwable cause = error.getCause();
            line.put("error", error + (cause == null ? "" : " (" + cause + ")"));
            System.out.println(JSON.writeValueAsString(line));
            return null;
        }
    }
}
