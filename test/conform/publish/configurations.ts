/** The configuration files of the proxies, as their manuals describe a proxy for event streams and gRPC. */

export interface Ports { readonly http: number, readonly grpc: number, readonly agent: number, readonly admin: number }

export const nginx = ({ http, grpc, agent }: Ports, directory: string): string => `daemon off;
worker_processes 1;
user root;
pid ${directory}/nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off;
  client_max_body_size 16m;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(one => `${one}_temp_path ${directory}/${one};`).join(' ')}
  server {
    listen 127.0.0.1:${http};
    location / {
      proxy_pass http://127.0.0.1:${agent};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
  server {
    listen 127.0.0.1:${grpc} http2;
    location / {
      grpc_pass grpc://127.0.0.1:${agent};
      grpc_read_timeout 1h;
    }
  }
}
`

export const haproxy = ({ http, agent }: Ports): string => `global
  nbthread 1
defaults
  mode http
  timeout connect 3s
  timeout client 1h
  timeout server 1h
  option forwardfor
  option abortonclose
frontend calls
  bind 127.0.0.1:${http}
  use_backend grpc if { hdr_beg(content-type) application/grpc }
  default_backend http
backend http
  server agent 127.0.0.1:${agent}
backend grpc
  server agent 127.0.0.1:${agent} proto h2
`

export const caddy = ({ http, agent }: Ports): string => `{
  admin off
  auto_https off
  servers {
    protocols h1 h2c
  }
}
http://127.0.0.1:${http} {
  @grpc header Content-Type application/grpc*
  reverse_proxy @grpc h2c://127.0.0.1:${agent} {
    flush_interval -1
  }
  reverse_proxy 127.0.0.1:${agent} {
    flush_interval -1
  }
}
`

export const traefikStatic = ({ http }: Ports, directory: string): string => `entryPoints:
  calls:
    address: 127.0.0.1:${http}
providers:
  file: {filename: ${directory}/routes.yaml}
log: {level: ERROR}
global: {checkNewVersion: false, sendAnonymousUsage: false}
`

export const traefikRoutes = ({ agent }: Ports): string => `http:
  routers:
    grpc: {entryPoints: [calls], rule: "HeaderRegexp(\`Content-Type\`, \`^application/grpc\`)", service: grpc, priority: 100}
    http: {entryPoints: [calls], rule: "PathPrefix(\`/\`)", service: http, priority: 1}
  services:
    grpc: {loadBalancer: {servers: [{url: "h2c://127.0.0.1:${agent}"}], responseForwarding: {flushInterval: "-1"}}}
    http: {loadBalancer: {servers: [{url: "http://127.0.0.1:${agent}"}], responseForwarding: {flushInterval: "-1"}}}
`

const type = (name: string): string => `type.googleapis.com/envoy.${name}`
const address = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } })

export function envoy ({ http, agent, admin }: Ports): object {
  const manager = {
    '@type': type('extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'calls',
    stream_idle_timeout: '0s',
    use_remote_address: true,
    http_filters: [{ name: 'router', typed_config: { '@type': type('extensions.filters.http.router.v3.Router') } }],
    route_config: {
      virtual_hosts: [{
        name: 'agent',
        domains: ['*'],
        routes: [{ match: { prefix: '/', grpc: {} }, route: { cluster: 'grpc', timeout: '0s' } }, { match: { prefix: '/' }, route: { cluster: 'http', timeout: '0s' } }]
      }]
    }
  }
  const cluster = (name: string, options: object): object => ({
    name,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(agent) } }] }] },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': { '@type': type('extensions.upstreams.http.v3.HttpProtocolOptions'), explicit_http_config: options }
    }
  })
  return {
    admin: { address: address(admin) },
    static_resources: {
      listeners: [{ address: address(http), filter_chains: [{ filters: [{ name: 'http', typed_config: manager }] }] }],
      clusters: [cluster('http', { http_protocol_options: {} }), cluster('grpc', { http2_protocol_options: {} })]
    }
  }
}
