/** Heads and bodies of gRPC calls that two readers could take for different calls. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { grpcMessage } from '../helpers/grpc-raw.js'
import type { RawCall } from '../helpers/grpc-raw.js'
import { MESSAGE } from '../helpers/http.js'
import { grpcAgent, grpcGateway, HELLO, requestOf } from './grpc-kit.js'

const SERVICE = '/lf.a2a.v1.A2AService'

t.test('heads that are rejected, each before the agent sees anything', async t => {
  const agent = await grpcAgent(t)
  const gateway = await grpcGateway(t, agent, { server: ['hosts: [agent.test]', 'publicUrl: "http://agent.test"'] })
  const host = { ':authority': 'agent.test' }
  const rows: readonly (readonly [string, Partial<RawCall>, object])[] = [
    ['another media type', { headers: { 'content-type': 'application/json' } }, { http: 415, status: null }],
    ['JSON in gRPC', { headers: { 'content-type': 'application/grpc+json' } }, { http: 415, status: null }],
    ['gRPC-Web', { headers: { 'content-type': 'application/grpc-web' } }, { http: 415, status: null }],
    ['upper case', { headers: { 'content-type': 'Application/GRPC' } }, { http: 415, status: null }],
    ['no media type', { headers: { 'content-type': undefined } }, { http: 415, status: null }],
    ['GET', { headers: { ':method': 'GET' } }, { http: 405, status: null }],
    ['PUT', { headers: { ':method': 'PUT' } }, { http: 405, status: null }],
    ['a query', { path: `${SERVICE}/SendMessage?x=1` }, { status: 12 }],
    ['an encoded slash', { path: `${SERVICE}%2fSendMessage` }, { status: 12 }],
    ['two slashes', { path: `/${SERVICE}/SendMessage` }, { status: 12 }],
    ['a slash at the end', { path: `${SERVICE}/SendMessage/` }, { status: 12 }],
    ['other letter case', { path: '/lf.a2a.v1.a2aservice/SendMessage' }, { status: 12 }],
    ['an unknown method', { path: `${SERVICE}/Unknown` }, { status: 12 }],
    ['another service', { path: '/x.Service/SendMessage' }, { status: 12 }],
    ['a method that 0.3 does not have', { path: '/a2a.v1.A2AService/ListTasks', headers: { 'a2a-version': '0.3' } }, { status: 12 }],
    ['another host', { headers: { ':authority': 'other.test' } }, { status: 12 }],
    ['Host beside :authority', { headers: { host: 'other.test' } }, { status: 3, message: /:authority/ }],
    ['two versions', { headers: { 'a2a-version': ['1.0', '0.3'] } }, { status: 3, message: /more than once/ }],
    ['the version of the other service', { headers: { 'a2a-version': '0.3' } }, { status: 9, message: /different versions/ }],
    ['an unknown version', { headers: { 'a2a-version': '7.0' } }, { status: 9 }],
    ['extensions in bytes', { headers: { 'a2a-extensions-bin': 'dXJuOng' } }, { status: 3, message: /a2a-extensions-bin/ }],
    ['bytes in text', { headers: { 'x-text': 'caf\u00e9' } }, { status: 3, message: /x-text/ }],
    ['two deadlines', { headers: { 'grpc-timeout': ['1S', '2S'] } }, { status: 3, message: /grpc-timeout/ }]
  ]
  for (const [name, call, expected] of rows) {
    const got = await gateway.client.call({ body: HELLO, ...call, headers: { ...host, ...call.headers } })
    t.match(got, expected, name)
    if (got.status !== null) t.equal(got.trailersOnly, true, name)
  }
  const { status } = await gateway.client.call({ body: HELLO, headers: { ':authority': 'x@agent.test' } })
  t.ok(status === 3 || status === null, 'user information: the gateway rejects it, or nghttp2 of Node 24 resets the stream before')
  t.equal(agent.calls.length, 0)
  t.match(await gateway.client.call({ body: HELLO, headers: host }), { status: 0 }, 'the connection still works')
  for (const authority of ['agent.test:443', 'AGENT.test', 'agent.test.']) {
    t.match(await gateway.client.call({ body: HELLO, headers: { ':authority': authority } }), { status: 0 }, authority)
  }
  t.match(await gateway.client.call({ body: HELLO, headers: { ...host, 'content-type': 'application/grpc+proto', te: undefined } }), { status: 0 })
  const te = await gateway.client.call({ body: HELLO, headers: { ...host, 'x-te': '1', 'a2a-version': undefined } })
  t.match(te, { status: 0 }, 'the service has the version')
  t.equal(agent.calls.at(-1)?.headers['a2a-version'], undefined, 'and the agent gets the header as it was')
})

t.test('bodies that are not one message', async t => {
  const agent = await grpcAgent(t)
  const { client } = await grpcGateway(t, agent, { root: ['limits: {body: 64KiB}'] })
  const rows: readonly (readonly [string, Buffer, object])[] = [
    ['none', Buffer.alloc(0), { status: 3, message: /no message/ }],
    ['half a prefix', HELLO.subarray(0, 3), { status: 3, message: /ends before/ }],
    ['half a message', HELLO.subarray(0, 9), { status: 3, message: /ends before/ }],
    ['two', Buffer.concat([HELLO, HELLO]), { status: 3, message: /more than one/ }],
    ['bytes behind it', Buffer.concat([HELLO, Buffer.from([0])]), { status: 3, message: /ends before/ }],
    ['flag 2', grpcMessage(HELLO.subarray(5), 2), { status: 3, message: /first byte/ }],
    ['longer than the limit', grpcMessage(Buffer.alloc(70_000)), { status: 8 }],
    ['4 GiB announced', grpcMessage(Buffer.alloc(10), 0, 0xffffffff), { status: 8 }],
    ['not protobuf', grpcMessage(Buffer.from([0xff, 0xff])), { status: 3 }],
    ['compressed without an encoding', grpcMessage(gzipSync(HELLO.subarray(5)), 1), { status: 12 }]
  ]
  for (const [name, body, expected] of rows) t.match(await client.call({ body }), expected, name)
  t.equal(agent.calls.length, 0)
  t.match(await client.call({ body: HELLO }), { status: 0 })
})

t.test('gzip: the gateway judges the content, and forwards the bytes as sent', async t => {
  const agent = await grpcAgent(t)
  const { client } = await grpcGateway(t, agent, { agent: ['untaggedData: reject'], root: ['limits: {body: 64KiB}'] })
  const gzip = { 'grpc-encoding': 'gzip' }
  const body = grpcMessage(gzipSync(HELLO.subarray(5)), 1)
  t.match(await client.call({ body, headers: gzip }), { status: 0 })
  t.same(Buffer.concat(agent.calls[0]?.chunks ?? []), body)
  t.equal(agent.calls[0]?.headers['grpc-encoding'], 'gzip')
  const data = requestOf({ message: { ...MESSAGE, parts: [{ data: { x: 1 } }] } })
  t.match(await client.call({ body: grpcMessage(gzipSync(data.subarray(5)), 1), headers: gzip }), { status: 3 }, 'rules read the content')
  t.match(await client.call({ body: grpcMessage(gzipSync(Buffer.alloc(10_000_000)), 1), headers: gzip }), { status: 8 }, 'a bomb')
  t.match(await client.call({ body: grpcMessage(Buffer.from('nonsense'), 1), headers: gzip }), { status: 3 })
  t.match(await client.call({ body, headers: { 'grpc-encoding': 'snappy' } }), { status: 12, headers: { 'grpc-accept-encoding': 'identity,gzip' } })
  t.match(await client.call({ body, headers: { 'grpc-encoding': 'identity' } }), { status: 12 })
  t.match(await client.call({ body: HELLO, headers: gzip }), { status: 0 }, 'the flag decides')
  t.equal(agent.calls.length, 2)
})
