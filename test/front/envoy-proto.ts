/** The messages of Envoy that the gateway reads and writes, from its published protos, with the fields that a test looks at. */
import protobuf from 'protobufjs'

const SOURCE = `syntax = "proto3";
package envoy;
message HeaderValue { string key = 1; string value = 2; bytes raw_value = 3; }
message HeaderMap { repeated HeaderValue headers = 1; }
message BoolValue { bool value = 1; }
message HeaderValueOption { HeaderValue header = 1; BoolValue append = 2; int32 append_action = 3; }
message HttpStatus { int32 code = 1; }
message Status { int32 code = 1; string message = 2; }

message CheckRequest { AttributeContext attributes = 1; }
message AttributeContext { Peer source = 1; Request request = 4; map<string, string> context_extensions = 10; Metadata metadata_context = 11; Metadata route_metadata_context = 13; }
message Metadata { map<string, Struct> filter_metadata = 1; }
message Peer { string principal = 4; }
message Request { HttpRequest http = 2; }
message HttpRequest {
  string id = 1; string method = 2; map<string, string> headers = 3; string path = 4; string host = 5; string scheme = 6;
  int64 size = 9; string protocol = 10; string body = 11; bytes raw_body = 12; HeaderMap header_map = 13;
}
message CheckResponse { Status status = 1; oneof http_response { DeniedHttpResponse denied_response = 2; OkHttpResponse ok_response = 3; } }
message DeniedHttpResponse { HttpStatus status = 1; repeated HeaderValueOption headers = 2; string body = 3; }
message OkHttpResponse { repeated HeaderValueOption headers = 2; repeated string headers_to_remove = 5; }

message ProcessingRequest {
  oneof request {
    HttpHeaders request_headers = 2; HttpHeaders response_headers = 3; HttpBody request_body = 4; HttpBody response_body = 5;
    HttpTrailers request_trailers = 6; HttpTrailers response_trailers = 7;
  }
  Metadata metadata_context = 8; map<string, Struct> attributes = 9; bool observability_mode = 10; ProtocolConfiguration protocol_config = 11;
}
message Struct { map<string, Value> fields = 1; }
message Value {
  oneof kind { int32 null_value = 1; double number_value = 2; string string_value = 3; bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; }
}
message ListValue { repeated Value values = 1; }
message ProtocolConfiguration { int32 request_body_mode = 1; int32 response_body_mode = 2; bool send_body_without_waiting_for_header_response = 3; }
message HttpHeaders { HeaderMap headers = 1; bool end_of_stream = 3; }
message HttpBody { bytes body = 1; bool end_of_stream = 2; }
message HttpTrailers { HeaderMap trailers = 1; }
message ProcessingResponse {
  oneof response {
    CommonReply request_headers = 1; CommonReply response_headers = 2; CommonReply request_body = 3; CommonReply response_body = 4;
    TrailersReply request_trailers = 5; TrailersReply response_trailers = 6; ImmediateResponse immediate_response = 7;
  }
  ProcessingMode mode_override = 9;
}
message ProcessingMode {
  int32 request_header_mode = 1; int32 response_header_mode = 2; int32 request_body_mode = 3; int32 response_body_mode = 4;
  int32 request_trailer_mode = 5; int32 response_trailer_mode = 6;
}
message CommonReply { CommonResponse response = 1; }
message CommonResponse { int32 status = 1; HeaderMutation header_mutation = 2; BodyMutation body_mutation = 3; }
message HeaderMutation { repeated HeaderValueOption set_headers = 1; repeated string remove_headers = 2; }
message BodyMutation { oneof mutation { bytes body = 1; bool clear_body = 2; StreamedBodyResponse streamed_response = 3; } }
message StreamedBodyResponse { bytes body = 1; bool end_of_stream = 2; }
message TrailersReply { HeaderMutation header_mutation = 1; }
message ImmediateResponse { HttpStatus status = 1; HeaderMutation headers = 2; string body = 3; GrpcStatus grpc_status = 4; string details = 5; }
message GrpcStatus { uint32 status = 1; }
`

const root = protobuf.parse(SOURCE, { keepCase: false }).root

/** @param name of a message */
export function codec (name: string): { readonly encode: (value: object) => Buffer, readonly decode: (bytes: Buffer) => object } {
  const type = root.lookupType(`envoy.${name}`)
  return {
    encode: value => Buffer.from(type.encode(type.create(value)).finish()),
    decode: bytes => type.toObject(type.decode(bytes), { bytes: Buffer })
  }
}
