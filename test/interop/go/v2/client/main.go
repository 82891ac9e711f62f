// Drives an agent with a2a-go v2 and prints what each operation came to, one JSON object per line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2aext"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// kinds are the errors that a caller can tell apart with errors.Is.
var kinds = map[string]error{
	"ErrInternalError":        a2a.ErrInternalError,
	"ErrInvalidParams":        a2a.ErrInvalidParams,
	"ErrUnsupportedOperation": a2a.ErrUnsupportedOperation,
}

// tell prints the result of an operation, or the error as a caller would log it.
func tell[T any](operation string, value T, err error) {
	line := map[string]any{"operation": operation}
	if err != nil {
		line["error"] = err.Error()
		for name, kind := range kinds {
			if errors.Is(err, kind) {
				line["kind"] = name
			}
		}
	} else {
		line["value"] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func collect(events iter.Seq2[a2a.Event, error]) ([]a2a.StreamResponse, error) {
	all := []a2a.StreamResponse{}
	for event, err := range events {
		if err != nil {
			return nil, err
		}
		all = append(all, a2a.StreamResponse{Event: event})
	}
	return all, nil
}

func request(text string, parts ...*a2a.Part) *a2a.SendMessageRequest {
	parts = append([]*a2a.Part{a2a.NewTextPart(text)}, parts...)
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
}

// rest drives the operations that the other bindings are not asked for.
func rest(ctx context.Context, client *a2aclient.Client, task *a2a.Task) {
	listed, err := client.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: task.ContextID})
	tell("list", listed, err)
	hook := &a2a.PushConfig{TaskID: task.ID, ID: "hook", URL: "http://127.0.0.1:9/hook", Token: "token"}
	created, err := client.CreateTaskPushConfig(ctx, hook)
	tell("pushCreate", created, err)
	got, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "hook"})
	tell("pushGet", got, err)
	configs, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
	tell("pushList", configs, err)
	err = client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "hook"})
	tell("pushDelete", "nothing", err)
	deleted, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "hook"})
	tell("pushGetDeleted", deleted, err)
	finished, err := collect(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
	tell("subscribeFinished", finished, err)
	again := request("long")
	again.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	started, err := client.SendMessage(ctx, again)
	tell("sendAgain", started, err)
	if running, ok := started.(*a2a.Task); ok {
		// A subscription that begins earlier sees the change to this state.
		for state := running.Status.State; state != a2a.TaskStateWorking; {
			latest, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: running.ID})
			if err != nil {
				log.Fatal(err)
			}
			state = latest.Status.State
		}
		tell("subscribe", subscribed(ctx, client, running.ID), nil)
	}
}

// subscribed returns the events up to the end of a task, which is cancelled once the subscription has begun.
func subscribed(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) []any {
	all := []any{}
	for event, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		if err != nil {
			return append(all, err.Error())
		}
		if len(all) == 0 {
			if _, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id}); err != nil {
				all = append(all, err.Error())
			}
		}
		all = append(all, a2a.StreamResponse{Event: event})
	}
	return all
}

func dataPart(data any, mediaType string) *a2a.Part {
	part := a2a.NewDataPart(data)
	part.MediaType = mediaType
	return part
}

func main() {
	var extensions, credentials list
	flag.Var(&extensions, "extension", "activated on every call")
	flag.Var(&credentials, "credential", "scheme=value, for the AuthInterceptor of the SDK")
	transport := flag.String("transport", "JSONRPC", "")
	legacy := flag.Bool("legacy", false, "speak 0.3")
	all := flag.Bool("all", false, "every operation")
	data := flag.String("data", "", "send this only")
	mediaType := flag.String("media-type", "application/json", "")
	flag.Parse()
	ctx := a2aclient.AttachSessionID(context.Background(), "session")
	store := a2aclient.NewInMemoryCredentialsStore()
	for _, credential := range credentials {
		scheme, value, _ := strings.Cut(credential, "=")
		store.Set("session", a2a.SecuritySchemeName(scheme), a2aclient.AuthCredential(value))
	}

	resolver := *agentcard.DefaultResolver
	options := []a2aclient.FactoryOption{
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{a2a.TransportProtocol(*transport)}}),
		a2aclient.WithCallInterceptors(a2aext.NewActivator(extensions...), &a2aclient.AuthInterceptor{Service: store}),
	}
	if *legacy {
		resolver.CardParser = a2av0.NewAgentCardParser()
		options = append(options,
			a2aclient.WithDefaultsDisabled(),
			a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{}),
			a2av0.WithRESTTransport(a2av0.RESTTransportConfig{}),
		)
	}
	if *transport == "GRPC" {
		credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
		if *legacy {
			options = append(options, grpcv0.WithGRPCTransport(credentials))
		} else {
			options = append(options, grpcv1.WithGRPCTransport(credentials))
		}
	}
	card, err := resolver.Resolve(ctx, flag.Arg(0))
	tell("card", card, err)
	if err != nil {
		return
	}
	client, err := a2aclient.NewFromCard(ctx, card, options...)
	if err != nil {
		log.Fatal(err)
	}

	if *data != "" {
		var value any
		if err := json.Unmarshal([]byte(*data), &value); err != nil {
			log.Fatal(err)
		}
		result, err := client.SendMessage(ctx, request("data", dataPart(value, *mediaType)))
		tell("sendData", result, err)
		return
	}
	message, err := client.SendMessage(ctx, request("message"))
	tell("message", message, err)
	sent, err := client.SendMessage(ctx, request("task"))
	tell("send", sent, err)
	withData, err := client.SendMessage(ctx, request("data", dataPart(map[string]any{"a": 1, "b": []any{"x", nil, 1.5}}, "application/json")))
	tell("sendData", withData, err)
	events, err := collect(client.SendStreamingMessage(ctx, request("stream")))
	tell("stream", events, err)
	id := a2a.TaskID("unknown")
	if task, ok := sent.(*a2a.Task); ok {
		id = task.ID
	}
	got, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	tell("get", got, err)
	unknown, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: "unknown"})
	tell("getUnknown", unknown, err)
	now := request("long")
	now.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	long, err := client.SendMessage(ctx, now)
	tell("sendLong", long, err)
	id = "unknown"
	if task, ok := long.(*a2a.Task); ok {
		id = task.ID
	}
	cancelled, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	tell("cancel", cancelled, err)
	extended, err := client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	tell("extendedCard", extended, err)
	if task, ok := sent.(*a2a.Task); ok && *all {
		rest(ctx, client, task)
	}
}
