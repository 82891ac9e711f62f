/**
 * Runs one of the example agents as a process of its own: `node dist/examples/agent.js eightball`. The environment variables are HOST, PORT
 * and URL (for the card).
 */
import { startEightball } from './eightball.js'
import { startFight } from './fight.js'

const AGENTS = { eightball: startEightball, fight: startFight }

const { HOST = '127.0.0.1', PORT = '9999', URL: url } = process.env
const name = process.argv[2] ?? ''
if (!Object.hasOwn(AGENTS, name)) {
  console.error(`Which agent? One of: ${Object.keys(AGENTS).join(', ')}`)
  process.exit(1)
}
const agent = await AGENTS[name as keyof typeof AGENTS]({ host: HOST, port: Number(PORT), ...(url === undefined ? {} : { url }) }).catch(
  (error: NodeJS.ErrnoException) => {
    console.error(error.code === 'EADDRINUSE' ? `Port ${PORT} is already in use. Choose another one with PORT.` : error.message)
    process.exit(1)
  }
)
console.log(`${name} listens on ${HOST}:${PORT}; its card names ${agent.url}`)
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    agent.close().then(
      () => {
        process.exit(0)
      },
      () => {
        process.exit(1)
      }
    )
  })
}
