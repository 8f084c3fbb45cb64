import { randomBytes } from 'node:crypto'
import { type Measured, measure, type Scale } from '../load.ts'
import { watchMemory } from '../process.ts'
import { connectToBench, scaled, seedContacts } from '../seed.ts'

export type Product = { url: string; pid: number; projectId: string; secretKey: string; publicKey: string; dataDir: string }
export type Timing = { name: string; result: string }

/** Requests under load: one contact per request, as applications send them. */
export async function measureUpserts({ url, pid, secretKey }: Product, scale: Scale): Promise<[string, Measured][]> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${secretKey}` }
  const upsert = (email: () => string) => ({
    url: `${url}/contacts`,
    method: 'POST' as const,
    headers,
    body: () => JSON.stringify({ email: email(), data: { plan: 'pro', seats: 3 } }),
  })
  return [
    [
      'POST /contacts, new',
      await measure(
        pid,
        upsert(() => `${randomBytes(8).toString('hex')}@bench.example`),
        scale,
      ),
    ],
    [
      'POST /contacts, 10 k existing',
      await measure(
        pid,
        upsert(() => `known${Math.floor(Math.random() * 10_000)}@bench.example`),
        scale,
      ),
    ],
  ]
}

/** Single requests on a large project, one after the other: the median of 21. */
export async function timeLargeProject(product: Product, scale: number): Promise<Timing[]> {
  const client = await connectToBench(product.dataDir)
  const total = await seedContacts(client, product.projectId, scale).finally(() => client.end())
  const get = (path: string) => call(product, path)

  const first = await median(() => get('/contacts?limit=20'))
  const deep = await pageAt(product, Math.min(1_000, Math.floor(total / 100) * 5 - 5))
  const thousandth = await median(() => get(`/contacts?limit=20&cursor=${deep}`))
  const size = `${total.toLocaleString('en')} contacts`
  return [
    { name: `list, page 1, ${size}`, result: ms(first) },
    { name: 'list, page 1,000', result: `${ms(thousandth)} (${(thousandth / first).toFixed(2)} × page 1)` },
    { name: 'search "gmail" (a fifth of all)', result: ms(await median(() => get('/contacts?search=gmail'))) },
    { name: 'search "a1b2c" (a handful)', result: ms(await median(() => get('/contacts?search=a1b2c'))) },
    { name: 'search, no match', result: ms(await median(() => get('/contacts?search=zzzzq'))) },
    { name: 'fields', result: ms(await median(() => get('/contacts/fields'))) },
    { name: 'values of a field', result: ms(await median(() => get('/contacts/fields/city/values'), 3)) },
  ]
}

export async function timeImport(product: Product, scale: number): Promise<Timing> {
  const rows = scaled(60_000, scale)
  const csv = [
    'email,first name,plan,seats,signedUp,city',
    ...Array.from({ length: rows }, (_, n) => `import${n}@bench.example,Ada Lovelace ${n},pro,${n % 50},2024-01-01,City ${n % 1000}`),
  ].join('\n')
  const form = new FormData()
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'contacts.csv')
  const started = performance.now()
  const queued = await fetch(`${product.url}/contacts/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${product.secretKey}` },
    body: form,
  })
  const { jobId } = (await queued.json()) as { jobId: string }
  const memory = watchMemory(product.pid)
  await finished(product, `/contacts/import/${jobId}`)
  const seconds = (performance.now() - started) / 1000
  return {
    name: `import of ${rows.toLocaleString('en')} rows, ${(csv.length / 1024 ** 2).toFixed(1)} MB`,
    result: `${seconds.toFixed(1)} s, ${Math.round(rows / seconds).toLocaleString('en')} rows/s, RSS ${memory.before} MB before, at most ${memory.stop()} MB`,
  }
}

/** The longest write of another client while much is deleted from the large project. */
export async function timeDeletes(product: Product): Promise<Timing[]> {
  const { data } = (await (await call(product, '/contacts?limit=100')).json()) as { data: { id: string; email: string }[] }
  const emails = data.map(({ email }) => email)
  return [
    {
      name: "longest wait of others' writes while a field is deleted from all",
      result: await longestWrite(product, emails, () => send(product, 'DELETE', '/contacts/fields/city')),
    },
    {
      name: "longest wait of others' writes while 1,000 contacts are deleted",
      result: await longestWrite(product, emails.slice(0, 10), async () => {
        const queued = await send(product, 'POST', '/contacts/bulk-delete', { contactIds: await oldestIds(product, 1_000) })
        const { jobId } = (await queued.json()) as { jobId: string }
        await finished(product, `/contacts/bulk/${jobId}`)
      }),
    },
  ]
}

/** Four writers of existing contacts, each one request after the other, until the work is done. */
async function longestWrite(product: Product, emails: string[], work: () => Promise<unknown>) {
  let longest = 0
  let writes = 0
  let done = false
  const write = async () => {
    while (!done) {
      const before = performance.now()
      await send(product, 'POST', '/contacts', { email: emails[writes++ % emails.length], data: { seen: writes } })
      longest = Math.max(longest, performance.now() - before)
    }
  }
  const writers = Array.from({ length: 4 }, write)
  const before = performance.now()
  await work().finally(() => (done = true))
  const seconds = (performance.now() - before) / 1000
  await Promise.all(writers)
  return `${ms(longest)} (${writes.toLocaleString('en')} writes in ${seconds.toFixed(1)} s)`
}

async function oldestIds(product: Product, count: number) {
  const ids: string[] = []
  for (let cursor = ''; ids.length < count; ) {
    const page = (await (await call(product, `/contacts?limit=100&dir=asc${cursor && `&cursor=${cursor}`}`)).json()) as {
      data: { id: string }[]
      cursor: string
    }
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.cursor
  }
  return ids.slice(0, count)
}

async function finished(product: Product, path: string) {
  for (;;) {
    const status = (await (await call(product, path)).json()) as { state: string; failedReason: string | null }
    if (status.state === 'failed') throw new Error(`${path} failed: ${status.failedReason}`)
    if (status.state === 'completed') return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function send({ url, secretKey }: Product, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${secretKey}`, ...(body ? { 'content-type': 'application/json' } : {}) }
  const response = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  if (!response.ok) throw new Error(`${method} ${path} responded ${response.status}: ${await response.text()}`)
  return response
}

export async function call({ url, secretKey }: Product, path: string) {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${secretKey}` } })
  if (!response.ok) throw new Error(`${path} responded ${response.status}`)
  return response
}

/** The cursor of a page, found by paging there in the largest steps. */
async function pageAt(product: Product, page: number) {
  let cursor = ''
  for (let rows = 0; rows < page * 20; rows += 100) {
    const body = (await (await call(product, `/contacts?limit=100${cursor && `&cursor=${cursor}`}`)).json()) as { cursor: string }
    cursor = body.cursor
  }
  // A cursor is valid for this order with any page size.
  return cursor
}

export async function median(work: () => Promise<Response>, times = 21) {
  const taken: number[] = []
  for (let n = 0; n < times; n++) {
    const before = performance.now()
    await (await work()).arrayBuffer()
    taken.push(performance.now() - before)
  }
  return taken.sort((a, b) => a - b)[Math.floor(times / 2)]!
}

export const ms = (time: number) => `${time.toFixed(1)} ms`
