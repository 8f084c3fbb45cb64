import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { newId } from '../../lib/id.ts'
import { createLog } from '../../lib/process/log.ts'
import { deriveSecrets } from '../../lib/secrets.ts'
import { bytesOf } from '../../mime/compose.ts'
import { anyMime } from '../../mime/raw/mime-tree.arbitrary.ts'
import type { RawContent } from '../outbox/contents/content.ts'
import { type BuildRequest, createMessageBuilder } from './build.ts'
import { readClickToken } from './links/tracking-token.ts'

const secrets = deriveSecrets('a master key of more than 32 characters')
const build = createMessageBuilder({ secrets, publicUrl: 'https://mail.example', log: createLog('silent') })
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`
const email = {
  projectId: newId(),
  id: newId(),
  messageId: 'ours@shop.example',
  createdAt: new Date(1e12),
  toAddress: 'a@b.example',
  toName: null,
}

const requestFor = (bytes: Buffer, raw: Partial<RawContent> = {}, more: Partial<BuildRequest> = {}): BuildRequest => ({
  email,
  content: {
    id: newId(),
    type: 'TRANSACTIONAL',
    fromAddress: 'ada@shop.example',
    replyTo: null,
    attachments: [],
    raw: { bytes, form: '8bit', isTracked: false, ...raw },
  },
  fromName: '',
  subject: 'Hi',
  html: '',
  headers: {},
  tracking: 'ENABLED',
  returnPath: 'bounce@bounces.example',
  signer: { domain: 'shop.example', selector: 's', key: privateKey },
  ...more,
})
const built = (...given: Parameters<typeof requestFor>) => bytesOf(build(requestFor(...given)))

async function expectSigned(message: Buffer) {
  const { results } = await dkimVerify(message, { resolver: async () => [[record]], minBitLength: 1024 })
  expect(results.map(({ status }: { status: { result: string } }) => status.result)).toEqual(['pass'])
}

/** Everything that a parser of others sees but the headers that we add. */
async function parsed(message: Buffer) {
  const { text, html, attachments, headers } = await PostalMime.parse(message)
  const files = attachments.map(({ mimeType, filename, content }) => [
    mimeType,
    filename,
    Buffer.from(content as ArrayBuffer).toString('hex'),
  ])
  const own = headers.filter(({ key }) => !/^(dkim-signature|date|message-id|x-sterna-.*)$/.test(key)).map(({ key, value }) => [key, value])
  return { text, html, files, own }
}

const HEADERS = [
  'From: ada@shop.example\r\n',
  'Subject: Grüße\r\n',
  'X-Odd:\tfolded  \r\n \t here \r\n',
  'References: <a@b>\r\n <c@d>\r\n',
].join('')

describe('a message of others', () => {
  test('keeps every byte behind our headers, and is signed', async () => {
    await fc.assert(
      fc.asyncProperty(anyMime(HEADERS), async (bytes) => {
        const message = built(bytes)
        expect(message.subarray(message.length - bytes.length).equals(bytes)).toBe(true)
        expect(built(bytes).equals(message)).toBe(true)
        expect(await parsed(message)).toEqual(await parsed(bytes))
        await expectSigned(message)
      }),
      { numRuns: 100 },
    )
  })

  test('is signed as it leaves when it is encoded or tracked', async () => {
    await fc.assert(
      fc.asyncProperty(anyMime('From: ada@shop.example\r\n'), async (bytes) => {
        await expectSigned(built(bytes, {}, { as7bit: true }))
        await expectSigned(built(bytes, { isTracked: true }))
      }),
      { numRuns: 50 },
    )
  })

  test('gets a date and a Message-ID only if it has none', () => {
    const bare = built(Buffer.from('From: ada@shop.example\r\n\r\nHi\r\n')).toString()
    expect(bare).toContain('Date: Sun, 09 Sep 2001 01:46:40 +0000\r\nMessage-ID: <ours@shop.example>\r\n')
    expect(bare).toContain(`X-Sterna-Id: ${email.id}\r\nX-Sterna-Return-Path: bounce@bounces.example\r\nFrom: `)
    const own = built(Buffer.from('Date: x\r\nmessage-id: <own@x>\r\nFrom: ada@shop.example\r\n\r\n')).toString()
    expect(own.match(/^(date|message-id):/gim)).toHaveLength(2)
  })

  const HTML = Buffer.from(
    'From: ada@shop.example\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<a href="https://shop.example/ü">x</a>\r\n',
  )

  test('has tracked links only if its sender asks for them and the project allows it', async () => {
    const { html = '' } = await PostalMime.parse(built(HTML, { isTracked: true }))
    const [, token] = /\/t\/c\/([\w-]+)/.exec(html)!
    expect(readClickToken(secrets, token!)?.target).toBe('https://shop.example/ü')
    expect(html).toContain('/t/o/')
    for (const untracked of [built(HTML), built(HTML, { isTracked: true }, { tracking: 'MARKETING_ONLY' })])
      expect(untracked.subarray(untracked.length - HTML.length).equals(HTML)).toBe(true)
  })
})
