import { createPrivateKey } from 'node:crypto'
import { type Db, one } from '../../db/index.ts'
import type { SenderDomain } from '../../domains/verified.ts'
import { createCache } from '../../lib/collections/cache.ts'
import type { Secrets } from '../../lib/secrets.ts'
import type { DkimKey } from '../../mime/dkim.ts'

const MAX_SIGNING_KEYS = 10_000

/** Caches the DKIM keys of domains: parsing a key takes four times as long as signing with it. One object for all emails, as with contents. */
export function createSigningKeys(db: Db, secrets: Secrets) {
  const keys = createCache<string, Promise<DkimKey>>({ maxEntries: MAX_SIGNING_KEYS })
  const load = async (projectId: string, { id, domain, dkimSelector: selector }: SenderDomain) => {
    const { sealed } = await one<{ sealed: Buffer }>(db)`
      select dkim_private_key_sealed as sealed from domains where project_id = ${projectId} and id = ${id}
    `
    const key = createPrivateKey({ key: Buffer.from(secrets.open('dkim-key', sealed), 'base64'), format: 'der', type: 'pkcs8' })
    return { domain, selector, key }
  }
  return (projectId: string, signer: SenderDomain) => {
    const cacheKey = [signer.id, signer.domain, signer.dkimSelector].join(' ')
    const known = keys.get(cacheKey)
    if (known) return known
    const key = load(projectId, signer)
    keys.set(cacheKey, key)
    key.catch(() => keys.delete(cacheKey))
    return key
  }
}
