import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import sharp from 'sharp'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { many } from '../../src/db/index.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { imageUrl, openStorage } from '../../src/uploads/storage.ts'
import { useApp } from '../support/app.ts'
import { type Format, image } from '../support/files/images.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startS3Server } from '../support/servers/s3-server.ts'

const bucket = { bucket: 'pictures', region: 'eu-north-1', accessKeyId: 'AKIATEST', secretAccessKey: 'a secret of the bucket/+=' }
const s3 = await startS3Server(bucket)
const dataDir = mkdtempSync(join(tmpdir(), 'sterna-s3-'))
const S3 = {
  S3_ENDPOINT: s3.url,
  S3_BUCKET: bucket.bucket,
  S3_REGION: bucket.region,
  S3_ACCESS_KEY_ID: bucket.accessKeyId,
  S3_SECRET_ACCESS_KEY: bucket.secretAccessKey,
}
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', DATA_DIR: dataDir, ...S3 } })
afterAll(() => {
  s3.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

type Project = Awaited<ReturnType<typeof sterna.newProject>>
let project: Project
beforeAll(async () => {
  project = await sterna.newProject()
})
afterEach(() => {
  s3.outage.status = undefined
})

async function upload(content: Buffer, { sk } = project) {
  const form = new FormData()
  form.append('image', new Blob([new Uint8Array(content)]), 'a.png')
  const response = new Response(form)
  const answer = await sterna.app.inject({
    method: 'POST',
    url: '/uploads/image',
    payload: Buffer.from(await response.arrayBuffer()),
    headers: { authorization: `Bearer ${sk}`, 'content-type': response.headers.get('content-type')! },
  })
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
}

const rows = () => many(sterna.db, sql<{ key: string }>`select key from uploads order by id`)

test.each<[Format, string]>([
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
])('a %s is stored in the bucket and served with our own headers', async (format, type) => {
  const { status, body } = await upload(await image(format))
  expect([status, body.url, body.contentType]).toEqual([200, `http://localhost:3000/uploads/${body.key}`, type])
  expect(s3.objects.get(body.key)).toEqual({
    content: expect.objectContaining({ length: body.size }),
    headers: { type, cache: 'public, max-age=31536000, immutable', disposition: `inline; filename="${body.key}"` },
  })
  const answer = await sterna.app.inject({ method: 'GET', url: `/uploads/${body.key}` })
  expect(await sharp(answer.rawPayload).metadata()).toMatchObject({ format, width: 40, height: 20 })
  expect(answer.headers).toMatchObject({
    'content-type': type,
    'content-length': String(body.size),
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  expect(answer.headers).not.toHaveProperty('x-evil')
  expect((await sterna.app.inject({ method: 'HEAD', url: `/uploads/${body.key}` })).headers['content-length']).toBe(String(body.size))
  expect(existsSync(join(dataDir, 'uploads'))).toBe(false)
})

test('a missing object is not found, also if the bucket answers 403', async () => {
  const url = `/uploads/${'0'.repeat(40)}.png`
  expect((await sterna.call('GET', url)).status).toBe(404)
  s3.outage.status = 403
  expect((await sterna.call('GET', url)).status).toBe(404)
})

test.each([500, 503, 403])('while the bucket answers %s an upload is a 503 and leaves no row', async (status) => {
  const before = await rows()
  s3.outage.status = status
  const answer = await upload(await image('png'))
  expect([answer.status, answer.body.error.code, answer.headers['retry-after']]).toEqual([503, 'SERVICE_UNAVAILABLE', '5'])
  expect(JSON.stringify(answer.body)).not.toContain(bucket.accessKeyId)
  expect(await rows()).toEqual(before)
})

test('while the bucket is unreachable an image is a 503', async () => {
  const { body } = await upload(await image('png'))
  s3.outage.status = 500
  expect((await sterna.call('GET', `/uploads/${body.key}`)).status).toBe(503)
})

test('the objects of a deleted project are removed once the bucket is back, and no others', async () => {
  const project = await sterna.newProject()
  const { body: mine } = await upload(await image('png'), project)
  const { body: other } = await upload(await image('png'))
  s3.outage.status = 500
  await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
  await vi.waitFor(async () => expect((await rows()).map(({ key }) => key)).not.toContain(mine.key), { timeout: 40_000 })
  expect(s3.objects.has(mine.key)).toBe(true)
  s3.outage.status = undefined
  await vi.waitFor(() => expect(s3.objects.has(mine.key)).toBe(false), { timeout: 40_000, interval: 50 })
  expect(s3.objects.has(other.key)).toBe(true)
})

test('removing missing objects and many objects succeeds', async () => {
  const storage = openStorage(config(S3))
  const keys = Array.from({ length: 45 }, (_, n) => `${n}.png`)
  for (const key of keys.slice(0, 40)) s3.objects.set(key, { content: Buffer.alloc(1), headers: {} })
  await storage.remove(keys)
  expect([...s3.objects.keys()].filter((key) => keys.includes(key))).toEqual([])
  s3.outage.status = 403
  await expect(storage.remove(['0.png'])).rejects.toThrow()
})

const config = (env: Record<string, string>) => loadConfig({ SECRET_KEY, DATA_DIR: dataDir, ...env })

test('the startup check reports if the bucket accepts writes and leaves no object', async () => {
  const before = [...s3.objects.keys()]
  await openStorage(config(S3)).check()
  expect([...s3.objects.keys()]).toEqual(before)
  await expect(openStorage(config({ ...S3, S3_SECRET_ACCESS_KEY: 'wrong' })).check()).rejects.toThrow()
  await expect(openStorage(config({ ...S3, S3_BUCKET: 'other' })).check()).rejects.toThrow()
})

test('the URL of an image is that of the bucket if it has a public one', () => {
  expect(imageUrl(config({ ...S3, S3_PUBLIC_URL: 'https://cdn.example.com/p/' }), 'a.png')).toBe('https://cdn.example.com/p/a.png')
})

test('the public configuration has the storage type but not the bucket', async () => {
  const { body } = await sterna.call('GET', '/config')
  expect(body.features.storage).toEqual({ kind: 's3' })
  for (const secret of Object.values(S3)) expect(JSON.stringify(body)).not.toContain(secret)
})
