/**
 * The profile "restricted" of the Pod Security Standards (https://kubernetes.io/docs/concepts/security/pod-security-standards/), control by
 * control.
 */
import type { Tree } from './kubernetes.js'

const VOLUMES = new Set(['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected', 'secret'])
const SYSCTLS = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes'
])
const SELINUX_TYPES = new Set([undefined, '', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'])
const SECCOMP = new Set(['RuntimeDefault', 'Localhost'])

/** @returns each control that a Pod does not meet, in words */
export function notRestricted (pod: Tree): string[] {
  const own = pod.securityContext ?? {}
  const problems: string[] = []
  const must = (met: boolean, what: string): void => { if (!met) problems.push(what) }
  for (const shared of ['hostNetwork', 'hostPID', 'hostIPC']) must(pod[shared] !== true, `${shared} must not be true`)
  must(own.windowsOptions?.hostProcess !== true, 'hostProcess must not be true')
  for (const { name } of own.sysctls ?? []) must(SYSCTLS.has(name), `sysctl ${String(name)} is not a safe one`)
  for (const { name, ...source } of pod.volumes ?? []) {
    must(
      Object.keys(source).every(type => VOLUMES.has(type)),
      `volume ${String(name)} is of a type that is not allowed`
    )
  }
  for (const container of [...pod.initContainers ?? [], ...pod.containers ?? [], ...pod.ephemeralContainers ?? []]) {
    const context = container.securityContext ?? {}
    const called = (what: string): string => `container ${String(container.name)}: ${what}`
    must(context.privileged !== true, called('privileged must not be true'))
    must(context.windowsOptions?.hostProcess !== true, called('hostProcess must not be true'))
    must(context.allowPrivilegeEscalation === false, called('allowPrivilegeEscalation must be false'))
    must((context.runAsNonRoot ?? own.runAsNonRoot) === true, called('runAsNonRoot must be true'))
    must((context.runAsUser ?? own.runAsUser) !== 0, called('runAsUser must not be 0'))
    must(SECCOMP.has((context.seccompProfile ?? own.seccompProfile)?.type), called('seccompProfile must be RuntimeDefault or Localhost'))
    must(
      ['RuntimeDefault', 'Localhost', undefined].includes((context.appArmorProfile ?? own.appArmorProfile)?.type),
      called('appArmorProfile must be RuntimeDefault or Localhost')
    )
    must((context.capabilities?.drop ?? []).includes('ALL'), called('capabilities must drop ALL'))
    must(
      (context.capabilities?.add ?? []).every((one: string) => one === 'NET_BIND_SERVICE'),
      called('capabilities may add NET_BIND_SERVICE only')
    )
    must([undefined, 'Default'].includes(context.procMount), called('procMount must be Default'))
    for (const port of container.ports ?? []) must((port.hostPort ?? 0) === 0, called('hostPort must not be set'))
    for (const probe of [
      container.livenessProbe,
      container.readinessProbe,
      container.startupProbe,
      container.lifecycle?.postStart,
      container.lifecycle?.preStop
    ]) {
      must((probe?.httpGet?.host ?? probe?.tcpSocket?.host ?? '') === '', called('probes and hooks must not name a host'))
    }
    const selinux = context.seLinuxOptions ?? own.seLinuxOptions ?? {}
    must(
      SELINUX_TYPES.has(selinux.type) && (selinux.user ?? '') === '' && (selinux.role ?? '') === '',
      called('seLinuxOptions must not change user, role or type')
    )
  }
  return problems
}
