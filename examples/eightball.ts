import { randomUUID } from 'node:crypto'
import { AgentCard, Role } from '@a2a-js/sdk'
import type { Message } from '@a2a-js/sdk'
import { AgentEvent } from '@a2a-js/sdk/server'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import { agentCardHandler } from '@a2a-js/sdk/server/express'
import { interfaces, mountAgent, serve } from './serve.js'
import type { RunningAgent, StartOptions } from './serve.js'

export const FORTUNE_CONSENT = 'https://example.com/ext/fortune-consent/v1'
export const KONAMI_CODE = 'https://example.com/ext/konami-code/v1'

const FORTUNES = [
  'It is certain.', 'Without a doubt.', 'Yes, definitely.', 'Signs point to yes.',
  'Reply hazy, try again.', 'Ask again later.', 'Better not tell you now.', 'Concentrate and ask again.',
  'Do not count on it.', 'My sources say no.', 'Outlook not so good.', 'Very doubtful.'
] as const

/** Returns the same fortune for the same question. */
export function fortune (question: string): string {
  let hash = 0
  for (const char of question.trim().toLowerCase()) hash = (hash * 31 + char.codePointAt(0)!) % 1_000_003
  return FORTUNES[hash % FORTUNES.length]!
}

export function cheat (code: string): string {
  return `Cheat "${code}" accepted: that's a bingo!`
}

export function eightballCard (url: string): AgentCard {
  return AgentCard.fromJSON({
    name: 'Magic 8-ball',
    description: 'An agent that can tell your future... maybe.',
    version: '0.1.0',
    supportedInterfaces: interfaces(url),
    capabilities: {
      streaming: true,
      extensions: [
        { uri: FORTUNE_CONSENT, description: 'The caller accepts that fortunes are not advice', required: true },
        {
          uri: KONAMI_CODE,
          description: 'Provide cheat codes to unlock new fortunes',
          required: false,
          params: { hints: ['When your sims need extra cash fast'] }
        }
      ]
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{
      id: 'fortune',
      name: 'Tell a fortune',
      description: 'Answers any yes-or-no question.',
      tags: ['fun'],
      examples: ['Oh magic 8-ball, will it rain today?']
    }]
  })
}

class EightballExecutor implements AgentExecutor {
  async execute ({ request, userMessage, contextId, context }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    for (const uri of context.requestedExtensions ?? []) context.addActivatedExtension(uri)

    const question = textOf(userMessage)
    const code: unknown = request.metadata?.[`${KONAMI_CODE}/code`]
    const cheating = context.requestedExtensions?.includes(KONAMI_CODE) === true && typeof code === 'string'

    bus.publish(AgentEvent.message({
      messageId: randomUUID(),
      contextId,
      taskId: '',
      role: Role.ROLE_AGENT,
      parts: [{
        content: { $case: 'text', value: cheating ? cheat(code) : fortune(question) },
        mediaType: 'text/plain',
        filename: '',
        metadata: undefined
      }],
      extensions: cheating ? [KONAMI_CODE] : [],
      referenceTaskIds: [],
      metadata: undefined
    }))
    bus.finished()
  }

  async cancelTask (): Promise<void> {}
}

function textOf (message: Message): string {
  return message.parts.flatMap((part) => part.content?.$case === 'text' ? [part.content.value] : []).join('\n')
}

export async function startEightball (options: StartOptions): Promise<RunningAgent> {
  return serve(options, (app, url) => {
    const card = eightballCard(url)
    app.use('/.well-known/agent-card.json', agentCardHandler({
      agentCardProvider: async () => card,
      legacyCompat: { enabled: true }
    }))
    mountAgent(app, card, new EightballExecutor())
  })
}
