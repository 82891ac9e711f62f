/** Loaded into a Node party with `--import`: on a message from its parent it collects garbage and tells its memory in bytes. */
process.on('message', () => {
  globalThis.gc?.()
  globalThis.gc?.()
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  process.send?.({ rss, heapUsed, external, arrayBuffers })
})
process.channel?.unref()
