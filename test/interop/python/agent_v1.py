"""An echo agent made with a2a-sdk 1.x, Starlette and uvicorn, whose access log lists every request.

With --grpc-port it serves gRPC too, 1.0 and with --legacy 0.3 on the same port, and prints each request message as it was read.
"""

import argparse
import asyncio
import json

import uvicorn

from a2a.helpers.proto_helpers import (
    new_data_part,
    new_message,
    new_task_from_user_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
)
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Echo(AgentExecutor):
    """Answers "message" with a message, runs "long" until it is cancelled, else a task that echoes."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        seen = ' '.join(sorted(context.requested_extensions))
        if text == 'message':
            message = new_message([new_text_part(f'echo: {text}')])
            message.metadata.update({'seen': seen})
            await event_queue.enqueue_event(message)
            return
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if text == 'long':
            return
        await updater.add_artifact([new_text_part('echo: ')], artifact_id='echo')
        await updater.add_artifact([new_text_part(text)], artifact_id='echo', append=True, last_chunk=True)
        for part in context.message.parts:
            if part.HasField('data'):
                data = MessageToDict(part.data)
                await updater.add_artifact([new_data_part(data, media_type='application/json')], artifact_id='data')
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card_of(
    base: str, grpc_port: int | None, versions: list[str], extensions: list[AgentExtension]
) -> AgentCard:
    interfaces = [(f'{base}/a2a/jsonrpc', 'JSONRPC'), (f'{base}/a2a/rest', 'HTTP+JSON')]
    if grpc_port is not None:
        interfaces.append((f'127.0.0.1:{grpc_port}', 'GRPC'))
    return AgentCard(
        name='Python echo',
        description='Says what it hears.',
        version='1.0.0',
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for version in versions
            for url, binding in interfaces
        ],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=grpc_port is not None,
            extended_agent_card=grpc_port is not None,
            extensions=extensions,
        ),
        default_input_modes=['text/plain', 'application/json'],
        default_output_modes=['text/plain', 'application/json'],
        skills=[AgentSkill(id='echo', name='Echo', description='Does echo.', tags=['test'])],
    )


async def start_grpc(port: int, handler: DefaultRequestHandler, legacy: bool) -> object:
    """grpcio takes a second to import, so only agents that serve gRPC import it."""
    import grpc

    from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
    from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
    from a2a.server.request_handlers.grpc_handler import GrpcHandler
    from a2a.types import a2a_pb2_grpc

    class Log(grpc.aio.ServerInterceptor):
        """Prints each call like uvicorn, and what protobuf made of its message."""

        async def intercept_service(self, continuation, details):  # noqa: ANN001, ANN202
            found = await continuation(details)
            if found is None:
                return None

            def deserialize(data: bytes) -> object:
                request = found.request_deserializer(data)
                try:
                    read = MessageToDict(request)
                except Exception as error:  # noqa: BLE001
                    read = f'{type(error).__name__}'
                print('READ', json.dumps(read))
                return request

            print(f'POST {details.method}')
            make = (
                grpc.unary_stream_rpc_method_handler
                if found.response_streaming
                else grpc.unary_unary_rpc_method_handler
            )
            return make(
                found.unary_stream if found.response_streaming else found.unary_unary,
                request_deserializer=deserialize,
                response_serializer=found.response_serializer,
            )

    server = grpc.aio.server(interceptors=[Log()])
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    if legacy:
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), server)
    server.add_insecure_port(f'127.0.0.1:{port}')
    await server.start()
    return server


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument('--port', type=int, required=True)
    args.add_argument('--required', action='append', default=[])
    args.add_argument('--optional', action='append', default=[])
    args.add_argument('--legacy', action='store_true')
    args.add_argument('--schemas')
    args.add_argument('--grpc-port', type=int)
    options = args.parse_args()

    extensions = [AgentExtension(uri=uri, required=True) for uri in options.required]
    extensions += [AgentExtension(uri=uri) for uri in options.optional]
    versions = ['1.0', '0.3'] if options.legacy else ['1.0']
    card = card_of(f'http://127.0.0.1:{options.port}', options.grpc_port, versions, extensions)
    handler = DefaultRequestHandler(
        agent_executor=Echo(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=InMemoryPushNotificationConfigStore(),
        extended_agent_card=card,
    )

    card_routes = create_agent_card_routes(card)
    if options.schemas:
        # The SDK's card knows no further root keys.
        body = {**agent_card_to_dict(card), 'schemas': json.loads(options.schemas)}

        async def serve_card(_request: Request) -> JSONResponse:
            return JSONResponse(body)

        card_routes = [Route('/.well-known/agent-card.json', serve_card)]
    app = Starlette(routes=[
        *card_routes,
        *create_jsonrpc_routes(handler, '/a2a/jsonrpc', enable_v0_3_compat=options.legacy),
        *create_rest_routes(handler, enable_v0_3_compat=options.legacy, path_prefix='/a2a/rest'),
    ])
    http = uvicorn.Server(uvicorn.Config(app, host='127.0.0.1', port=options.port))

    async def serve() -> None:
        # The server stops when nothing refers to it any more.
        grpc_server = None
        if options.grpc_port is not None:
            grpc_server = await start_grpc(options.grpc_port, handler, options.legacy)
        await http.serve()
        del grpc_server

    asyncio.run(serve())


main()
