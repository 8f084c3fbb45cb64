import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { readAddress } from '../lib/address.ts'
import { fail } from '../lib/errors.ts'
import { selfAndParents } from './name.ts'

type SenderDomain = { id: string; domain: string; dkimSelector: string }

const domainOf = (address: string) => address.slice(address.lastIndexOf('@') + 1)

/** Fails unless this project may send as that address. */
export async function assertVerified(db: Db, projectId: string, address: string): Promise<void> {
  if ((await findVerified(db, projectId, [address])).has(address)) return
  const domain = domainOf(readAddress(address) ?? address).slice(0, 253)
  fail('DOMAIN_NOT_VERIFIED', {
    message: `The domain "${domain}" is not verified for this project.`,
    details: { domain },
    suggestion: 'Add it under domains and publish its records.',
  })
}

/**
 * For each address that this project may send as, the verified domain that covers it: its own, or the nearest one above it. A
 * sub-domain that another project has verified is theirs, so the question goes over all projects.
 */
export async function findVerified(db: Db, projectId: string, addresses: string[]): Promise<Map<string, SenderDomain>> {
  const asked = addresses.flatMap((given) => {
    const address = readAddress(given)
    return address ? [{ given, names: selfAndParents(domainOf(address)) }] : []
  })
  const names = [...new Set(asked.flatMap((each) => each.names))]
  const verified = await many(
    db,
    sql<SenderDomain & { mine: boolean }>`
      select id, domain, dkim_selector as "dkimSelector", project_id = ${projectId} as mine
      from domains where domain = any(${names}::text[]) and status = 'verified'
    `,
  )
  const byName = new Map(verified.map((row) => [row.domain, row]))
  return new Map(
    asked.flatMap(({ given, names }) => {
      const nearest = names.map((name) => byName.get(name)).find((row) => row !== undefined)
      return nearest?.mine ? [[given, { id: nearest.id, domain: nearest.domain, dkimSelector: nearest.dkimSelector }] as const] : []
    }),
  )
}
