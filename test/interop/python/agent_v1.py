"""An echo agent made with a2a-sdk 1.x, Starlette and uvicorn, whose access log lists every request."""

import argparse
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
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
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


def card_of(base: str, versions: list[str], extensions: list[AgentExtension]) -> AgentCard:
    return AgentCard(
        name='Python echo',
        description='Says what it hears.',
        version='1.0.0',
        supported_interfaces=[
            AgentInterface(url=f'{base}{path}', protocol_binding=binding, protocol_version=version)
            for version in versions
            for path, binding in [('/a2a/jsonrpc', 'JSONRPC'), ('/a2a/rest', 'HTTP+JSON')]
        ],
        capabilities=AgentCapabilities(streaming=True, extensions=extensions),
        default_input_modes=['text/plain', 'application/json'],
        default_output_modes=['text/plain', 'application/json'],
        skills=[AgentSkill(id='echo', name='Echo', description='Does echo.', tags=['test'])],
    )


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument('--port', type=int, required=True)
    args.add_argument('--required', action='append', default=[])
    args.add_argument('--optional', action='append', default=[])
    args.add_argument('--legacy', action='store_true')
    args.add_argument('--schemas')
    options = args.parse_args()

    extensions = [AgentExtension(uri=uri, required=True) for uri in options.required]
    extensions += [AgentExtension(uri=uri) for uri in options.optional]
    card = card_of(f'http://127.0.0.1:{options.port}', ['1.0', '0.3'] if options.legacy else ['1.0'], extensions)
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card)

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
    uvicorn.run(app, host='127.0.0.1', port=options.port)


main()
