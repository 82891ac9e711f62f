// Drives an agent with a2a-go v0.3 and prints what each operation came to, one JSON object per line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/a2asrv"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// activator asks for extensions on every call; this version of the SDK has none of its own.
type activator struct {
	a2aclient.PassthroughInterceptor
	uris []string
}

func (a *activator) Before(ctx context.Context, req *a2aclient.Request) (context.Context, error) {
	if len(a.uris) > 0 {
		req.Meta[a2asrv.ExtensionsMetaKey] = a.uris
	}
	return ctx, nil
}

// tell prints the result of an operation, or the error as a caller would log it.
func tell[T any](operation string, value T, err error) {
	line := map[string]any{"operation": operation}
	if err != nil {
		line["error"] = err.Error()
	} else {
		line["value"] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func collect(events iter.Seq2[a2a.Event, error]) ([]a2a.Event, error) {
	all := []a2a.Event{}
	for event, err := range events {
		if err != nil {
			return nil, err
		}
		all = append(all, event)
	}
	return all, nil
}

func request(text string, parts ...a2a.Part) *a2a.MessageSendParams {
	parts = append([]a2a.Part{a2a.TextPart{Text: text}}, parts...)
	return &a2a.MessageSendParams{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
}

func dataPart(data map[string]any, mediaType string) a2a.Part {
	return a2a.DataPart{Data: data, Metadata: map[string]any{"mimeType": mediaType}}
}

func main() {
	var extensions list
	flag.Var(&extensions, "extension", "activated on every call")
	data := flag.String("data", "", "send this only")
	mediaType := flag.String("media-type", "application/json", "")
	all := flag.Bool("all", false, "every operation")
	flag.Parse()
	ctx := context.Background()

	card, err := agentcard.DefaultResolver.Resolve(ctx, flag.Arg(0))
	tell("card", card, err)
	if err != nil {
		return
	}
	client, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithInterceptors(&activator{uris: extensions}))
	if err != nil {
		log.Fatal(err)
	}

	if *data != "" {
		var value map[string]any
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
	got, err := client.GetTask(ctx, &a2a.TaskQueryParams{ID: id})
	tell("get", got, err)
	unknown, err := client.GetTask(ctx, &a2a.TaskQueryParams{ID: "unknown"})
	tell("getUnknown", unknown, err)
	now := request("long")
	blocking := false
	now.Config = &a2a.MessageSendConfig{Blocking: &blocking}
	long, err := client.SendMessage(ctx, now)
	tell("sendLong", long, err)
	id = "unknown"
	if task, ok := long.(*a2a.Task); ok {
		id = task.ID
	}
	cancelled, err := client.CancelTask(ctx, &a2a.TaskIDParams{ID: id})
	tell("cancel", cancelled, err)
	extended, err := client.GetAgentCard(ctx)
	tell("extendedCard", extended, err)
	if task, ok := sent.(*a2a.Task); ok && *all {
		rest(ctx, client, task.ID)
	}
}

// rest drives the operations that the other runs are not asked for.
func rest(ctx context.Context, client *a2aclient.Client, id a2a.TaskID) {
	config := &a2a.TaskPushConfig{TaskID: id, Config: a2a.PushConfig{ID: "hook", URL: "http://127.0.0.1:9/hook", Token: "token"}}
	created, err := client.SetTaskPushConfig(ctx, config)
	tell("pushCreate", created, err)
	got, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: id, ConfigID: "hook"})
	tell("pushGet", got, err)
	configs, err := client.ListTaskPushConfig(ctx, &a2a.ListTaskPushConfigParams{TaskID: id})
	tell("pushList", configs, err)
	err = client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigParams{TaskID: id, ConfigID: "hook"})
	tell("pushDelete", "nothing", err)
	finished, err := collect(client.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: id}))
	tell("subscribeFinished", finished, err)
}
