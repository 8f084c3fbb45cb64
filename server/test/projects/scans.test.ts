import { sql } from 'kysely'
import { beforeAll, expect, test, vi } from 'vitest'
import { many, type Tx } from '../../src/db/index.ts'
import { inScanTurn, scanContacts } from '../../src/projects/scans.ts'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()

/** Two projects of one owner, and one of another. */
let own: string[]
let foreign: string
beforeAll(async () => {
  const [owner, other] = [await sterna.newPerson(), await sterna.newPerson()]
  own = [(await sterna.newProject(owner)).id, (await sterna.newProject(owner)).id]
  foreign = (await sterna.newProject(other)).id
})

const busy = vi.fn(() => 'no turn')

/** A scan that runs until it is ended. */
async function startScan(projectId: string, { isLong = false } = {}) {
  let end = () => {}
  let done: Promise<unknown> = Promise.resolve()
  await new Promise<void>((begun) => {
    const work = () => {
      begun()
      return new Promise<void>((resolve) => {
        end = resolve
      })
    }
    done = inScanTurn(sterna.db, { projectId, isLong }, work, busy)
  })
  return async () => {
    end()
    await done
  }
}

const read = vi.fn(async (tx: Tx) => (await many(tx, sql`select 1`)).length)
const scan = (projectId: string, waitMs?: number) =>
  scanContacts(sterna.db, { projectId, ms: 2_000, ...(waitMs === undefined ? {} : { waitMs }) }, read, () => 'too slow')

test('an owner has one scan at a time, over all of its projects; one that waits too long is given up before it begins', async () => {
  const end = await startScan(own[0]!, { isLong: true })
  read.mockClear()
  expect(await scan(own[1]!, 20)).toBe('too slow')
  expect(read).not.toHaveBeenCalled()
  const waiting = scan(own[1]!, 60_000)
  // A scan of another owner needs no turn of this one, and does not wait for the long scan.
  expect(await scan(foreign)).toBe(1)
  expect(read).toHaveBeenCalledTimes(1)
  await end()
  expect(await waiting).toBe(1)
  expect(busy).not.toHaveBeenCalled()
})

test.each([
  [5_000, 1],
  [300, 'too slow'],
])('a scan that is not quick begins again as a long one, with its limit of %i ms', async (ms, result) => {
  let begun = 0
  const slowly = async (tx: Tx) => {
    begun++
    return (await many(tx, sql`select pg_sleep(${ms > 1_000 ? 0.4 : 30})`)).length
  }
  expect(await scanContacts(sterna.db, { projectId: own[0]!, ms }, slowly, () => 'too slow')).toBe(result)
  expect(begun).toBe(2)
})

test.each([
  [199, 2],
  [201, 1],
])('a scan that took %i ms last time is begun %i times', async (expectedMs, times) => {
  let begun = 0
  const slowly = async (tx: Tx) => {
    begun++
    return (await many(tx, sql`select pg_sleep(0.4)`)).length
  }
  expect(await scanContacts(sterna.db, { projectId: own[0]!, ms: 5_000, expectedMs }, slowly, () => 'too slow')).toBe(1)
  expect(begun).toBe(times)
})

test('a scan that fails frees its place', async () => {
  const failing = () => Promise.reject(new Error('no such column'))
  await expect(inScanTurn(sterna.db, { projectId: own[0]! }, failing, busy)).rejects.toThrow('no such column')
  await expect(scanContacts(sterna.db, { projectId: own[0]!, ms: 100 }, failing, busy)).rejects.toThrow('no such column')
  expect(await scan(own[0]!)).toBe(1)
})
