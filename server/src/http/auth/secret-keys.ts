import type { Pool } from '../../db/index.ts'
import { fail } from '../../lib/errors/errors.ts'
import { isInNetworks } from '../../lib/network/cidr.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { createGuessGuard } from './key-guessing.ts'
import { type CallingProject, findByKey } from './key-lookup.ts'
import { createKeyUsage } from './key-usage.ts'
import { requireScope, type Scope } from './scopes.ts'

type Kind = 'pk' | 'sk'
const KEY = /^(pk|sk)_[0-9a-f]{64}$/

/** Finds the projects of keys, notes their use, and limits guessing. */
export function createKeyFinder({ db, secrets, log }: { db: Pool; secrets: Secrets; log: Log }) {
  const usage = createKeyUsage(db, log)
  const guesses = createGuessGuard()
  return {
    /** Fails for a key that is unknown or of another kind. */
    async find(ip: string, kind: Kind, key: string): Promise<CallingProject> {
      const hashes = secrets.hashes('api-key', key)
      const hash = hashes[0]!
      guesses.refuse(ip, hash)
      const project = key.startsWith(`${kind}_`) && KEY.test(key) && (await findByKey(db, kind, hashes))
      if (!project) {
        guesses.missed(ip)
        fail('INVALID_API_KEY')
      }
      guesses.found(hash)
      return project
    },
    noteUse({ id: projectId, keyId, keyVersion }: CallingProject, kind: Kind) {
      usage.note({ projectId, kind, keyId, keyVersion })
    },
    close: usage.close,
  }
}

/** Secret keys outside of HTTP requests, under the same limits. */
export type SecretKeys = {
  /** The project of a key that is used from this address. Fails as a request with the key would. */
  find(key: string, ip: string, scope: Scope): Promise<CallingProject>
  /** Counts against the rate limit of the project; false when it is used up. */
  takeTurn(projectId: string): Promise<boolean>
}

export const createSecretKeys = (keys: ReturnType<typeof createKeyFinder>, takeTurn: SecretKeys['takeTurn']): SecretKeys => ({
  async find(key, ip, scope) {
    const project = await keys.find(ip, 'sk', key)
    if (project.networks !== null && !isInNetworks(ip, project.networks)) fail('INVALID_API_KEY')
    requireScope(project, scope)
    keys.noteUse(project, 'sk')
    return project
  },
  takeTurn,
})
