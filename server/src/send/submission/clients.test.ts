import type { SMTPServerSession } from 'smtp-server'
import { describe, expect, test } from 'vitest'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { fail } from '../../lib/errors/errors.ts'
import { createLog } from '../../lib/process/log.ts'
import { createClients } from './clients.ts'
import { SUBMISSION_LIMITS } from './limits.ts'

const PROJECT = { id: 'p', owner: 'o' } as CallingProject
const session = () => ({ remoteAddress: '192.0.2.1', envelope: {} }) as SMTPServerSession

const clientsOf = (find: () => Promise<CallingProject>, limits: Partial<typeof SUBMISSION_LIMITS> = {}) =>
  createClients({ keys: { find, takeTurn: async () => true }, log: createLog('silent'), limits: { ...SUBMISSION_LIMITS, ...limits } })

describe('a login', () => {
  test('from a network that guesses keys is 421, with its first key already', async () => {
    const clients = clientsOf(async () => fail('RATE_LIMIT_EXCEEDED'))
    expect(await clients.logIn(session(), 'sk_1')).toMatchObject({ responseCode: 421, message: expect.stringMatching(/^4\.7\.0 /) })
  })

  test('whose connection ends while its key is looked up does not count as a connection of the owner', async () => {
    let found = (_project: CallingProject) => {}
    const clients = clientsOf(() => new Promise((resolve) => (found = resolve)), { connectionsOfOwner: 1 })
    const gone = session()
    const login = clients.logIn(gone, 'sk_1')
    clients.end(gone)
    found(PROJECT)
    await login
    const next = clients.logIn(session(), 'sk_1')
    found(PROJECT)
    expect(await next).toBeNull()
    const over = clients.logIn(session(), 'sk_1')
    found(PROJECT)
    expect(await over).toMatchObject({ responseCode: 421 })
  })
})
