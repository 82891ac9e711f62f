/** A hostile agent may name any number of extensions, but the labels of other agents stay. */
import t from 'tap'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { mergeSnapshots } from '#telemetry/metrics/registry.js'

const OWN = 'https://example.com/ext/consent/v1'

function flooded (worker: number): Metrics {
  const metrics = new Metrics({ process: false })
  for (let i = 0; i < 2_000; i++) {
    metrics.add('activations_total', 'rogue', `https://evil.example/${worker}/${i}`, 'client', 'absent')
    metrics.add('violations_total', 'rogue', `https://evil.example/${worker}/${i}`, 'rule', 'request', 'observe')
    metrics.add('refusals_total', 'rogue', `evil/${worker}-${i}`)
  }
  metrics.add('activations_total', 'victim', OWN, 'client', 'confirmed')
  metrics.add('violations_total', 'victim', OWN, 'rule', 'request', 'enforce')
  metrics.addAmount('observed_total', 3, 'victim', OWN, 'tokens', '')
  metrics.add('refusals_total', 'victim', 'consent/names-the-owner')
  return metrics
}

const samples = (text: string, start: string): number => text.split('\n').filter(line => line.startsWith(start)).length

t.test('a flood does not affect the labels of another agent', async t => {
  const metrics = flooded(0)
  const text = await metrics.text()
  t.match(text, `a2a_gateway_activations_total{agent="victim",extension="${OWN}",source="client",echo="confirmed"} 1`)
  t.match(text, `a2a_gateway_violations_total{agent="victim",extension="${OWN}",rule="rule",phase="request",mode="enforce"} 1`)
  t.match(text, `a2a_gateway_observed_total{agent="victim",extension="${OWN}",metric="tokens",by=""} 3`)
  t.match(text, 'a2a_gateway_refusals_total{agent="victim",rule="consent/names-the-owner"} 1')
  t.equal(samples(text, 'a2a_gateway_activations_total{agent="rogue"'), 257, 'the flood is bounded')
  t.equal(samples(text, 'a2a_gateway_refusals_total{agent="rogue"'), 1_025)
  t.match(text, 'a2a_gateway_activations_total{agent="rogue",extension="other",source="client",echo="absent"} 1744')
  metrics.close()
})

t.test('in the totals of several processes too', async t => {
  const workers = [flooded(0), flooded(1)]
  const text = await mergeSnapshots(await Promise.all(workers.map(one => one.snapshot()))).text()
  t.match(text, `a2a_gateway_activations_total{agent="victim",extension="${OWN}",source="client",echo="confirmed"} 2`)
  t.match(text, 'a2a_gateway_refusals_total{agent="victim",rule="consent/names-the-owner"} 2')
  t.match(text, 'a2a_gateway_activations_total{agent="rogue",extension="other",source="client",echo="absent"} 3488')
  for (const one of workers) one.close()
})
