/** Proxies that are servers of their own, if Debian's packages are installed. Each has one worker and no log. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/helpers/http.js'
import { start, until, which } from '../processes.js'
import { NJS } from './njs.js'
import type { Party, PartyKind, Place } from './party.js'
import { partyOf } from './party.js'

const NJS_MODULES = ['/usr/lib/nginx/modules/ngx_http_js_module.so', '/usr/share/nginx/modules/ngx_http_js_module.so']

export const NGINX: PartyKind = {
  name: 'nginx',
  title: 'nginx, forwarding only',
  version: nginxVersion,
  start: place => startNginx('nginx', place, null)
}

export const NGINX_NJS: PartyKind = {
  name: 'nginx-njs',
  title: 'nginx with the same checks of requests written by hand in njs; no metrics, no checks of responses',
  version: () => njsModule() === null ? null : nginxVersion(),
  start: place => startNginx('nginx-njs', place, njsModule())
}

export const HAPROXY: PartyKind = {
  name: 'haproxy',
  title: 'haproxy, forwarding only',
  version: () => versionOutput(which('haproxy'), '-v', /version (\S+)/),
  start: async place => await startServer('haproxy', which('haproxy') as string, place, (port, directory) => {
    const file = join(directory, 'haproxy.cfg')
    writeFileSync(file, `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  maxconn 4096
  timeout connect 3s
  timeout client 120s
  timeout server 120s
  http-reuse always
  option abortonclose
listen bench
  bind 127.0.0.1:${port} backlog 4096
  server agent ${new URL(place.agent).host}
`)
    return ['-db', '-f', file]
  })
}

function nginxVersion (): string | null {
  return versionOutput(which('nginx'), '-v', /nginx\/(\S+)/)
}

function njsModule (): string | null {
  return NJS_MODULES.find(file => existsSync(file)) ?? null
}

/** @param program path of the program; null: not installed */
export function versionOutput (program: string | null, flag: string, version: RegExp): string | null {
  if (program === null) return null
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: 'utf8' })
  return version.exec(`${stdout}${stderr}`)?.[1] ?? 'of unknown version'
}

/** Starts nginx configured for speed: bodies stay in memory, and connections to the agent are kept alive. */
async function startNginx (name: string, place: Place, njs: string | null): Promise<Party> {
  return await startServer(name, which('nginx') as string, place, (port, directory) => {
    const file = join(directory, 'nginx.conf')
    if (njs !== null) writeFileSync(join(directory, 'check.js'), NJS)
    writeFileSync(
      file,
      `daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${directory}/nginx.pid;
error_log stderr crit;
${njs === null ? '' : `load_module ${njs};`}
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_max_body_size 16m;
  client_body_buffer_size 2m;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(one => `${one}_temp_path ${directory}/${one};`).join(' ')}
  upstream agent { server ${new URL(place.agent).host}; keepalive 4096; keepalive_requests 100000000; }
  ${njs === null ? '' : `js_path ${directory}; js_import check from check.js;`}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    ${njs === null ? 'location / { proxy_pass http://agent; }' : 'location / { js_content check.request; } location @agent { proxy_pass http://agent; }'}
  }
}
`
    )
    return ['-p', directory, '-c', file, '-e', 'stderr']
  })
}

/** @param configure writes the configuration. @returns the arguments of the program */
export async function startServer (
  name: string,
  program: string,
  place: Place,
  configure: (port: number, directory: string) => string[]
): Promise<Party> {
  const port = await freePort()
  const directory = join(place.directory, name)
  mkdirSync(directory)
  const child = start(program, configure(port, directory), { cores: place.cores?.proxy })
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${name} stopped with exit code ${child.exitCode}`)
    return await fetch(`${url}/stats`).then(() => true, () => false)
  }, `${name} responds`, 10_000)
  return partyOf(name, url, child)
}
