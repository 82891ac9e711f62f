"""Drives an agent with a2a-sdk 0.3.x and prints what each operation came to, one JSON object per line."""

import argparse
import asyncio
import json

from collections.abc import AsyncIterator, Awaitable
from uuid import uuid4

import httpx

from a2a.client import ClientConfig, ClientFactory
from a2a.types import (
    DataPart,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)
from pydantic import BaseModel


def message(text: str, data: dict | None = None, media_type: str = '') -> Message:
    parts = [Part(TextPart(text=text))]
    if data is not None:
        parts.append(Part(DataPart(data=data, metadata={'mimeType': media_type})))
    return Message(role=Role.user, parts=parts, message_id=str(uuid4()))


def plain(value: object) -> object:
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    if isinstance(value, BaseModel):
        return value.model_dump(mode='json', exclude_none=True)
    return value


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
    print(json.dumps({'operation': operation, 'value': plain(value)}))
    return value


async def events(stream: AsyncIterator) -> list:
    return [plain(event) async for event in stream]


async def one(stream: AsyncIterator) -> object:
    """A task comes with the update that changed it, of which a unary call has none."""
    (event,) = [event async for event in stream]
    return event[0] if isinstance(event, tuple) else event


async def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument('url')
    args.add_argument('--transport', default='JSONRPC')
    args.add_argument('--extension', action='append', default=[])
    args.add_argument('--data')
    args.add_argument('--media-type', default='application/json')
    args.add_argument('--all', action='store_true', help='every operation')
    options = args.parse_args()

    async with httpx.AsyncClient(timeout=30) as http:
        def config(streaming: bool) -> ClientConfig:
            return ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_transports=[options.transport],
                use_client_preference=True,
                extensions=options.extension,
            )

        unary = await ClientFactory.connect(options.url, config(False))
        streaming = await ClientFactory.connect(options.url, config(True))
        print(json.dumps({'operation': 'card', 'value': plain(streaming._card)}))
        if options.data is not None:
            sent = message('data', json.loads(options.data), options.media_type)
            await tell('sendData', one(unary.send_message(sent)))
            return
        await tell('message', one(unary.send_message(message('message'))))
        task = await tell('send', one(unary.send_message(message('task'))))
        data = message('data', {'a': 1, 'b': ['x', None, 1.5]}, 'application/json')
        await tell('sendData', one(unary.send_message(data)))
        await tell('stream', events(streaming.send_message(message('stream'))))
        task_id = task.id if task else 'unknown'
        await tell('get', unary.get_task(TaskQueryParams(id=task_id)))
        await tell('getUnknown', unary.get_task(TaskQueryParams(id='unknown')))
        now = MessageSendConfiguration(blocking=False)
        long = await tell('sendLong', one(unary.send_message(message('long'), configuration=now)))
        await tell('cancel', unary.cancel_task(TaskIdParams(id=long.id if long else 'unknown')))
        await tell('extendedCard', unary.get_card())
        if not options.all:
            return
        hook = PushNotificationConfig(id='hook', url='http://127.0.0.1:9/hook', token='token')
        await tell('pushCreate', unary.set_task_callback(TaskPushNotificationConfig(task_id=task_id, push_notification_config=hook)))
        wanted = GetTaskPushNotificationConfigParams(id=task_id, push_notification_config_id='hook')
        await tell('pushGet', unary.get_task_callback(wanted))
        await tell('subscribeFinished', events(streaming.resubscribe(TaskIdParams(id=task_id))))


asyncio.run(main())
