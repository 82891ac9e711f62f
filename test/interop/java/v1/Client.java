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
import org.a2aproject.sdk.A2A;
import org.a2aproject.sdk.client.ClientBuilder;
import org.a2aproject.sdk.client.ClientEvent;
import org.a2aproject.sdk.client.MessageEvent;
import org.a2aproject.sdk.client.TaskEvent;
import org.a2aproject.sdk.client.TaskUpdateEvent;
import org.a2aproject.sdk.client.config.ClientConfig;
import org.a2aproject.sdk.client.transport.grpc.GrpcTransport;
import org.a2aproject.sdk.client.transport.grpc.GrpcTransportConfig;
import org.a2aproject.sdk.client.transport.jsonrpc.JSONRPCTransport;
import org.a2aproject.sdk.client.transport.jsonrpc.JSONRPCTransportConfig;
import org.a2aproject.sdk.client.transport.rest.RestTransport;
import org.a2aproject.sdk.client.transport.rest.RestTransportConfig;
import org.a2aproject.sdk.client.transport.spi.interceptors.ClientCallContext;
import org.a2aproject.sdk.jsonrpc.common.json.JsonUtil;
import org.a2aproject.sdk.spec.AgentCard;
import org.a2aproject.sdk.spec.CancelTaskParams;
import org.a2aproject.sdk.spec.DataPart;
import org.a2aproject.sdk.spec.DeleteTaskPushNotificationConfigParams;
import org.a2aproject.sdk.spec.GetTaskPushNotificationConfigParams;
import org.a2aproject.sdk.spec.ListTaskPushNotificationConfigsParams;
import org.a2aproject.sdk.spec.ListTasksParams;
import org.a2aproject.sdk.spec.Message;
import org.a2aproject.sdk.spec.Part;
import org.a2aproject.sdk.spec.Task;
import org.a2aproject.sdk.spec.TaskIdParams;
import org.a2aproject.sdk.spec.TaskPushNotificationConfig;
import org.a2aproject.sdk.spec.TaskQueryParams;
import org.a2aproject.sdk.spec.TaskState;
import org.a2aproject.sdk.spec.TaskStatusUpdateEvent;
import org.a2aproject.sdk.spec.TextPart;

/**
 * Drives an agent with the Java SDK for A2A 1.0 and prints the result of each operation, one JSON object per line.
 *
 * Arguments: [--transport NAME] [--extension URI]... [--data JSON] [--all] URL
 */
class Client {
    static final Set<TaskState> LAST = Set.of(TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_REJECTED);
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
        Map<String, String> headers = extensions.isEmpty() ? Map.of() : Map.of("A2A-Extensions", String.join(",", extensions));
        context = new ClientCallContext(Map.of(), headers);
        card = A2A.getAgentCard(url);
        report("card", () -> card);
        run(data, all);
        channels.forEach(ManagedChannel::shutdownNow);
        System.exit(0);
    }

    static void run(String data, boolean all) throws Exception {
        if (data != null) {
            DataPart part = new DataPart(JsonUtil.fromJson(data, Map.class));
            report("sendData", () -> send(true, message("data", part)));
            return;
        }
        report("message", () -> send(true, message("message")));
        String task = idOf(report("send", () -> send(true, message("task"))));
        DataPart part = new DataPart(new LinkedHashMap<>(Map.of("a", 1, "b", List.of("x", 1.5))));
        report("sendData", () -> send(true, message("data", part)));
        report("stream", () -> events(message("stream")));
        report("get", () -> client(true, false).getTask(new TaskQueryParams(task), context));
        report("getUnknown", () -> client(true, false).getTask(new TaskQueryParams("unknown"), context));
        String running = idOf(report("sendLong", () -> send(false, message("long"))));
        report("cancel", () -> client(true, false).cancelTask(new CancelTaskParams(running), context));
        if (!all) return;
        var rest = client(true, false);
        report("extendedCard", () -> rest.getExtendedAgentCard(null, context));
        report("list", () -> rest.listTasks(ListTasksParams.builder().tenant("").build(), context));
        var push = TaskPushNotificationConfig.builder().id("hook").taskId(task).url("http://127.0.0.1:9/hook").token("token").build();
        report("pushCreate", () -> rest.createTaskPushNotificationConfiguration(push, context));
        report("pushGet", () -> rest.getTaskPushNotificationConfiguration(new GetTaskPushNotificationConfigParams(task, "hook"), context));
        report("pushList", () -> rest.listTaskPushNotificationConfigurations(new ListTaskPushNotificationConfigsParams(task), context));
        report("pushDelete", () -> {
            rest.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(task, "hook"), context);
            return "deleted";
        });
        report("subscribe", () -> subscription(idOf(send(false, message("long")))));
    }

    static Message message(String text, Part<?>... more) {
        List<Part<?>> parts = new ArrayList<>(List.of(new TextPart(text)));
        parts.addAll(List.of(more));
        return Message.builder().role(Message.Role.ROLE_USER).messageId(UUID.randomUUID().toString()).parts(parts).build();
    }

    static org.a2aproject.sdk.client.Client client(boolean blocking, boolean streaming) throws Exception {
        ClientConfig config = ClientConfig.builder()
            .setStreaming(streaming).setPolling(!blocking).setUseClientPreference(true).build();
        ClientBuilder builder = org.a2aproject.sdk.client.Client.builder(card).clientConfig(config);
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

    /** Cancels a running task once its subscription has begun. */
    static Object subscription(String task) throws Exception {
        BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
        client(true, true).subscribeToTask(new TaskIdParams(task), List.of((event, agent) -> queue.add(plain(event))), error -> ended(queue, error), context);
        if (queue.poll(20, TimeUnit.SECONDS) == null) throw new Exception("the subscription does not begin");
        client(true, false).cancelTask(new CancelTaskParams(task), context);
        return "subscribed";
    }

    /** Every event of a stream, up to the message or the last state of the task. */
    static Object events(Message message) throws Exception {
        BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
        client(true, true).sendMessage(message, List.of((event, agent) -> queue.add(plain(event))), error -> ended(queue, error), context);
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
                || event instanceof Task task && LAST.contains(task.status().state())
                || event instanceof TaskStatusUpdateEvent update && LAST.contains(update.status().state());
            if (last) return seen;
        }
    }

    static Object plain(ClientEvent event) {
        if (event instanceof MessageEvent one) return one.getMessage();
        if (event instanceof TaskEvent one) return one.getTask();
        return ((TaskUpdateEvent) event).getUpdateEvent();
    }

    static String idOf(Object sent) {
        return sent instanceof Task task ? task.id() : "unknown";
    }

    /** Prints the result of an operation, or the exception as a caller would log it. */
    static Object report(String operation, Callable<Object> work) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>(Map.of("operation", operation));
        try {
            Object value = work.call();
            line.put("value", value);
            System.out.println(JsonUtil.OBJECT_MAPPER.toJson(line));
            return value;
        } catch (Throwable error) {
            Throwable cause = error.getCause();
            line.put("error", error + (cause == null ? "" : " (" + cause + ")"));
            System.out.println(JsonUtil.OBJECT_MAPPER.toJson(line));
            return null;
        }
    }
}
