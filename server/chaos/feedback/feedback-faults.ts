import { type Faults, killBackend, killPostmaster } from '../nodes/inject-faults.ts'
import type { Cluster, KeptNode } from '../nodes/nodes.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/until.ts'

/** Crash points between two durable steps of a notification. */
const API_PLACES = ['notification-written', 'notification-kept']
const WORKER_PLACE = 'notifications-applied'
const SERVES_WITHIN_MS = 150_000

/** Faults of the API nodes that store notifications, the workers that apply them, and their database. */
export function feedbackFaults({ main, api, workers, home, databaseUrl }: Cluster, random: Random): Faults {
  const apisServe = () => main.isServing() && api.isServing()
  const idle = () => workers.filter((worker) => worker.isServing())
  const someWorker = async () => {
    await until('a worker serves', SERVES_WITHIN_MS, () => idle().length)
    return random.pick(idle())
  }
  const someApi = async () => {
    await Promise.all([main.serving(), api.serving()])
    return random.pick([main, api])
  }
  const killAt = (node: KeptNode, place: string, passes: number) => {
    node.endNextAt(`${place}:${passes}`)
    node.signal('SIGKILL')
  }
  const onApis = { possible: apisServe }
  const onWorkers = { possible: () => idle().length > 0, unnoticed: true }
  return {
    'kill -9 of an API node, and again at a crash point': {
      weight: 4,
      ...onApis,
      inject: async () => killAt(await someApi(), random.pick(API_PLACES), 1 + random.below(50)),
    },
    'kill -9 of a worker, and again at a crash point': {
      weight: 4,
      ...onWorkers,
      inject: async () => killAt(await someWorker(), WORKER_PLACE, 1 + random.below(3)),
    },
    'kill -9 of a busy PostgreSQL backend': { weight: 3, unnoticed: true, inject: () => killBackend(databaseUrl) },
    'kill -9 of the postmaster': { weight: 2, inject: () => killPostmaster(home) },
    'SIGTERM of a node': { weight: 1, ...onApis, unnoticed: true, inject: async () => (await someApi()).signal('SIGTERM') },
    'SIGTERM of a worker': { weight: 1, ...onWorkers, inject: async () => (await someWorker()).signal('SIGTERM') },
  }
}
