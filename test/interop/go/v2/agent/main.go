// An echo agent made with a2a-go v2. Prints each request with the lines of its extension header.
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

type executor struct{}

func (*executor) Execute(ctx context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := exec.Message.Parts[0].Text()
		extensions, _ := a2asrv.ExtensionsFrom(ctx)
		if text == "message" {
			message := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("echo: "+text))
			message.SetMeta("seen", strings.Join(extensions.RequestedURIs(), " "))
			yield(message, nil)
			return
		}
		if !yield(a2a.NewSubmittedTask(exec, exec.Message), nil) {
			return
		}
		if !yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateWorking, nil), nil) {
			return
		}
		if text == "long" {
			<-ctx.Done()
			return
		}
		first := a2a.NewArtifactEvent(exec, a2a.NewTextPart("echo: "))
		if !yield(first, nil) || !yield(a2a.NewArtifactUpdateEvent(exec, first.Artifact.ID, a2a.NewTextPart(text)), nil) {
			return
		}
		yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateCompleted, nil), nil)
	}
}

func (*executor) Cancel(ctx context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateCanceled, nil), nil)
	}
}

func main() {
	var required, optional list
	flag.Var(&required, "required", "extension that the card requires")
	flag.Var(&optional, "optional", "extension that the card offers")
	checks := flag.Bool("capability-checks", false, "")
	legacy := flag.Bool("legacy", false, "speak 0.3 as well")
	port := flag.Int("port", 9001, "")
	flag.Parse()

	base := fmt.Sprintf("http://127.0.0.1:%d", *port)
	card := &a2a.AgentCard{
		Name:        "Go echo",
		Description: "Says what it hears.",
		Version:     "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+"/a2a/jsonrpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+"/a2a/rest", a2a.TransportProtocolHTTPJSON),
		},
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

	options := []a2asrv.RequestHandlerOption{}
	if *checks {
		options = append(options, a2asrv.WithCapabilityChecks(&card.Capabilities))
	}
	handler := a2asrv.NewHandler(&executor{}, options...)
	mux := http.NewServeMux()
	mux.Handle("/a2a/jsonrpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/a2a/rest/", http.StripPrefix("/a2a/rest", a2asrv.NewRESTHandler(handler)))
	cardHandler := a2asrv.NewStaticAgentCardHandler(card)
	if *legacy {
		for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
			path := map[a2a.TransportProtocol]string{a2a.TransportProtocolJSONRPC: "/v0/jsonrpc", a2a.TransportProtocolHTTPJSON: "/v0/rest"}[binding]
			card.SupportedInterfaces = append(card.SupportedInterfaces, &a2a.AgentInterface{URL: base + path, ProtocolBinding: binding, ProtocolVersion: a2av0.Version})
		}
		mux.Handle("/v0/jsonrpc", a2av0.NewJSONRPCHandler(handler))
		mux.Handle("/v0/rest/", http.StripPrefix("/v0/rest", a2av0.NewRESTHandler(handler)))
		cardHandler = a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card))
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, cardHandler)

	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s %s %q\n", r.Method, r.URL.Path, append(r.Header.Values("A2A-Extensions"), r.Header.Values("X-A2A-Extensions")...))
		mux.ServeHTTP(w, r)
	})))
}
