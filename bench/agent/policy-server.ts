/** A policy server that permits everything: `node dist/bench/agent/policy-server.js`. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { announce } from '../processes.js'

const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
  incoming.resume().on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.end('{"decision":true}')
  })
})
server.listen(0, '127.0.0.1', () => { announce((server.address() as AddressInfo).port) })
