// An echo agent made with a2a-go v0.3. Prints each request with the lines of its extension header.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

type executor struct{}

func (*executor) Execute(ctx context.Context, req *a2asrv.RequestContext, queue eventqueue.Queue) error {
	text := ""
	switch part := req.Message.Parts[0].(type) {
	case a2a.TextPart:
		text = part.Text
	case *a2a.TextPart:
		text = part.Text
	}
	extensions, _ := a2asrv.ExtensionsFrom(ctx)
	if text == "message" {
		message := a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: "echo: " + text})
		message.Metadata = map[string]any{"seen": strings.Join(extensions.RequestedURIs(), " ")}
		return queue.Write(ctx, message)
	}
	first := a2a.NewArtifactEvent(req, a2a.TextPart{Text: "echo: "})
	events := []a2a.Event{a2a.NewSubmittedTask(req, req.Message), a2a.NewStatusUpdateEvent(req, a2a.TaskStateWorking, nil)}
	if text != "long" {
		done := a2a.NewStatusUpdateEvent(req, a2a.TaskStateCompleted, nil)
		done.Final = true
		events = append(events, first, a2a.NewArtifactUpdateEvent(req, first.Artifact.ID, a2a.TextPart{Text: text}), done)
	}
	for _, event := range events {
		if err := queue.Write(ctx, event); err != nil {
			return err
		}
	}
	if text == "long" {
		<-ctx.Done()
	}
	return nil
}

func (*executor) Cancel(ctx context.Context, req *a2asrv.RequestContext, queue eventqueue.Queue) error {
	event := a2a.NewStatusUpdateEvent(req, a2a.TaskStateCanceled, nil)
	event.Final = true
	return queue.Write(ctx, event)
}

func main() {
	var required, optional list
	flag.Var(&required, "required", "extension that the card requires")
	flag.Var(&optional, "optional", "extension that the card offers")
	port := flag.Int("port", 9001, "")
	flag.Parse()

	card := &a2a.AgentCard{
		Name:               "Go echo",
		Description:        "Says what it hears.",
		Version:            "1.0.0",
		ProtocolVersion:    "0.3.0",
		URL:                fmt.Sprintf("http://127.0.0.1:%d/a2a/jsonrpc", *port),
		PreferredTransport: a2a.TransportProtocolJSONRPC,
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "echo", Name: "Echo", Description: "Does echo.", Tags: []string{"test"}}},
	}
	for _, uri := range required {
		card.Capabilities.Extensions = append(card.Capabilities.Extensions, a2a.AgentExtension{URI: uri, Required: true})
	}
	for _, uri := range optional {
		card.Capabilities.Extensions = append(card.Capabilities.Extensions, a2a.AgentExtension{URI: uri})
	}

	mux := http.NewServeMux()
	mux.Handle("/a2a/jsonrpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(&executor{})))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))

	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s %s %q\n", r.Method, r.URL.Path, append(r.Header.Values("A2A-Extensions"), r.Header.Values("X-A2A-Extensions")...))
		// The JSON-RPC handler of this version does not hand headers to the agent, so a middleware does.
		ctx, _ := a2asrv.WithCallContext(r.Context(), a2asrv.NewRequestMeta(r.Header))
		mux.ServeHTTP(w, r.WithContext(ctx))
	})))
}
