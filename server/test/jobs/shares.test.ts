import { afterEach, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { withoutWaiting } from '../../src/db/when-reachable.ts'
import { type Handlers, startEngine } from '../../src/jobs/engine.ts'
import { enqueue } from '../../src/jobs/enqueue.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'

// Without a worker: jobs end when the test says so.
const sterna = useApp({ withWorker: false })

/** As in engine.ts. */
const SLOTS = 4

let stop = async () => {}
afterEach(() => stop())

/** Runs jobs of the queue; each waits for the test. */
async function startJobs() {
  const running = new Map<string, () => void>()
  const started: string[] = []
  const hang = ({ segmentId = '' }: { segmentId?: string }) =>
    new Promise<void>((resolve) => {
      started.push(segmentId)
      running.set(segmentId, () => {
        running.delete(segmentId)
        resolve()
      })
    })
  const engine = await startEngine({
    url: sterna.url,
    db: sterna.db,
    log: createLog('silent'),
    livenessKey: 815,
    isHeld: () => true,
    handlers: { 'segments.count': hang } as unknown as Handlers,
    crons: [],
    withSchedule: false,
    reach: withoutWaiting,
  })
  stop = async () => {
    const ended = engine.stop()
    while (running.size) for (const end of running.values()) end()
    await ended
  }
  const end = (name: string) => running.get(name)!()
  return { started, running, end }
}

/** The segment is the name of the job. */
const add = (projectId: string, ...names: string[]) =>
  transact(sterna.db, async (tx) => {
    for (const segmentId of names) await enqueue(tx, 'segments.count', { projectId, segmentId })
  })

test('long jobs of the projects of one owner do not delay those of others', async () => {
  const ann = await sterna.newPerson()
  const [first, second] = [await sterna.newProject(ann), await sterna.newProject(ann)]
  const [bob, cid] = [await sterna.newProject(), await sterna.newProject()]
  await add(first.id, ...times(10, (n) => `ann ${n}`))
  await add(second.id, ...times(10, (n) => `ann ${10 + n}`))
  const { started, running, end } = await startJobs()
  const names = () => [...running.keys()].map((name) => name.split(' ')[0]).sort()

  // All slots, while no other owner waits.
  await eventually(() => expect(names()).toEqual(times(SLOTS, () => 'ann')))
  // The slot beyond the pool.
  await add(bob.id, 'bob 1', 'bob 2')
  await eventually(() => expect(names()).toEqual([...times(SLOTS, () => 'ann'), 'bob']))
  // It is free again, for the next owner without a job.
  await add(cid.id, 'cid 1')
  end('bob 1')
  await eventually(() => expect(started).toContain('cid 1'))
  end('cid 1')
  await eventually(() => expect(started).toContain('bob 2'))

  // While others wait, an owner has at most half of the slots.
  await add(cid.id, 'cid 2', 'cid 3', 'cid 4')
  for (const name of [...running.keys()].filter((each) => each.startsWith('ann'))) {
    end(name)
    await eventually(() => expect(running.size).toBeGreaterThanOrEqual(SLOTS))
  }
  await eventually(() => expect(running.size).toBe(SLOTS))
  expect(names().filter((name) => name === 'ann').length).toBeLessThanOrEqual(SLOTS / 2)
})
