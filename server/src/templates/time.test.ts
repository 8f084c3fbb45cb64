import { afterEach, expect, test, vi } from 'vitest'
import { cpuMsOf, createProgress, isOverrun, type TimedWork } from '../lib/threads/thread-progress.ts'
import { compile } from './language/compile.ts'
import { WAITING } from './rendering/rendered-email.ts'

const isLinux = process.platform === 'linux'
afterEach(() => void vi.restoreAllMocks())

/** Each look at the clock is this much later than the one before. */
function slowDown(stepMs: number) {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += stepMs))
}

const LOOP = '{% for i in (1..10) %}{% if i > 0 %}{{ i }}{% endif %}{% endfor %}'

test.skipIf(!isLinux)('a render that waits for a core is not over its limit', () => {
  slowDown(60)
  expect(compile(LOOP, { html: true })({})).toBe('12345678910')
})

test.skipIf(!isLinux)('a render that waits for a core right at its start is not over its limit', () => {
  slowDown(500)
  expect(compile('{{ 1 }}{{ 2 }}', { html: true })({})).toBe('12')
})

test.skipIf(!isLinux)('a render that waits for something else ends all the same', () => {
  slowDown(1_000)
  expect(() => compile(LOOP, { html: true })({})).toThrow('Rendering took too long.')
})

test.skipIf(!isLinux)('a thread that renders shows its CPU time', async () => {
  const { render } = await import('./rendering/render-thread.ts')
  const progress = createProgress(WAITING)
  render({ template: { subject: 'x', body: LOOP }, recipients: [], progress })
  expect(cpuMsOf(progress)).toBeGreaterThan(0)
})

/** Asks every 10 ms whether work is over its limit of 200 ms, and returns the time at which it is. */
function overrunAt(cpuMsAt: (spentMs: number) => number | undefined) {
  const work: TimedWork = { spentMs: 0, sample: undefined }
  for (; work.spentMs < 10_000; work.spentMs += 10) if (isOverrun(work, 200, () => cpuMsAt(work.spentMs))) return work.spentMs
  return undefined
}

test.each<[string, (spentMs: number) => number | undefined, number]>([
  ['by CPU time, on a core of its own', (spentMs) => spentMs, 210],
  ['by CPU time, on a quarter of a core', (spentMs) => 5_000 + spentMs / 4, 780],
  ['by CPU time, after half a second without a core', (spentMs) => Math.max(0, spentMs - 500), 700],
  ['after thirty times its limit, without any CPU time', () => 7, 6_010],
  ['by time that passes, where CPU time cannot be read', () => undefined, 210],
])('work is over its limit %s', (_, cpuMsAt, expected) => {
  expect(overrunAt(cpuMsAt)).toBe(expected)
})
