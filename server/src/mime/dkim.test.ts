import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { startCpuClock } from '../../test/support/faults/cpu-clock.ts'
import { compose, type MessageFields } from './compose.ts'
import { dkimSignature } from './dkim.ts'
import { anyMessage, messageSource, plainMessage } from './message.arbitrary.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signer = { domain: 'example.com', selector: 'sterna1', key: privateKey }
const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`

/** A DNS that knows one name. */
async function resolver(name: string, type: string) {
  if (name !== 'sterna1._domainkey.example.com' || type !== 'TXT') throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
  return [[record.slice(0, 200), record.slice(200)]]
}

async function sign(given: MessageFields) {
  const composed = compose(given)
  return (await dkimSignature(composed, signer, given.date)) + messageSource(composed)
}

async function verify(source: string) {
  const { results } = await dkimVerify(Buffer.from(source), { resolver })
  expect(results).toHaveLength(1)
  return results[0]!
}

test('another implementation verifies every signature', async () => {
  await fc.assert(
    fc.asyncProperty(anyMessage, async (given) => {
      const result = await verify(await sign({ ...given, from: { ...given.from, address: 'ada@example.com' } }))
      expect(result.status).toMatchObject({ result: 'pass', aligned: 'example.com' })
      expect(result).toMatchObject({ canonBodyLengthLimited: false })
    }),
    { numRuns: 150 },
  )
})

const full: MessageFields = {
  ...plainMessage,
  replyTo: 'reply@example.com',
  subject: 'Grüße  an   alle',
  html: '<p>Hello \t world </p>\n\n\n',
  headers: {
    'List-Unsubscribe': '<https://example.com/unsubscribe/1>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    'List-Id': '<news.example.com>',
    References: '<a@example.com>',
    'In-Reply-To': '<a@example.com>',
    'X-Own': 'not signed',
  },
}

const SIGNED = [
  ...['From', 'To', 'Reply-To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'],
  ...['In-Reply-To', 'References', 'List-Id', 'List-Unsubscribe', 'List-Unsubscribe-Post'],
]

const namesIn = (source: string) => /\bh=([^;]+);/.exec(source)![1]!.replace(/\s/g, '').split(':')

test('each signed header is listed once more than it occurs', async () => {
  const source = await sign(full)
  const absent = ['cc', 'content-transfer-encoding']
  const present = SIGNED.map((name) => name.toLowerCase())
  expect(namesIn(source).toSorted()).toEqual([...present, ...present, ...absent].toSorted())
  expect(source).toContain('; charset=utf-8')
  expect((await verify(source)).status.result).toBe('pass')
})

test('headers that mailing lists add are listed only where they occur', async () => {
  expect(namesIn(await sign(plainMessage)).filter((name) => name.startsWith('list-'))).toEqual([])
})

test.each([...SIGNED, 'Cc', 'Content-Transfer-Encoding'])(
  'a second or new %s, on top or at the end of the header, breaks the signature',
  async (name) => {
    const source = await sign(full)
    expect((await verify(`${name}: x@example.org\r\n${source}`)).status.result).toBe('fail')
    expect((await verify(source.replace('\r\n\r\n', `\r\n${name}: x@example.org\r\n\r\n`))).status.result).toBe('fail')
  },
)

test.each(['Reply-To', 'Cc', 'In-Reply-To', 'References'])('a %s added to a message without one breaks the signature', async (name) => {
  expect((await verify(`${name}: <x@example.org>\r\n${await sign(plainMessage)}`)).status.result).toBe('fail')
})

test('the lines of the signature have at most 78 characters', async () => {
  for (const line of (await sign(full)).split('\r\nFrom:')[0]!.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78)
})

test.each(SIGNED)('a changed %s breaks the signature', async (name) => {
  const source = await sign(full)
  const changed = source.replace(new RegExp(`(\\r\\n${name}: .)`), '$1x')
  expect(changed).not.toBe(source)
  expect((await verify(changed)).status.result).toBe('fail')
})

test.each(SIGNED)('a message without its %s breaks the signature', async (name) => {
  const source = await sign(full)
  const changed = source.replace(new RegExp(`\\r\\n${name}: .*(\\r\\n .*)*`), '')
  expect(changed).not.toBe(source)
  expect((await verify(changed)).status.result).toBe('fail')
})

test('any changed, added or removed word of the body breaks the signature', async () => {
  const source = await sign({
    ...full,
    attachments: [{ filename: 'a', contentType: 'image/png', contentId: null, inline: false, content: Buffer.alloc(100) }],
  })
  const start = source.indexOf('\r\n\r\n') + 4
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: start, max: source.length - 1 }), async (at) => {
      // Space, and empty lines at the end, may change on the way: that is what the relaxed rules are for.
      fc.pre(/[^\s]/.test(source[at]!))
      for (const changed of [source.slice(0, at) + source.slice(at + 1), `${source.slice(0, at)}~${source.slice(at)}`])
        expect((await verify(changed)).status.comment).toBe('body hash did not verify')
    }),
    { numRuns: 60 },
  )
})

test('changes of white space on the way do not break the signature', async () => {
  const source = await sign(full)
  const refolded = source.replace('\r\nReferences: ', '\r\nreferences:\r\n\t  ').replace(' \t world', '\t\tworld')
  expect(refolded).not.toBe(source)
  expect((await verify(`${refolded}\r\n\r\n`)).status.result).toBe('pass')
})

test('signing twice gives the same signature', async () => {
  expect(await sign(full)).toBe(await sign(full))
})

test('a body of nothing but line breaks takes no longer to sign than any other', async () => {
  const cpuMs = startCpuClock()
  await dkimSignature({ head: 'From: a@example.com\r\n', body: `${'\r\n'.repeat(1_000_000)}x\r\n` }, signer, new Date())
  expect(cpuMs()).toBeLessThan(2_000)
})
