import { expect, test } from 'vitest'
import type { Pool } from '../../../db/index.ts'
import { createLog } from '../../../lib/process/log.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import type { Disposition } from '../../transport/classify.ts'
import { createHealth } from './health.ts'

// Pauses take effect in the process before they are written, so a database that is away is enough here.

const email = { projectId: 'p', toAddress: 'ann@example.com', priority: PRIORITIES.transactional }
const domain = 'shop.example'
const denied: Disposition = { action: 'retry', about: 'recipient', repeatable: true, reason: '554 5.7.1 Relay access denied' }

test('a probe that is refused after the pause has ended does not begin it anew', () => {
  const health = createHealth({ db: {} as Pool, log: createLog('silent') })
  health.attempted({ email, domain, disposition: denied })
  health.probed({ email, domain, disposition: denied }, { domain: true, provider: false })
  expect(health.holdBack(email, domain)).toBeUndefined()
})

test('a probe whose sender domain is refused pauses it, also after the pause has ended', () => {
  const health = createHealth({ db: {} as Pool, log: createLog('silent') })
  const disposition: Disposition = { action: 'retry', about: 'sender-domain', reason: '550 5.7.1 Sender denied' }
  health.attempted({ email, domain, disposition })
  health.probed({ email, domain, disposition }, { domain: true, provider: false })
  expect(health.holdBack(email, domain)).toMatchObject({ code: 'domain_paused' })
})
