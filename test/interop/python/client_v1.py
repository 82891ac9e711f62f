"""Drives an agent with a2a-sdk 1.x and prints what each operation came to, one JSON object per line."""

import argparse
import asyncio
import json

from collections.abc import AsyncIterator, Awaitable

import httpx

from a2a.client import (
    A2ACardResolver,
    Client,
    ClientCallContext,
    ClientConfig,
    create_client,
)
from a2a.client.auth import AuthInterceptor, InMemoryContextCredentialStore
from a2a.client.service_parameters import (
    ServiceParametersFactory,
    with_a2a_extensions,
)
from a2a.helpers.proto_helpers import new_message
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value


def request(
    text: str, data: dict | None = None, media_type: str = '', now: bool = False
) -> SendMessageRequest:
    parts = [Part(text=text)]
    if data is not None:
        part = Part(data=ParseDict(data, Value()), media_type=media_type)
        # The compatibility layer drops media_type of a data part, so it is written in the 0.3 place as well.
        part.metadata.update({'mimeType': media_type})
        parts.append(part)
    message: Message = new_message(parts, role=Role.ROLE_USER)
    return SendMessageRequest(
        message=message,
        configuration=SendMessageConfiguration(return_immediately=now),
    )


async def tell(operation: str, work: Awaitable) -> object:
    """Prints the result of an operation, or the exception as a caller would log it."""
    try:
        value = await work
    except Exception as error:
        print(json.dumps({
            'operation': operation,
            'error': f'{type(error).__name__}: {error}',
        }))
        return None
    print(json.dumps({'operation': operation, 'value': value}))
    return value


async def events(stream: AsyncIterator) -> list:
    return [MessageToDict(event) async for event in stream]


async def one(stream: AsyncIterator) -> dict:
    (event,) = await events(stream)
    return event


async def told(result: Awaitable) -> dict:
    message = await result
    return 'nothing' if message is None else MessageToDict(message)


async def rest(unary: Client, streaming: Client, task_id: str, context_id: str, context: ClientCallContext) -> None:
    """The operations that the other bindings are not asked for."""
    named = {'task_id': task_id, 'id': 'hook'}
    hook = TaskPushNotificationConfig(url='http://127.0.0.1:9/hook', token='token', **named)
    listed = ListTasksRequest(context_id=context_id)
    await tell('list', told(unary.list_tasks(listed, context=context)))
    await tell('pushCreate', told(unary.create_task_push_notification_config(hook, context=context)))
    wanted = GetTaskPushNotificationConfigRequest(**named)
    await tell('pushGet', told(unary.get_task_push_notification_config(wanted, context=context)))
    every = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    await tell('pushList', told(unary.list_task_push_notification_configs(every, context=context)))
    unwanted = DeleteTaskPushNotificationConfigRequest(**named)
    await tell('pushDelete', told(unary.delete_task_push_notification_config(unwanted, context=context)))
    await tell('pushGetDeleted', told(unary.get_task_push_notification_config(wanted, context=context)))
    finished = SubscribeToTaskRequest(id=task_id)
    await tell('subscribeFinished', events(streaming.subscribe(finished, context=context)))
    started = await tell('sendAgain', one(unary.send_message(request('long', now=True), context=context)))
    running = started['task']['id'] if started else 'unknown'
    # A subscription that begins earlier sees the change to this state.
    state = None
    while started and state != TaskState.TASK_STATE_WORKING:
        state = (await unary.get_task(GetTaskRequest(id=running), context=context)).status.state
    joined = streaming.subscribe(SubscribeToTaskRequest(id=running), context=context)

    async def subscription() -> list:
        """Events up to the end of the task, which is cancelled once the subscription has begun."""
        seen = []
        async for event in joined:
            if not seen:
                await unary.cancel_task(CancelTaskRequest(id=running), context=context)
            seen.append(MessageToDict(event))
        return seen

    await tell('subscribe', subscription())


def channel(url: str) -> object:
    """The address of the card as it is: a scheme or a path would not connect."""
    import grpc

    return grpc.aio.insecure_channel(url)


async def legacy_card(url: str) -> AgentCard:
    """The card with its 0.3 interfaces only, because the client prefers 1.0."""
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    legacy = [one for one in card.supported_interfaces if one.protocol_version == '0.3']
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(legacy)
    return card


async def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument('url')
    args.add_argument('--transport', default='JSONRPC')
    args.add_argument('--extension', action='append', default=[])
    args.add_argument('--data')
    args.add_argument('--media-type', default='application/json')
    args.add_argument('--legacy', action='store_true', help='speak 0.3')
    args.add_argument('--all', action='store_true', help='every operation')
    args.add_argument('--credential', action='append', default=[], help='scheme=value, for the AuthInterceptor of the SDK')
    options = args.parse_args()

    store = InMemoryContextCredentialStore()
    for credential in options.credential:
        scheme, _, value = credential.partition('=')
        await store.set_credentials('session', scheme, value)
    interceptors = [AuthInterceptor(store)] if options.credential else []

    def config(streaming: bool) -> ClientConfig:
        return ClientConfig(
            streaming=streaming,
            supported_protocol_bindings=[options.transport],
            use_client_preference=True,
            grpc_channel_factory=channel if options.transport == 'GRPC' else None,
        )

    context = ClientCallContext(
        service_parameters=ServiceParametersFactory.create(
            [with_a2a_extensions(options.extension)]
        ),
        state={'sessionId': 'session'},
    )
    agent = await legacy_card(options.url) if options.legacy else options.url
    async with (
        await create_client(agent, config(False), interceptors) as unary,
        await create_client(agent, config(True), interceptors) as streaming,
    ):
        card = MessageToDict(streaming._card)
        print(json.dumps({'operation': 'card', 'value': card}))
        if options.data is not None:
            sent = request('data', json.loads(options.data), options.media_type)
            await tell('sendData', one(unary.send_message(sent, context=context)))
            return
        await tell('message', one(unary.send_message(request('message'), context=context)))
        task = await tell('send', one(unary.send_message(request('task'), context=context)))
        data = request('data', {'a': 1, 'b': ['x', None, 1.5]}, 'application/json')
        await tell('sendData', one(unary.send_message(data, context=context)))
        await tell('stream', events(streaming.send_message(request('stream'), context=context)))
        task_id = task['task']['id'] if task else 'unknown'
        await tell('get', told(unary.get_task(GetTaskRequest(id=task_id), context=context)))
        await tell('getUnknown', told(unary.get_task(GetTaskRequest(id='unknown'), context=context)))
        long = await tell('sendLong', one(unary.send_message(request('long', now=True), context=context)))
        long_id = long['task']['id'] if long else 'unknown'
        await tell('cancel', told(unary.cancel_task(CancelTaskRequest(id=long_id), context=context)))
        await tell('extendedCard', told(unary.get_extended_agent_card(GetExtendedAgentCardRequest(), context=context)))
        if options.all:
            await rest(unary, streaming, task_id, task['task']['contextId'] if task else 'unknown', context)


asyncio.run(main())
