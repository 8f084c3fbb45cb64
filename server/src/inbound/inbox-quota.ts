import { isPublic, networkOf } from '../lib/network.ts'
import { createTally } from '../lib/window-counter.ts'
import type { Limits } from './limits.ts'

const MINUTE_MS = 60_000

/**
 * Received emails per project and minute, and those of them from one client network: one sender must not close a project's inbox for
 * all others. A private or loopback address is a relay of the operator, behind which there are many senders.
 */
export function createInboxQuota({ messagesPerMinute, messagesOfOneNetwork }: Pick<Limits, 'messagesPerMinute' | 'messagesOfOneNetwork'>) {
  const ofProjects = createTally({ limit: messagesPerMinute, windowMs: MINUTE_MS })
  const ofNetworks = createTally({ limit: messagesOfOneNetwork, windowMs: MINUTE_MS })
  const keyOf = (projectId: string, ip: string) => `${projectId} ${networkOf(ip)}`

  return {
    isUsedUp: (projectId: string, ip: string) => ofProjects.isOver(projectId) || (isPublic(ip) && ofNetworks.isOver(keyOf(projectId, ip))),
    count(projectId: string, ip: string) {
      ofProjects.hit(projectId)
      if (isPublic(ip)) ofNetworks.hit(keyOf(projectId, ip))
    },
  }
}
