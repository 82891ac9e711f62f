/** Loaded into the test processes of a suite: calls to servers of the suite go through gateways (startDirectory in gateways.mjs). */
const direct = globalThis.fetch
const origins = new Map()

globalThis.fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input)
  if (!['localhost', '127.0.0.1'].includes(url.hostname)) return await direct(input, init)
  if (!origins.has(url.origin)) {
    const response = await direct(`${process.env.A2A_CONFORMANCE_DIRECTORY}/?url=${encodeURIComponent(url)}`)
    if (!response.ok) throw new Error(await response.text())
    origins.set(url.origin, await response.text())
  }
  const target = origins.get(url.origin) + url.pathname + url.search
  return await direct(input instanceof Request ? new Request(target, input) : target, init)
}
