"""An echo agent made with a2a-sdk 0.3.x, FastAPI and uvicorn, whose access log lists every request."""

import argparse
import json

import uvicorn

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AFastAPIApplication, A2ARESTFastAPIApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    DataPart,
    Part,
    TextPart,
)
from a2a.utils import get_data_parts, new_agent_text_message, new_task
from fastapi import FastAPI


class Echo(AgentExecutor):
    """Answers "message" with a message, runs "long" until it is cancelled, else a task that echoes."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        seen = ' '.join(sorted(context.requested_extensions))
        for uri in context.requested_extensions:
            context.add_activated_extension(uri)
        if text == 'message':
            message = new_agent_text_message(f'echo: {text}')
            message.metadata = {'seen': seen}
            await event_queue.enqueue_event(message)
            return
        task = context.current_task or new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if text == 'long':
            return
        await updater.add_artifact([Part(TextPart(text='echo: '))], artifact_id='echo')
        await updater.add_artifact([Part(TextPart(text=text))], artifact_id='echo', append=True, last_chunk=True)
        for data in get_data_parts(context.message.parts):
            await updater.add_artifact([Part(DataPart(data=data))], artifact_id='data')
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument('--port', type=int, required=True)
    args.add_argument('--required', action='append', default=[])
    args.add_argument('--optional', action='append', default=[])
    args.add_argument('--schemas')
    options = args.parse_args()

    base = f'http://127.0.0.1:{options.port}'
    extensions = [AgentExtension(uri=uri, required=True) for uri in options.required]
    extensions += [AgentExtension(uri=uri) for uri in options.optional]
    card = AgentCard(
        name='Python echo',
        description='Says what it hears.',
        version='1.0.0',
        url=f'{base}/a2a/jsonrpc',
        preferred_transport='JSONRPC',
        additional_interfaces=[
            AgentInterface(url=f'{base}/a2a/jsonrpc', transport='JSONRPC'),
            AgentInterface(url=f'{base}/a2a/rest', transport='HTTP+JSON'),
        ],
        capabilities=AgentCapabilities(streaming=True, extensions=extensions),
        default_input_modes=['text/plain', 'application/json'],
        default_output_modes=['text/plain', 'application/json'],
        skills=[AgentSkill(id='echo', name='Echo', description='Does echo.', tags=['test'])],
    )
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore())

    app = FastAPI()
    if options.schemas:
        # The SDK's card knows no further root keys.
        body = {**card.model_dump(exclude_none=True, by_alias=True), 'schemas': json.loads(options.schemas)}
        app.get('/.well-known/agent-card.json')(lambda: body)
    A2AFastAPIApplication(agent_card=card, http_handler=handler).add_routes_to_app(app, rpc_url='/a2a/jsonrpc')
    app.mount('/a2a/rest', A2ARESTFastAPIApplication(agent_card=card, http_handler=handler).build())
    uvicorn.run(app, host='127.0.0.1', port=options.port)


main()
