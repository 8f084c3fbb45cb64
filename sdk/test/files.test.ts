import { describe, expect, test } from 'vitest'
import { Download } from '../src/index.ts'
import { errorOf, ok, refusal, useReplies } from './support/api.ts'

const serve = useReplies()
const csv = (disposition?: string) => ({
  status: 200,
  body: 'row,email\n2,ada\n',
  headers: { 'content-type': 'text/csv', ...(disposition && { 'content-disposition': disposition }) },
})

describe('an upload', () => {
  test('is sent as multipart/form-data with the name of the file', async () => {
    const { client, requests } = await serve([ok({})])
    await client.uploads.image(new File(['bytes'], 'logo.png', { type: 'image/png' }))
    await client.uploads.image(new Blob(['bytes']))
    await client.contacts.import(new Blob(['email\n']))
    expect(requests.map(({ line, headers }) => [line, String(headers['content-type']).split(';')[0]])).toEqual([
      ['POST /uploads/image', 'multipart/form-data'],
      ['POST /uploads/image', 'multipart/form-data'],
      ['POST /contacts/import', 'multipart/form-data'],
    ])
    expect(requests.map(({ body }) => /name="(\w+)"; filename="([\w.]+)"/.exec(body)?.slice(1))).toEqual([
      ['image', 'logo.png'],
      ['image', 'image'],
      ['file', 'file'],
    ])
  })
})

describe('a download', () => {
  test.each<[string, (file: Download) => Promise<string>]>([
    ['text', (file) => file.text()],
    ['a blob', async (file) => (await file.blob()).text()],
    ['a stream', (file) => new Response(file.stream()).text()],
  ])('is read as %s', async (_, read) => {
    const { client, requests } = await serve([csv('attachment; filename="errors.csv"')])
    const file = await client.contacts.importErrors('j1')
    expect(file).toBeInstanceOf(Download)
    expect(file).toMatchObject({ filename: 'errors.csv', contentType: 'text/csv' })
    expect(await read(file)).toBe('row,email\n2,ada\n')
    expect(requests[0]).toMatchObject({ line: 'GET /contacts/import/j1/errors', headers: { accept: '*/*' } })
  })

  test('is a download by its operation name too', async () => {
    const { client } = await serve([csv()])
    const file = await client.request('GET /contacts/import/{jobId}/errors', { params: { jobId: 'j1' } })
    expect(await file.text()).toBe('row,email\n2,ada\n')
  })

  test.each<[string | undefined, string | undefined]>([
    [undefined, undefined],
    ['attachment', undefined],
    ['attachment; filename=errors.csv', 'errors.csv'],
    ['attachment; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename="C:\\temp\\errors.csv"', 'errors.csv'],
    ['attachment; filename=".."', undefined],
    ['attachment; filename=""', undefined],
  ])('with the header %s has the name %s', async (disposition, filename) => {
    const { client } = await serve([csv(disposition)])
    const file = await client.contacts.importErrors('j1')
    expect(file.filename).toBe(filename)
    await file.text()
  })

  test('fails like any other call', async () => {
    const { client } = await serve([refusal(404, 'RESOURCE_NOT_FOUND')])
    expect(await errorOf(client.contacts.importErrors('j1'))).toMatchObject({ code: 'RESOURCE_NOT_FOUND', status: 404 })
  })

  test('may take longer than the time limit once it has begun, and is cancelled by the signal', async () => {
    const response = new ReadableStream<Uint8Array>({ start: (queue) => queue.enqueue(new TextEncoder().encode('row,')) })
    let signal: AbortSignal | undefined
    const { client } = await serve([csv()], {
      fetch: async (_, init) => {
        signal = init!.signal!
        return new Response(response)
      },
    })
    const controller = new AbortController()
    await client.contacts.importErrors('j1', { timeoutMs: 1, signal: controller.signal })
    await new Promise((resume) => setTimeout(resume, 20)) // longer than the time limit
    expect(signal?.aborted).toBe(false)
    controller.abort()
    expect(signal?.aborted).toBe(true)
  })
})
