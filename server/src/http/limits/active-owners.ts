import { SECOND } from '../../lib/text/units.ts'
import type { App } from '../core/types.ts'

/** An owner without a request for this long keeps nothing waiting. */
const ACTIVE_MS = SECOND

type Seen = { owner: string | undefined; at: number }

/** Remembers whose requests arrive. Returns whether an owner is the only one of the last second. */
export function watchOwners(app: App) {
  let latest: Seen = { owner: undefined, at: Number.NEGATIVE_INFINITY }
  /** The last request of any other owner than that of `latest`. */
  let other = latest

  app.addHook('onRequest', (req, _reply, done) => {
    const owner = req.project?.owner
    if (owner) {
      if (owner !== latest.owner) other = latest
      latest = { owner, at: performance.now() }
    }
    done()
  })
  return (owner: string) => performance.now() - (latest.owner === owner ? other : latest).at > ACTIVE_MS
}
