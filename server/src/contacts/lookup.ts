import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { readAddress } from '../lib/address.ts'

/** Which of these addresses have a contact; each is given back as it was given. */
export async function lookUpContacts(db: Db, projectId: string, emails: string[]) {
  const read = emails.map((given) => ({ given, address: readAddress(given) }))
  const addresses = read.flatMap(({ address }) => address ?? [])
  const rows = await many(
    db,
    sql<{ email: string }>`select email from contacts where project_id = ${projectId} and email = any(${addresses}::text[])`,
  )
  const known = new Set(rows.map(({ email }) => email))
  const isKnown = ({ address }: { address: string | null }) => address !== null && known.has(address)
  return { found: read.filter(isKnown).map(({ given }) => given), notFound: read.filter((one) => !isKnown(one)).map(({ given }) => given) }
}
