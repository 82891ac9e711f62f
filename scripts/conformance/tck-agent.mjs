/**
 * The agent for the test kit of 1.0: the official JavaScript SDK with the behaviours that the kit's scenarios ask for, by the prefix of
 * the message id. Arguments: the port of the HTTP bindings, the port of gRPC, and the URIs of extensions that the agent requires.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import express from 'express'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc'

const [port, grpcPort] = process.argv.slice(2, 4).map(Number)
const required = process.argv.slice(4)
const url = `http://127.0.0.1:${port}`

const part = ($case, value, more = {}) => ({ content: { $case, value }, mediaType: '', filename: '', metadata: undefined, ...more })
const text = value => part('text', value)
const FILE = { mediaType: 'text/plain', filename: 'output.txt' }
const file = part('raw', Buffer.from('tck'), FILE)

/** What a task with this prefix of the message id does: `work`, `done`, artifacts, seconds to wait. The first match counts. */
const BEHAVIOURS = [
  ['tck-stream-artifact-chunked', ['work', { parts: [text('chunk-1 ')], append: true }, { parts: [text('chunk-2')], append: true, lastChunk: true }, 'done']],
  ['test-resubscribe-message-id', ['work', 4, 'done']],
  ['tck-stream-artifact-text', ['work', { parts: [text('Streamed text content')] }, 'done']],
  ['tck-stream-artifact-file', ['work', { parts: [file] }, 'done']],
  ['tck-stream-ordering-001', ['work', { parts: [text('Ordered output')] }, 'done']],
  ['tck-artifact-file-url', [{ parts: [part('url', 'https://example.com/output.txt', FILE)] }, 'done']],
  ['tck-input-required', ['ask']],
  ['tck-complete-task', ['done: Hello from TCK']],
  ['tck-artifact-text', [{ parts: [text('Generated text content')] }, 'done']],
  ['tck-artifact-file', [{ parts: [file] }, 'done']],
  ['tck-artifact-data', [{ parts: [part('data', { key: 'value', count: 42 })] }, 'done']],
  ['tck-reject-task', ['reject']],
  ['tck-stream-001', ['work', { parts: [text('Stream hello from TCK')] }, 'done']],
  ['tck-stream-002', ['done']],
  ['tck-stream-003', ['work', { parts: [text('Stream task lifecycle')] }, 'done']],
  ['', ['done: no scenario has this prefix of the message id']]
]
const STATES = {
  work: TaskState.TASK_STATE_WORKING,
  done: TaskState.TASK_STATE_COMPLETED,
  ask: TaskState.TASK_STATE_INPUT_REQUIRED,
  reject: TaskState.TASK_STATE_REJECTED
}

const contexts = new Map()
const executor = {
  async execute ({ userMessage, taskId, contextId, task }, bus) {
    const { messageId } = userMessage
    const message = (words, ofTask) => ({
      messageId: randomUUID(),
      contextId,
      taskId: ofTask ? taskId : '',
      role: Role.ROLE_AGENT,
      parts: [text(words)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: []
    })
    const status = (state, words) => ({
      state,
      message: words === undefined ? undefined : message(words, true),
      timestamp: new Date().toISOString()
    })
    if (messageId.startsWith('tck-message-response')) {
      bus.publish(AgentEvent.message(message('Direct message response', false)))
      return bus.finished()
    }
    contexts.set(taskId, contextId)
    if (task === undefined) {
      const submitted = status(TaskState.TASK_STATE_SUBMITTED)
      bus.publish(AgentEvent.task({ id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage], metadata: undefined }))
    }
    const artifactId = randomUUID()
    for (const step of BEHAVIOURS.find(([prefix]) => messageId.startsWith(prefix))[1]) {
      if (typeof step === 'number') await sleep(step * 1_000)
      else if (typeof step === 'object') {
        const { parts, append = false, lastChunk = false } = step
        const artifact = { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] }
        bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }))
      } else {
        const [name, words] = step.split(': ')
        bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(STATES[name], words), metadata: undefined }))
      }
    }
    bus.finished()
  },
  async cancelTask (taskId, bus) {
    const status = { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() }
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: contexts.get(taskId) ?? '', status, metadata: undefined }))
    bus.finished()
  }
}

const card = AgentCard.fromJSON({
  name: 'Agent for the test kit',
  description: 'Does what the scenarios of the test kit ask for.',
  version: '1.0.0',
  provider: { organization: 'A2A', url: 'https://a2a-protocol.org' },
  supportedInterfaces: [
    { url: `${url}/a2a/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    { url: `${url}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
    { url: `127.0.0.1:${grpcPort}`, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: '' }
  ],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extendedAgentCard: true,
    extensions: required.map(uri => ({ uri, required: true }))
  },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'tck', name: 'TCK', description: 'Does what the scenarios of the test kit ask for.', tags: ['tck'] }]
})
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor, undefined, undefined, undefined, card)
const handlers = { requestHandler, userBuilder: UserBuilder.noAuthentication }
const app = express()
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
app.use('/a2a/jsonrpc', jsonRpcHandler(handlers))
app.use('/a2a/rest', restHandler(handlers))

const grpc = new Server()
grpc.addService(A2AService, grpcService(handlers))
// The card is what the test kit waits for, so it is served last.
grpc.bindAsync(`127.0.0.1:${grpcPort}`, ServerCredentials.createInsecure(), error => {
  if (error !== null) throw error
  app.listen(port, '127.0.0.1')
})
