// An echo agent made with a2a-go v2. Prints each request with the lines of its extension header.
// With -grpc-port it serves gRPC too, 1.0 and with -legacy 0.3 on the same port, and prints each request message as it was read.
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
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

// report prints a call like a request over HTTP, and what protobuf made of its message.
func report(ctx context.Context, method string, request any) {
	lines := metadata.ValueFromIncomingContext(ctx, "a2a-extensions")
	fmt.Printf("POST %s %q\n", method, append(lines, metadata.ValueFromIncomingContext(ctx, "x-a2a-extensions")...))
	if message, ok := request.(proto.Message); ok {
		read, err := protojson.Marshal(message)
		if err != nil {
			read = []byte(`"unprintable"`)
		}
		fmt.Printf("READ %s\n", read)
	}
}

type reportingStream struct {
	grpc.ServerStream
	method string
}

func (s *reportingStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	if err == nil {
		report(s.Context(), s.method, message)
	}
	return err
}

func serveGRPC(port int, handler a2asrv.RequestHandler, legacy bool) {
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			report(ctx, info.FullMethod, request)
			return next(ctx, request)
		}),
		grpc.StreamInterceptor(func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return next(service, &reportingStream{ServerStream: stream, method: info.FullMethod})
		}),
	)
	grpcv1.NewHandler(handler).RegisterWith(server)
	if legacy {
		grpcv0.NewHandler(handler).RegisterWith(server)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(server.Serve(listener)) }()
}

func main() {
	var required, optional list
	flag.Var(&required, "required", "extension that the card requires")
	flag.Var(&optional, "optional", "extension that the card offers")
	checks := flag.Bool("capability-checks", false, "")
	legacy := flag.Bool("legacy", false, "speak 0.3 as well")
	port := flag.Int("port", 9001, "")
	grpcPort := flag.Int("grpc-port", 0, "serve gRPC on this port")
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
	if *grpcPort != 0 {
		address := fmt.Sprintf("127.0.0.1:%d", *grpcPort)
		card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(address, a2a.TransportProtocolGRPC))
		if *legacy {
			card.SupportedInterfaces = append(card.SupportedInterfaces,
				&a2a.AgentInterface{URL: address, ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: a2av0.Version})
		}
		card.Capabilities.PushNotifications = true
		card.Capabilities.ExtendedAgentCard = true
		store := push.NewInMemoryStore()
		options = append(options, a2asrv.WithPushNotifications(store, push.NewHTTPPushSender(nil)), a2asrv.WithExtendedAgentCard(card))
	}
	if *checks {
		options = append(options, a2asrv.WithCapabilityChecks(&card.Capabilities))
	}
	handler := a2asrv.NewHandler(&executor{}, options...)
	if *grpcPort != 0 {
		serveGRPC(*grpcPort, handler, *legacy)
	}
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
