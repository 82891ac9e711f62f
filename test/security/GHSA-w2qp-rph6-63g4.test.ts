/**
 * fastify below 5.12.1 coerced a primitive root to the type of a body schema. The gateway uses no body schema of fastify, and accepts only
 * an object as root.
 */
import t from 'tap'
import { FORMS, nameOf, refusalIn, sending, target } from './kit.js'
import { sourceFiles } from './sources.js'

t.test('a body whose root is not an object is rejected', async (t) => {
  const one = await target(t)
  for (const form of FORMS) {
    for (const body of ['5', '"x"', 'true', 'null', '[]', '""', '0', '[{}]', '"{\\"message\\":{}}"', ' ', '']) {
      const answer = await one.send(sending(form, body))
      t.match(refusalIn(answer).reason, /^(?:INVALID_REQUEST|PARSE_ERROR)$/, `${nameOf(form)}, ${JSON.stringify(body)}`)
      t.equal(one.agent.received.length, 0, 'nothing arrived')
    }
  }
})

t.test('no route has a schema', async (t) => {
  for (const [file, text] of sourceFiles().filter(([file]) => /^src\/(?:call|front|server)\//.test(file))) {
    t.notOk(/schema:\s*\{\s*(?:body|headers|querystring|params)/.test(text), file)
  }
})
