"""An agent that echoes, made with one of seven agent frameworks the way its documentation shows. No model and no network.

Arguments: FRAMEWORK --port N
"""

import argparse


def adk(port: int) -> None:
    import uvicorn

    from google.adk.a2a.utils.agent_to_a2a import to_a2a
    from google.adk.agents import BaseAgent
    from google.adk.events import Event
    from google.genai import types

    class Echo(BaseAgent):
        async def _run_async_impl(self, ctx):
            text = ''.join(part.text or '' for part in ctx.user_content.parts)
            part = types.Part(text=f'echo: {text}')
            yield Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                content=types.Content(role='model', parts=[part]),
            )

    app = to_a2a(Echo(name='echo', description='Echoes.'), host='127.0.0.1', port=port)
    uvicorn.run(app, host='127.0.0.1', port=port)


def fasta2a(port: int) -> None:
    import uvicorn

    from fasta2a.pydantic_ai import agent_to_a2a
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    agent = Agent(TestModel(custom_output_text='echo'))
    app = agent_to_a2a(agent, name='echo', description='Echoes.', url=f'http://127.0.0.1:{port}')
    uvicorn.run(app, host='127.0.0.1', port=port)


def strands(port: int) -> None:
    from strands import Agent
    from strands.models import Model
    from strands.multiagent.a2a import A2AServer

    class Echo(Model):
        def update_config(self, **_config):
            pass

        def get_config(self):
            return {}

        def structured_output(self, *_args, **_kwargs):
            raise NotImplementedError

        async def stream(self, messages, *_args, **_kwargs):
            text = messages[-1]['content'][0].get('text', '')
            yield {'messageStart': {'role': 'assistant'}}
            yield {'contentBlockStart': {'start': {}}}
            for piece in ('echo: ', text):
                yield {'contentBlockDelta': {'delta': {'text': piece}}}
            yield {'contentBlockStop': {}}
            yield {'messageStop': {'stopReason': 'end_turn'}}

    agent = Agent(name='echo', description='Echoes.', model=Echo(), callback_handler=None)
    A2AServer(agent=agent, host='127.0.0.1', port=port).serve()


def agent_framework(port: int) -> None:
    import uvicorn

    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface
    from agent_framework import (
        AgentResponse,
        AgentResponseUpdate,
        AgentSession,
        Content,
        Message,
        ResponseStream,
    )
    from agent_framework.a2a import A2AExecutor
    from starlette.applications import Starlette

    class Echo:
        id = name = 'echo'
        description = 'Echoes.'

        def run(self, messages=None, *, stream=False, **_kwargs):
            sent = messages if isinstance(messages, list) else [messages]
            text = ''.join(getattr(one, 'text', None) or str(one) for one in sent)
            content = [Content.from_text(f'echo: {text}')]

            async def updates():
                yield AgentResponseUpdate(contents=content, role='assistant', message_id='1')

            async def whole():
                return AgentResponse(messages=[Message('assistant', content)])

            return ResponseStream(updates(), finalizer=AgentResponse.from_updates) if stream else whole()

        def create_session(self, *, session_id=None):
            return AgentSession(session_id=session_id)

        def get_session(self, service_session_id, *, session_id=None):
            return AgentSession(service_session_id=service_session_id, session_id=session_id)

    # As in the docstring of A2AExecutor: the interface names no protocol version.
    card = AgentCard(
        name='echo',
        description='Echoes.',
        version='1.0.0',
        default_input_modes=['text'],
        default_output_modes=['text'],
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[AgentInterface(url=f'http://127.0.0.1:{port}/', protocol_binding='JSONRPC')],
        skills=[],
    )
    handler = DefaultRequestHandler(
        agent_executor=A2AExecutor(Echo(), stream=True), task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, '/')]
    uvicorn.run(Starlette(routes=routes), host='127.0.0.1', port=port)


def agentstack(port: int) -> None:
    from a2a.types import Message
    from agentstack_sdk.server import Server
    from agentstack_sdk.server.context import RunContext

    server = Server()

    @server.agent(name='echo')
    async def echo(input: Message, context: RunContext):
        """Echoes."""
        text = ''.join(getattr(part.root, 'text', '') for part in input.parts)
        yield f'echo: {text}'

    server.run(host='127.0.0.1', port=port, self_registration=False)


def agno(port: int) -> None:
    from agno.agent import Agent
    from agno.models.base import Model
    from agno.models.response import ModelResponse
    from agno.os import AgentOS

    class Echo(Model):
        def _answer(self):
            return ModelResponse(role='assistant', content='echo')

        def invoke(self, *_args, **_kwargs):
            return self._answer()

        async def ainvoke(self, *_args, **_kwargs):
            return self._answer()

        def invoke_stream(self, *_args, **_kwargs):
            yield self._answer()

        async def ainvoke_stream(self, *_args, **_kwargs):
            yield self._answer()

        def _parse_provider_response(self, response, **_kwargs):
            return response

        def _parse_provider_response_delta(self, response):
            return response

    agent = Agent(id='echo', name='echo', description='Echoes.', model=Echo(id='echo'), telemetry=False)
    system = AgentOS(agents=[agent], a2a_interface=True, telemetry=False)
    system.serve(app=system.get_app(), host='127.0.0.1', port=port)


def langgraph(port: int) -> None:
    from langgraph_api.cli import run_server

    run_server(host='127.0.0.1', port=port, graphs={'echo': f'{__file__}:echo_graph'}, n_jobs_per_worker=1)


def _echo_graph():
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    def echo(state):
        return {'messages': [AIMessage(content=f'echo: {state["messages"][-1].content}')]}

    graph = StateGraph(MessagesState)
    graph.add_node('echo', echo)
    graph.add_edge(START, 'echo')
    graph.add_edge('echo', END)
    return graph.compile()


if __name__ == '__main__':
    args = argparse.ArgumentParser()
    args.add_argument('framework')
    args.add_argument('--port', type=int, required=True)
    options = args.parse_args()
    {
        'google-adk': adk,
        'fasta2a': fasta2a,
        'strands-agents': strands,
        'agent-framework-a2a': agent_framework,
        'agentstack-sdk': agentstack,
        'agno': agno,
        'langgraph-api': langgraph,
    }[options.framework](options.port)
else:
    # LangGraph imports this file for its graph.
    echo_graph = _echo_graph()
