import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import PostalMime from 'postal-mime'
import { afterAll, describe, expect, test } from 'vitest'
import { newId } from '../../lib/id.ts'
import { createLog } from '../../lib/process/log.ts'
import { deriveSecrets } from '../../lib/secrets.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import type { BuildRequest } from './build.ts'
import { createBuildPool } from './build-pool.ts'
import { createTimeouts } from './timeouts.ts'

const secrets = deriveSecrets('a master key of more than 32 characters')
const buildPool = createBuildPool({ secrets, publicUrl: 'https://mail.example', log: createLog('silent') })
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

afterAll(() => buildPool.close())

const request = (changes: Partial<BuildRequest> = {}): BuildRequest => ({
  email: { projectId: newId(), id: newId(), messageId: 'x@shop.example', createdAt: new Date(), toAddress: 'a@b.example', toName: null },
  content: { id: 'c', type: 'TRANSACTIONAL', fromAddress: 'shop@shop.example', replyTo: null, attachments: [] },
  fromName: 'Shop',
  subject: 'Hello',
  html: '<p>Hello</p>',
  headers: {},
  tracking: 'DISABLED',
  returnPath: undefined,
  signer: { domain: 'shop.example', selector: 's', key: privateKey },
  ...changes,
})

const build = (requests: BuildRequest[], priority: number = PRIORITIES.transactional) =>
  Promise.all(requests.map((each) => buildPool.build(priority, each)))

test('every request gets its own message, however many are built at once and in any priority', async () => {
  const requests = Array.from({ length: 50 }, (_, n) => request({ subject: `Number ${n}` }))
  const [ones, others] = await Promise.all([build(requests), build(requests, PRIORITIES.bulk)])
  for (const [n, message] of ones.entries()) {
    const { subject, text } = await PostalMime.parse(message)
    expect([subject, text?.trim()]).toEqual([`Number ${n}`, 'Hello'])
  }
  expect(others).toEqual(ones)
})

test('an attachment keeps its bytes', async () => {
  const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, n) => n % 256))
  const file = { filename: 'a.bin', contentType: 'application/octet-stream', contentId: null, inline: false, content: bytes }
  const [message] = await build([request({ content: { ...request().content, attachments: [file] } })])
  const { attachments } = await PostalMime.parse(message!)
  expect(Buffer.from(attachments[0]!.content as ArrayBuffer)).toEqual(bytes)
})

test('an email that cannot be signed fails alone, with the reason', async () => {
  const signer = { domain: 'shop.example', selector: 's', key: 'no key' as unknown as KeyObject }
  const outcomes = await Promise.allSettled([
    buildPool.build(0, request()),
    buildPool.build(0, request({ signer })),
    buildPool.build(0, request()),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((outcomes[1] as PromiseRejectedResult).reason.message).toMatch(/private key|PEM|DECODER/i)
})

test('an email that cannot be transferred to a thread affects no other', async () => {
  const culprit = request({ headers: { 'X-Bad': (() => {}) as unknown as string } })
  const outcomes = await Promise.allSettled([request(), culprit, request(), request(), request()].map((each) => buildPool.build(0, each)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
})

describe('an email that takes too long', () => {
  /** Takes some hundred milliseconds to build; its limit is zero. */
  const SLOW = 'slow'
  const impatient = createBuildPool({
    secrets,
    publicUrl: 'https://mail.example',
    log: createLog('silent'),
    limitMsOf: ({ subject }) => (subject === SLOW ? 0 : 60_000),
  })
  afterAll(() => impatient.close())
  const file = {
    filename: 'a.bin',
    contentType: 'application/octet-stream',
    contentId: null,
    inline: false,
    content: Buffer.alloc(2 ** 24),
  }
  const slow = (projectId = newId()) =>
    request({ subject: SLOW, email: { ...request().email, projectId }, content: { ...request().content, attachments: [file] } })
  const quick = (projectId: string) => request({ email: { ...request().email, projectId } })
  const REASON = 'Building the message took longer than 0 s.'
  const endsOf = async (outcomes: Promise<Buffer>[]) =>
    (await Promise.allSettled(outcomes)).map((each) => (each.status === 'fulfilled' ? 'built' : each.reason.message))

  test('fails alone, with the reason, and the rest of its group is built', async () => {
    const projectId = newId()
    const requests = [quick(projectId), quick(projectId), slow(projectId), quick(projectId)]
    expect(await endsOf(requests.map((each) => impatient.build(PRIORITIES.transactional, each)))).toEqual([
      'built',
      'built',
      REASON,
      'built',
    ])
  })

  test('does not affect emails of other projects in any thread', async () => {
    const others = Array.from({ length: 40 }, () => quick(newId()))
    const outcomes = [slow(), ...others, slow()].map((each, n) => impatient.build(n % 2, each))
    expect(await endsOf(outcomes)).toEqual([REASON, ...others.map(() => 'built'), REASON])
  })

  test('is tried three times per content; then its waiting emails fail without a try', async () => {
    const projectId = newId()
    const guard = createTimeouts().guardOf('content')
    let attempts = 0
    const counting = {
      ...guard,
      timedOut(reason: string) {
        attempts++
        guard.timedOut(reason)
      },
    }
    const ends = await endsOf(Array.from({ length: 12 }, () => impatient.build(PRIORITIES.bulk, slow(projectId), counting)))
    // Three, and the builds that other slots had started.
    expect(attempts).toBeGreaterThanOrEqual(3)
    expect(attempts).toBeLessThanOrEqual(3 + 8)
    expect(ends.filter((each) => each === REASON)).toHaveLength(attempts)
    expect(ends.filter((each) => each === `${REASON} Not tried: 3 emails with this content did.`)).toHaveLength(12 - attempts)
  })
})
