import { type Db, scalars } from '../../db/index.ts'
import { readAddress } from '../../lib/text/address.ts'

/** Splits addresses into those with and without a contact, each in the spelling of the request. */
export async function lookUpContacts(db: Db, projectId: string, emails: string[]) {
  const entries = emails.map((given) => ({ given, address: readAddress(given) }))
  const addresses = entries.flatMap(({ address }) => address ?? [])
  const known = new Set<string | null>(
    await scalars<string>(db)`select email from contacts where project_id = ${projectId} and email = any(${addresses}::text[])`,
  )
  return {
    found: entries.filter(({ address }) => known.has(address)).map(({ given }) => given),
    notFound: entries.filter(({ address }) => !known.has(address)).map(({ given }) => given),
  }
}
