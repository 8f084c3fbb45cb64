import { expect, test } from 'vitest'
import { createFairQueue } from './fair-queue.ts'

/** A queue whose work the test ends. */
function controlled(options: Partial<Parameters<typeof createFairQueue>[0]> = {}) {
  const queue = createFairQueue({ slots: 4, maxWaiting: 100, maxWaitMs: 10_000, ...options })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  return {
    started,
    submit(key: string, name: string, priority = 0) {
      const work = queue.run(key, priority, () => {
        started.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
      // Work that a test leaves waiting is refused after it.
      work.catch(() => {})
      return work
    },
    async end(name: string) {
      ends.get(name)!()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('a key alone has all slots but one, and a newcomer starts at once', async () => {
  const { started, submit } = controlled()
  for (let n = 0; n < 10; n++) void submit('a', `a${n}`)
  await settle()
  expect(started).toEqual(['a0', 'a1', 'a2'])
  void submit('b', 'b0')
  await settle()
  expect(started.at(-1)).toBe('b0')
})

test('while others wait, one key has at most half of the slots', async () => {
  const { started, submit, end } = controlled()
  for (let n = 0; n < 10; n++) void submit('a', `a${n}`)
  for (let n = 0; n < 10; n++) void submit('b', `b${n}`)
  await settle()
  expect(started).toEqual(['a0', 'a1', 'a2', 'b0'])
  for (const name of ['a0', 'a1']) await end(name)
  expect(started).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'a3'])
  for (const name of ['a2', 'b0', 'a3', 'b1']) await end(name)
  const running = started.slice(-4).map((name) => name[0])
  expect(running.sort()).toEqual(['a', 'a', 'b', 'b'])
})

test('keys take turns, however much one of them has waiting', async () => {
  const { started, submit, end } = controlled({ slots: 1 })
  for (let n = 0; n < 5; n++) void submit('a', `a${n}`)
  for (const key of ['b', 'c']) for (let n = 0; n < 2; n++) void submit(key, `${key}${n}`)
  await settle()
  for (let n = 0; n < 6; n++) await end(started.at(-1)!)
  expect(started).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'c1'])
})

test('a lower priority number starts first, but a key at its share lets the others pass', async () => {
  const { started, submit, end } = controlled({ slots: 2 })
  void submit('a', 'a0')
  void submit('b', 'b0', 1)
  for (const [key, name, priority] of [
    ['c', 'c0', 1],
    ['a', 'a1', 0],
    ['d', 'd0', 0],
  ] as const)
    void submit(key, name, priority)
  await settle()
  expect(started).toEqual(['a0', 'b0'])
  await end('b0')
  expect(started.at(-1)).toBe('d0')
  await end('d0')
  expect(started.at(-1)).toBe('c0')
})

test('a slow key has one slot at a time, and the others pass it', async () => {
  const { started, submit, end } = controlled({ isSlow: (key) => key === 'slow' })
  for (let n = 0; n < 3; n++) void submit('slow', `slow${n}`)
  for (let n = 0; n < 3; n++) void submit('b', `b${n}`)
  await settle()
  expect(started).toEqual(['slow0', 'b0', 'b1'])
  await end('b0')
  expect(started.at(-1)).toBe('b2')
  await end('slow0')
  expect(started.at(-1)).toBe('slow1')
})

test('work that fails frees its slot', async () => {
  const queue = createFairQueue({ slots: 1, maxWaiting: 10, maxWaitMs: 10_000 })
  const failing = queue.run('a', 0, () => Promise.reject(new Error('no')))
  const next = queue.run('a', 0, async () => 'done')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('done')
})

test('waiting work is bounded, and one key has at most half of it', async () => {
  const { submit } = controlled({ slots: 1, maxWaiting: 4 })
  const quietly = (work: Promise<void>) => work.catch((err) => err.code)
  void submit('a', 'a0')
  const held = [quietly(submit('a', 'a1')), quietly(submit('a', 'a2'))]
  expect(await quietly(submit('a', 'a3'))).toBe('SERVICE_UNAVAILABLE')
  held.push(quietly(submit('b', 'b0')), quietly(submit('c', 'c0')))
  expect(await quietly(submit('d', 'd0'))).toBe('SERVICE_UNAVAILABLE')
  expect(held).toHaveLength(4)
})

test('work that waits too long is refused, and other work still runs', async () => {
  const { started, submit, end } = controlled({ slots: 1, maxWaitMs: 20 })
  void submit('a', 'a0')
  await expect(submit('a', 'a1')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  void submit('b', 'b0')
  await end('a0')
  expect(started).toEqual(['a0', 'b0'])
})
