/** Loaded into a Node party with `--import`. On a message from its parent, the process collects garbage and reports its memory in bytes. */
process.on('message', () => {
  globalThis.gc?.()
  globalThis.gc?.()
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  process.send?.({ rss, heapUsed, external, arrayBuffers })
})
process.channel?.unref()
