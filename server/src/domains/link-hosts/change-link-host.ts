import { type Pool, transact } from '../../db/index.ts'
import { type createQuotaCounter, QUOTAS, type Quota } from '../../http/limits/quotas.ts'
import { fail } from '../../lib/errors/errors.ts'
import type { Log } from '../../lib/process/log.ts'
import type { DomainRow } from '../sender-domains/domain.ts'
import { assertLinkHostName, type ReservedNames, refuseUnprovenDomain, setLinkHost } from './link-host.ts'

type Deps = { db: Pool; log: Log; config: ReservedNames; attempts: ReturnType<typeof createQuotaCounter> }

/** Sets the link host of a domain, or removes it. Undefined when the domain is gone. */
export async function changeLinkHost(deps: Deps, domain: DomainRow, host: string | null) {
  const write = () => transact(deps.db, (tx) => setLinkHost(tx, domain, host))
  // Removing a host costs nothing, and is always possible.
  const changed = host === null ? await write() : await countChange(deps, checkHost(deps, domain, host), write)
  for (const { projectId: from, domain: name } of changed?.released ?? [])
    deps.log.info({ linkHost: host, projectId: domain.projectId, from, domain: name }, 'link host taken over')
  return changed?.row
}

/** Returns the quota of the change: of the name of the domain, as a domain that is deleted and added again has another id. */
function checkHost({ config }: Deps, { domain, status }: DomainRow, host: string): Quota {
  assertLinkHostName(host, domain, config)
  if (status !== 'verified') refuseUnprovenDomain(domain)
  return { scope: 'link-host', subject: domain }
}

/** Each host may get a certificate, and issuers limit those of the operator. A refused change does not count. */
async function countChange<Result>({ attempts }: Deps, quota: Quota, change: () => Promise<Result>): Promise<Result> {
  const retryAfter = await attempts.count(quota)
  if (retryAfter)
    fail('RATE_LIMIT_EXCEEDED', {
      message: `The link host of a domain can be changed ${QUOTAS['link-host'].limit} times a day.`,
      retryAfter,
    })
  try {
    return await change()
  } catch (err) {
    await attempts.refund(quota).catch(() => {})
    throw err
  }
}
