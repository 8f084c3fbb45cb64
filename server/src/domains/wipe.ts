import { many, type Tx } from '../db/index.ts'
import { OF_DELETED_PROJECT, type WipeScope, wipeSql } from '../db/wipe-rows.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** A reset keeps domains; a deletion removes them and enqueues the removal of their identities at Amazon SES. */
export async function wipeDomains(tx: Tx, scope: WipeScope) {
  const gone = await many<{ domain: string; isIdentity: boolean }>(tx)`
    ${wipeSql('domains', scope, { which: OF_DELETED_PROJECT })} returning domain, ses_tokens <> '[]' as "isIdentity"
  `
  for (const { domain, isIdentity } of gone) if (isIdentity) await enqueue(tx, 'domains.remove-identity', { domain })
  return gone.length
}
