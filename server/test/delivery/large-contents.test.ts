import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { type Content, createContents } from '../../src/delivery/outbox/contents/content.ts'
import { insertAttachments, insertContents } from '../../src/delivery/outbox/enqueue.ts'
import { newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'

const MB = 1024 * 1024
const sterna = useSharedApp()

type Sizes = { body?: string; files?: number[]; raw?: number }

async function store({ body = '', files = [], raw }: Sizes) {
  const { id: projectId } = await sterna.newProject(await sterna.sharedOwner())
  const id = newId()
  const bytes = raw === undefined ? undefined : randomBytes(raw)
  const attachments = files.map((size, position) => {
    const [filename, contentType] = [`file ${position}`, 'text/plain']
    return { projectId, contentId: id, position, filename, contentType, cid: null, inline: position > 0, bytes: randomBytes(size) }
  })
  const content = { subject: 'S', body, fromAddress: 'a@example.com', fromName: null, replyTo: null, headers: {}, templateId: null }
  await transact(sterna.db, async (tx) => {
    const message = bytes && { bytes, form: '8bit' as const, isTracked: true }
    await insertContents(tx, [{ projectId, id, type: 'TRANSACTIONAL', ...content, ...(message ? { raw: message } : {}) }])
    await insertAttachments(tx, attachments)
  })
  const stored = {
    body,
    raw: bytes ? { bytes, form: '8bit' as const, isTracked: true } : null,
    attachments: attachments.map(({ filename, contentType, inline, bytes: content }) => ({
      filename,
      contentType,
      contentId: null,
      inline,
      content,
    })),
  }
  return { email: { projectId, contentId: id }, stored: hashed(stored) }
}

async function read(email: { projectId: string; contentId: string }) {
  const contents = createContents(sterna.db)
  const found = (await contents.find([email]))(email)!
  const complete = await contents.complete(found)
  return { found, complete, again: (await contents.find([email]))(email)! }
}

type Parts = Pick<Content, 'body' | 'raw' | 'attachments'>

/** Hashes instead of bytes: `toEqual` compares a megabyte in seconds. */
const hashed = ({ body, raw, attachments }: Parts) => ({
  body,
  raw: raw && { ...raw, bytes: hashOf(raw.bytes) },
  attachments: attachments.map(({ content, ...rest }) => ({ ...rest, content: hashOf(content) })),
})
const hashOf = (bytes: Uint8Array) => `${bytes.length} bytes, ${createHash('sha256').update(bytes).digest('hex')}`

test.each<[string, Sizes]>([
  ['a body', { body: 'Hi' }],
  ['a message', { raw: 200_000 }],
  ['files', { body: 'Hi', files: [100_000, 0, 100_000] }],
])('a small content is read at once: %s', async (_, parts) => {
  const { email, stored } = await store(parts)
  const { found, complete } = await read(email)
  expect(found.unreadBytes).toBe(0)
  expect(complete).toBe(found)
  expect(hashed(found)).toEqual(stored)
})

test.each<[string, Sizes]>([
  ['a body', { body: 'ä'.repeat(200_000) }],
  ['a message', { raw: 2 * MB + 3 }],
  ['a message of whole pieces', { raw: 2 * MB }],
  ['many small files', { body: 'Hi', files: [90_000, 90_000, 90_000] }],
  ['files small and large', { body: 'Hi', files: [0, MB + 1, 7] }],
])('a large content has no body, files and message until it is completed: %s', async (_, parts) => {
  const { email, stored } = await store(parts)
  const { found, complete, again } = await read(email)
  expect(found.unreadBytes).toBeGreaterThan(256 * 1024)
  expect(hashed(found)).toEqual({ body: '', raw: null, attachments: [] })
  expect({ ...complete, ...hashed(complete) }).toEqual({ ...found, ...stored, unreadBytes: 0 })
  expect(again).toBe(complete)
})

test('a content that was deleted meanwhile is an error, not a short message', async () => {
  const { email } = await store({ raw: MB })
  const contents = createContents(sterna.db)
  const found = (await contents.find([email]))(email)!
  await transact(sterna.db, (tx) => tx.deleteFrom('contents').where('id', '=', email.contentId).execute())
  await expect(contents.complete(found)).rejects.toThrow('deleted')
})
