import { sql } from 'kysely'
import { maybeOne, type Pool } from '../db/index.ts'
import type { Config } from '../lib/config.ts'
import { createIdentities } from './ses-identity.ts'

/** Unless somebody has added the domain again meanwhile. */
export async function forgetIdentity({ db, config }: { db: Pool; config: Config }, domain: string) {
  const isHeld = await maybeOne(db, sql`select from domains where domain = ${domain}`)
  if (config.ses && !isHeld) await createIdentities(config.ses).remove(domain)
}
