import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { Sterna, WebhookVerificationError } from '../src/index.ts'

const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`
const BODY = JSON.stringify({ type: 'email.bounce', timestamp: '2026-01-01T00:00:00.000Z', data: { contact: null, data: { reason: 'x' } } })

const sign = (body: string, { secret = SECRET, id = 'd1', at = Math.floor(Date.now() / 1_000) } = {}) => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`,
  }
}
const verify = (headers: Record<string, string>, body = BODY) => new Sterna({ webhookSecret: SECRET }).webhooks.verify({ headers, body })

test('a signed webhook is read, with its id', async () => {
  const event = await verify(sign(BODY))
  expect(event).toEqual({ id: 'd1', ...JSON.parse(BODY) })
  // The type of the event decides that of its data.
  if (event.type === 'email.bounce') expect(event.data.data.bounceType).toBeUndefined()
  if (event.type === 'event.signup') expect(event.data.data.plan).toBeUndefined()
})

test('a request of the Fetch API, a body of bytes, and a secret of the call are taken', async () => {
  const { webhooks } = new Sterna()
  const request = new Request('https://example.com', { method: 'POST', body: BODY, headers: sign(BODY) })
  expect((await webhooks.verify(request, { secret: SECRET })).id).toBe('d1')
  expect((await webhooks.verify({ headers: sign(BODY), body: Buffer.from(BODY) }, { secret: SECRET })).id).toBe('d1')
  await expect(webhooks.verify({ headers: sign(BODY), body: BODY })).rejects.toThrow(TypeError)
})

test('one right signature of two is enough, in any spelling of the headers', async () => {
  const { 'webhook-signature': right, ...rest } = sign(BODY)
  const upper = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name.toUpperCase(), value]))
  expect((await verify({ ...upper, 'Webhook-Signature': `v1,AAAA v2,x ${right}` })).id).toBe('d1')
})

test.each<[string, () => Promise<unknown>]>([
  ['another body', () => verify(sign(BODY), `${BODY} `)],
  ['another id', () => verify({ ...sign(BODY), 'webhook-id': 'd2' })],
  ['another secret', () => verify(sign(BODY, { secret: `whsec_${Buffer.from('other').toString('base64')}` }))],
  ['a time of six minutes ago', () => verify(sign(BODY, { at: Math.floor(Date.now() / 1_000) - 360 }))],
  ['a time to come', () => verify(sign(BODY, { at: Math.floor(Date.now() / 1_000) + 360 }))],
  ['a time that is no number', () => verify({ ...sign(BODY), 'webhook-timestamp': 'now' })],
  ['no signature', () => verify({ 'webhook-id': 'd1', 'webhook-timestamp': '1' })],
  ['a signature that is no base64', () => verify({ ...sign(BODY), 'webhook-signature': 'v1,%' })],
])('%s is refused', async (_what, attempt) => {
  await expect(attempt()).rejects.toThrow(WebhookVerificationError)
})

afterEach(() => vi.unstubAllEnvs())

test('the receiver in docs/webhooks.md accepts what is signed, and refuses the rest', async () => {
  const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  const [, example = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  const code = example.replaceAll(/^import .*\n/gm, '').replace(/\.listen\(.*\)/, '')
  expect(example.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(11)
  vi.stubEnv('STERNA_WEBHOOK_SECRET', SECRET)
  const said: string[] = []
  // The example as a function of what it imports, without the port.
  const server = new Function(
    'createServer',
    'Sterna',
    'process',
    'Buffer',
    'console',
    `return (() => { ${code.replace('createServer(', 'return createServer(')} })()`,
  )((handle: RequestListener) => createServer(handle), Sterna, process, Buffer, { log: (text: string) => said.push(text) })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const post = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method: 'POST', body: BODY, headers })
  expect([(await post(sign(BODY))).status, (await post({ ...sign(BODY), 'webhook-id': 'forged' })).status]).toEqual([204, 400])
  expect(said).toEqual(['undefined bounced: x'])
  server.close()
})
