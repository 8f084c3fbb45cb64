import { expect, test } from 'vitest'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()

async function newTemplate() {
  const { sk } = await sterna.newProject()
  const call = (method: string, url: string, body?: object, ifMatch?: string) =>
    sterna.call(method, url, { key: sk, ...(body ? { body } : {}), headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } })
  const { body: created } = await call('POST', '/templates', { name: 'T', subject: 'S', body: 'B', type: 'TRANSACTIONAL' })
  const url = `/templates/${created.id}`
  return { url, call, get: () => call('GET', url), patch: (changes: object, ifMatch?: string) => call('PATCH', url, changes, ifMatch) }
}

test('a template has its revision as ETag, and an edit with it succeeds', async () => {
  const { get, patch } = await newTemplate()
  const { headers, body } = await get()
  expect(headers.etag).toBe(`"${body.updatedAt}"`)
  const changed = await patch({ name: 'Second' }, headers.etag as string)
  expect([changed.status, changed.body.name, changed.headers.etag]).toEqual([200, 'Second', `"${changed.body.updatedAt}"`])
  expect(changed.headers.etag).not.toBe(headers.etag)
  expect((await get()).headers.etag).toBe(changed.headers.etag)
})

test('an edit with an older revision is a 409 with the newer one and changes nothing', async () => {
  const { get, patch } = await newTemplate()
  const { headers } = await get()
  const { body: second } = await patch({ name: 'Second' })
  const stale = await patch({ name: 'Third' }, headers.etag as string)
  expect([stale.status, stale.body.error.code, stale.body.error.details]).toEqual([409, 'CONFLICT', { updatedAt: second.updatedAt }])
  expect((await get()).body).toEqual(second)
})

test('one of many concurrent edits with the same revision succeeds', async () => {
  const { get, patch } = await newTemplate()
  const { headers } = await get()
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => patch({ name: `Edit ${n}` }, headers.etag as string)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
})

test('consecutive edits have different revisions', async () => {
  const { patch } = await newTemplate()
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => patch({ name: `Edit ${n}` })))
  expect(new Set(answers.map(({ body }) => body.updatedAt)).size).toBe(10)
})

test.each([
  ['without the header', undefined, 200],
  ['with *', '*', 200],
  ['with a weak tag', (etag: string) => `W/${etag}`, 200],
  ['without quotes', (etag: string) => etag.slice(1, -1), 200],
  ['with several tags', (etag: string) => `"2020-01-01T00:00:00.000Z", ${etag}`, 200],
  ['with no time', '"x"', 409],
  ['with nothing', '', 409],
])('an edit %s has the right status', async (_, given, status) => {
  const { get, patch } = await newTemplate()
  const ifMatch = typeof given === 'function' ? given((await get()).headers.etag as string) : given
  expect((await patch({ name: 'Second' }, ifMatch)).status).toBe(status)
})

test('a missing template is a 404 with any revision, and an invalid edit is a 422', async () => {
  const { url, call, patch } = await newTemplate()
  expect((await patch({ name: '' }, '"2020-01-01T00:00:00.000Z"')).status).toBe(422)
  await call('DELETE', url)
  expect((await patch({ name: 'x' }, '"2020-01-01T00:00:00.000Z"')).status).toBe(404)
})

test('the OpenAPI document declares Idempotency-Key and If-Match where they are used', async () => {
  const { paths } = (await sterna.call('GET', '/openapi.json')).body
  type Operation = { parameters?: { in: string; name: string; required: boolean }[] }
  const headersOf = (operation: Operation) =>
    (operation.parameters ?? []).filter((each) => each.in === 'header').map(({ name, required }) => [name, required])
  const repeated = [
    ['Idempotency-Key', false],
    ['Idempotency-Replay', false],
  ]
  expect(headersOf(paths['/v1/send'].post)).toEqual(repeated)
  expect(headersOf(paths['/v1/track'].post)).toEqual(repeated)
  expect(headersOf(paths['/events/track'].post)).toEqual([])
  expect(headersOf(paths['/templates/{id}'].patch)).toEqual([['If-Match', false]])
})
