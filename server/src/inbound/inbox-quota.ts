import { createWindowCounter } from '../lib/concurrency/window-counter.ts'
import { isPublic, networkOf } from '../lib/network/network.ts'
import { MINUTE } from '../lib/text/units.ts'
import type { Limits } from './limits.ts'

/**
 * Received emails per project and minute, in all and from one client network: one sender must not fill a project's inbox for all others.
 * A private or loopback address is a relay of the operator that many senders use, so it has no limit of its own.
 */
export function createInboxQuota({ messagesPerMinute, messagesOfOneNetwork }: Pick<Limits, 'messagesPerMinute' | 'messagesOfOneNetwork'>) {
  const byProject = createWindowCounter({ limit: messagesPerMinute, windowMs: MINUTE })
  const byNetwork = createWindowCounter({ limit: messagesOfOneNetwork, windowMs: MINUTE })
  const keyOf = (projectId: string, ip: string) => `${projectId} ${networkOf(ip)}`

  return {
    isUsedUp: (projectId: string, ip: string) => byProject.isOver(projectId) || (isPublic(ip) && byNetwork.isOver(keyOf(projectId, ip))),
    count(projectId: string, ip: string) {
      byProject.count(projectId)
      if (isPublic(ip)) byNetwork.count(keyOf(projectId, ip))
    },
  }
}
