/** A collector of traces that accepts all traces and stores nothing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { announce } from './processes.js'

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => { response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end() })
})
server.listen(0, '127.0.0.1', () => { announce((server.address() as AddressInfo).port) })
