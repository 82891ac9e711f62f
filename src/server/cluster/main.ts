/** Entry point of a worker process. The primary starts it. */
import cluster from 'node:cluster'
import { lowerPriorityOfEngineThreads, setEngineFlags } from '#engine.js'
import { runWorker } from './worker.js'

setEngineFlags()
lowerPriorityOfEngineThreads()

if (cluster.worker === undefined) throw new Error('this is started by the gateway itself')
// Without this flag, Node ends the process the moment the primary is gone, with calls in flight.
cluster.worker.exitedAfterDisconnect = true
runWorker(cluster.worker.id, process.env)
