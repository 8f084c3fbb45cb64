import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buildApp } from '../src/app.ts'
import { loadConfig } from '../src/lib/config.ts'
import { createLog } from '../src/lib/log.ts'
import { SECRET_KEY, useApp } from './helpers.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

describe('bodies', () => {
  test('with an unbounded array or record keep a route from booting', async () => {
    const boot = async (body: z.ZodType) => {
      const app = await buildApp(
        { config: loadConfig({ SECRET_KEY }), db: sterna.db, secrets: sterna.secrets, log: createLog('silent') },
        { extend: (app) => void app.post('/probe/unbounded', { config: { caller: 'anyone' }, schema: { body } }, () => 1) },
      )
      await app.ready()
      await app.close()
    }
    await expect(boot(z.object({ ids: z.array(z.string()).max(9) }))).resolves.toBeUndefined()
    await expect(boot(z.object({ ids: z.array(z.string()) }))).rejects.toThrow('POST /probe/unbounded: body.ids is an array without .max()')
    await expect(boot(z.object({ map: z.record(z.string(), z.string()) }))).rejects.toThrow('body.map is a record without')
  })

  test('of a megabyte of zeros are refused with a small answer', async () => {
    const { sk, pk } = await sterna.newProject()
    const zeros = Array(500_000).fill(0).join()
    const lookup = await sterna.call('POST', '/contacts/lookup', { key: sk, body: `{"emails":[${zeros}]}` })
    expect([lookup.status, lookup.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const ignored = await sterna.call('POST', '/v1/track', {
      key: pk,
      body: `{"email":"a@example.com","event":"x","b":"\\u0041","c":[${zeros}]}`,
    })
    expect(ignored.status).toBe(413)
  })

  test('with more addresses than a look-up takes are refused plainly, before the addresses are read', async () => {
    const { sk } = await sterna.newProject()
    for (const emails of [Array(501).fill('a@example.com'), Array(90_000).fill(0), []]) {
      const answer = await sterna.call('POST', '/contacts/lookup', { key: sk, body: { emails } })
      expect([answer.status, answer.body]).toEqual([400, { error: 'Give 1 to 500 email addresses.' }])
    }
    const contactIds = Array(1_001).fill(0)
    expect(await sterna.call('POST', '/contacts/bulk-delete', { key: sk, body: { contactIds } })).toMatchObject({
      status: 400,
      body: { error: 'Give 1 to 1000 contact ids.' },
    })
  })

  test('with forty megabytes of headers are refused by their number', async () => {
    const { sk } = await sterna.newProject()
    const headers = (count: number) => Array.from({ length: count }, (_, n) => `"x${n}":0`).join()
    const send = (text: string) => sterna.call('POST', '/v1/send', { key: sk, body: `{"to":"a@example.com","headers":{${text}}}` })
    expect((await send(headers(3_000_000))).status).toBe(413)
    const fewer = await send(headers(50_000))
    expect([fewer.status, fewer.body.error.errors]).toEqual([422, [{ field: 'headers', message: 'At most 50 keys.', code: 'too_big' }]])
  })

  test('with more mistakes than anybody reads are answered with 50 of them', async () => {
    const { sk } = await sterna.newProject()
    const { body, status } = await sterna.call('POST', '/v1/send', { key: sk, body: { to: Array(1_000).fill('nobody') } })
    expect([status, body.error.errors.length]).toEqual([422, 50])
    expect(body.error.errors[0]).toMatchObject({ field: 'to.0', code: 'invalid_string' })
  })

  test('with a key of a megabyte are refused without repeating it', async () => {
    const { sk } = await sterna.newProject()
    const { body, status } = await sterna.call('POST', '/v1/send', { key: sk, body: { headers: { ['x'.repeat(1_000_000)]: 0 } } })
    expect(status).toBe(422)
    expect(JSON.stringify(body).length).toBeLessThan(2_000)
  })
})
