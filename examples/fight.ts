import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import type { Message, Part } from '@a2a-js/sdk'
import { AgentEvent } from '@a2a-js/sdk/server'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import { interfaces, mountAgent, serve } from './serve.js'
import type { RunningAgent, StartOptions } from './serve.js'

export const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
export const COMPARISON = 'application/json;schema=fightComparison'
export const RESPONSE = 'application/json;schema=fightResponse'

/**
 * The card as the agent serves it, for both protocol generations at once. The card is written by hand because `schemas` is a root key that
 * the SDK's card type does not know: the SDK's 0.3 card handler would drop this key.
 */
export function fightCard (url: string): Record<string, unknown> {
  const supportedInterfaces = interfaces(url)
  return {
    name: 'Fight comparison',
    description: 'Determines who would win in a hypothetical fight.',
    version: '0.1.0',
    protocolVersion: '0.3.0',
    url: `${url}/a2a/jsonrpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: `${url}/a2a/rest`, transport: 'HTTP+JSON' }],
    supportedInterfaces,
    capabilities: {
      streaming: true,
      extensions: [{
        uri: OBJECT_SCHEMAS,
        description: 'Allow more deterministic invoking of tasks by providing JSON input corresponding to a provided schema',
        required: false
      }]
    },
    defaultInputModes: ['text/plain', COMPARISON],
    defaultOutputModes: ['text/plain', RESPONSE],
    schemas: {
      fightComparison: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          a: { description: 'The name of the first contestant', type: 'string' },
          b: { description: 'The name of the second contestant', type: 'string' }
        },
        required: ['a', 'b'],
        additionalProperties: false
      },
      fightResponse: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          winner: { description: 'The name of the winner of the fight', type: 'string' },
          probability: { description: 'The probability of the winner winning the fight', type: 'number', minimum: 0, maximum: 1 },
          explanation: { description: 'A freeform field justifying the reason for choosing the winner', type: 'string' }
        },
        required: ['winner', 'probability', 'explanation'],
        additionalProperties: false
      }
    },
    skills: [
      {
        id: 'fight-comparison',
        name: 'Fight comparison',
        description: 'Names the winner. Takes a data payload with two fields, "a" and "b", or text such as "Lion vs Tiger".',
        inputModes: ['text/plain', COMPARISON],
        outputModes: ['text/plain', RESPONSE],
        examples: ['{"a": "Superman", "b": "Batman"}', 'Lion vs Tiger'],
        tags: ['comparison', 'fight', 'prediction']
      },
      {
        id: 'fight-commentary',
        name: 'Fight commentary',
        description: 'Comments the fight round by round, then names the winner. Say "commentary" and use a streaming call.',
        inputModes: ['text/plain', COMPARISON],
        outputModes: ['text/plain', RESPONSE],
        examples: ['commentary: Lion vs Tiger'],
        tags: ['comparison', 'fight', 'streaming']
      }
    ]
  }
}

interface Fight { readonly a: string, readonly b: string }

/** Returns the same outcome for the same fight. */
export function outcome ({ a, b }: Fight) {
  const score = (name: string): number => [...`${name}`].reduce((sum, char) => (sum * 31 + char.codePointAt(0)!) % 997, 7)
  const winner = score(a) >= score(b) ? a : b
  const probability = Math.round(50 + Math.abs(score(a) - score(b)) / 997 * 50) / 100
  return { winner, probability, explanation: `${winner} trained harder.` }
}

class FightExecutor implements AgentExecutor {
  readonly #cancelled = new Set<string>()

  async execute ({ userMessage, taskId, contextId }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const fight = fightOf(userMessage)
    if (fight === null) {
      bus.publish(AgentEvent.message(agentMessage('Who fights? Send "Lion vs Tiger", or the data {"a": "Lion", "b": "Tiger"}.', contextId)))
      bus.finished()
      return
    }

    bus.publish(AgentEvent.task({
      id: taskId,
      contextId,
      status: status(TaskState.TASK_STATE_SUBMITTED),
      artifacts: [],
      history: [userMessage],
      metadata: { title: `Who would win in a fight between ${fight.a} and ${fight.b}?` }
    }))
    const update = (state: TaskState): void => {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined }))
    }
    const artifact = (artifactId: string, parts: Part[], append: boolean, lastChunk: boolean): void => {
      bus.publish(AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: { artifactId, name: artifactId, description: '', parts, metadata: undefined, extensions: [] },
        append,
        lastChunk,
        metadata: undefined
      }))
    }

    update(TaskState.TASK_STATE_WORKING)
    if (/commentary/i.test(textOf(userMessage))) {
      const rounds = [`${fight.a} enters the ring.`, `${fight.b} strikes first.`, `${fight.a} strikes back.`]
      for (const [index, round] of rounds.entries()) {
        await sleep(30)
        if (this.#cancelled.delete(taskId)) return
        artifact('fight-commentary', [textPart(round)], index > 0, index === rounds.length - 1)
      }
    }
    artifact('fight-result', [dataPart(outcome(fight))], false, true)
    update(TaskState.TASK_STATE_COMPLETED)
    bus.finished()
  }

  async cancelTask (taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.#cancelled.add(taskId)
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status: status(TaskState.TASK_STATE_CANCELED), metadata: undefined }))
    bus.finished()
  }
}

/** The fight that the message describes: the first data part, otherwise the text. The function does not validate `a` and `b`. */
function fightOf (message: Message): Fight | null {
  const data = message.parts.find((part) => part.content?.$case === 'data')
  if (data?.content?.$case === 'data') return data.content.value as Fight
  const match = /(?:commentary:?\s*)?(.+?)\s+vs\.?\s+(.+)/i.exec(textOf(message))
  return match === null ? null : { a: match[1]!, b: match[2]!.trim() }
}

function textOf (message: Message): string {
  return message.parts.flatMap((part) => part.content?.$case === 'text' ? [part.content.value] : []).join('\n')
}

function textPart (text: string): Part {
  return { content: { $case: 'text', value: text }, mediaType: 'text/plain', filename: '', metadata: undefined }
}

/** A data part with two tags: 1.0 clients read `mediaType`, and 0.3 clients read `metadata.mimeType`. */
function dataPart (data: object): Part {
  return { content: { $case: 'data', value: data }, mediaType: RESPONSE, filename: '', metadata: { mimeType: RESPONSE } }
}

function status (state: TaskState) {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function agentMessage (text: string, contextId: string): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId: '',
    role: Role.ROLE_AGENT,
    parts: [textPart(text)],
    extensions: [],
    referenceTaskIds: [],
    metadata: undefined
  }
}

export async function startFight (options: StartOptions): Promise<RunningAgent> {
  return serve(options, (app, url) => {
    const card = fightCard(url)
    app.get('/.well-known/agent-card.json', (_req, res) => { res.json(card) })
    mountAgent(app, AgentCard.fromJSON(card), new FightExecutor())
  })
}
