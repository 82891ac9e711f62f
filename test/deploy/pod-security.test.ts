import t from 'tap'
import type { Tree } from '../helpers/kubernetes.js'
import { notRestricted } from '../helpers/pod-security.js'

const container = { name: 'a', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }
const pod = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [container],
  volumes: [{ name: 'v', configMap: { name: 'x' } }]
}
const with_ = (context: Tree, more: Tree = {}): Tree => ({
  ...pod,
  containers: [{ ...container, ...more, securityContext: { ...container.securityContext, ...context } }]
})

t.test('a Pod of the restricted profile is accepted, and each violation is found', async t => {
  t.same(notRestricted(pod), [])
  const steps: [Tree, RegExp][] = [
    [{ ...pod, hostNetwork: true }, /hostNetwork/],
    [{ ...pod, hostPID: true }, /hostPID/],
    [{ ...pod, volumes: [{ name: 'v', hostPath: { path: '/' } }] }, /volume v/],
    [{ ...pod, securityContext: { ...pod.securityContext, sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }, /sysctl/],
    [{ ...pod, securityContext: { runAsNonRoot: true } }, /seccompProfile/],
    [{ ...pod, securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }, /runAsNonRoot/],
    [{ ...pod, initContainers: [{ name: 'b' }] }, /container b: allowPrivilegeEscalation/],
    [with_({ runAsUser: 0 }), /runAsUser/],
    [with_({ runAsNonRoot: false }), /runAsNonRoot/],
    [with_({ privileged: true }), /privileged/],
    [with_({ allowPrivilegeEscalation: undefined }), /allowPrivilegeEscalation/],
    [with_({ capabilities: { drop: ['NET_RAW'] } }), /drop ALL/],
    [with_({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }), /may add/],
    [with_({ seccompProfile: { type: 'Unconfined' } }), /seccompProfile/],
    [with_({ appArmorProfile: { type: 'Unconfined' } }), /appArmorProfile/],
    [with_({ procMount: 'Unmasked' }), /procMount/],
    [with_({ seLinuxOptions: { role: 'x' } }), /seLinuxOptions/],
    [with_({}, { ports: [{ hostPort: 80 }] }), /hostPort/],
    [with_({}, { livenessProbe: { httpGet: { host: 'example.com' } } }), /name a host/]
  ]
  for (const [changed, problem] of steps) t.match(notRestricted(changed).join('\n'), problem)
})
