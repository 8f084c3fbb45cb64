import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSemaphore } from './semaphore.ts'

const settle = () => new Promise((done) => setImmediate(done))

/** Work that the test ends. */
function work(log: string[], name: string) {
  let end = () => {}
  const ended = new Promise<void>((done) => {
    end = done
  })
  return {
    end: () => end(),
    run: async () => {
      log.push(name)
      await ended
      if (name.includes('bad')) throw new Error(name)
      return name
    },
  }
}

test('two run, the others wait in order, and a failure frees its slot', async () => {
  const inTurn = createSemaphore(2)
  const begun: string[] = []
  const [a, bad, c, d] = ['a', 'bad', 'c', 'd'].map((name) => work(begun, name)) as [Work, Work, Work, Work]
  const results = [a, bad, c, d].map(({ run }) => inTurn(run).catch((err: Error) => err.message))
  await settle()
  expect(begun).toEqual(['a', 'bad'])
  bad.end()
  await settle()
  expect(begun).toEqual(['a', 'bad', 'c'])
  for (const each of [a, c, d]) each.end()
  expect(await Promise.all(results)).toEqual(['a', 'bad', 'c', 'd'])
})
type Work = ReturnType<typeof work>

test('the limit holds, all work runs, and it starts in order, however long each piece takes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 20 }),
      async (atOnce, lengths) => {
        const inTurn = createSemaphore(atOnce)
        const begun: number[] = []
        let running = 0
        let most = 0
        const one = async (length: number, index: number) => {
          begun.push(index)
          most = Math.max(most, ++running)
          for (let n = 0; n < length; n++) await settle()
          running--
        }
        await Promise.all(lengths.map((length, index) => inTurn(() => one(length, index))))
        expect(begun).toEqual(lengths.map((_, index) => index))
        expect(most).toBe(Math.min(atOnce, lengths.length))
      },
    ),
    { numRuns: 50 },
  )
})
