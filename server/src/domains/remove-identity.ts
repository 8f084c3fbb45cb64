import { maybeOne, type Pool } from '../db/index.ts'
import type { Config } from '../lib/config.ts'
import { createIdentities } from './ses-identity.ts'

/** Removes the identity at Amazon SES, unless the domain was added again meanwhile. */
export async function removeIdentity({ db, config }: { db: Pool; config: Config }, domain: string) {
  const isInUse = await maybeOne(db)`select from domains where domain = ${domain}`
  if (config.ses && !isInUse) await createIdentities(config.ses).remove(domain)
}
