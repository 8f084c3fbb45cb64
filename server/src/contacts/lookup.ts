import { type Db, many } from '../db/index.ts'
import { readAddress } from '../lib/text/address.ts'

/** Splits addresses into those with and without a contact, each in the spelling of the request. */
export async function lookUpContacts(db: Db, projectId: string, emails: string[]) {
  const entries = emails.map((given) => ({ given, address: readAddress(given) }))
  const addresses = entries.flatMap(({ address }) => address ?? [])
  const rows = await many<{ email: string }>(db)`
    select email from contacts where project_id = ${projectId} and email = any(${addresses}::text[])
  `
  const known = new Set(rows.map(({ email }) => email))
  const isKnown = ({ address }: { address: string | null }) => address !== null && known.has(address)
  return {
    found: entries.filter(isKnown).map(({ given }) => given),
    notFound: entries.filter((entry) => !isKnown(entry)).map(({ given }) => given),
  }
}
