import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FailoverMode, holdAfterRepeat, holdAfterSilence, judgeServer, type ServerVerdict } from './failover.ts'

const [ONE, TWO, OTHER] = ['77/00000001', '77/00000002', '78/00000001']
type Evidence = Parameters<typeof judgeServer>[0]
const worker: Evidence = {
  mode: 'auto',
  known: ONE,
  found: TWO,
  acknowledged: 5,
  stored: 5,
  silent: 2,
  isProven: false,
  hasLeftLately: true,
}
const starting: Evidence = { ...worker, acknowledged: undefined, stored: undefined }

describe('a node that meets a database server', () => {
  test.each<[string, Evidence, ServerVerdict]>([
    ['the first one', { ...worker, known: null }, 'same'],
    ['the same one', { ...worker, found: ONE }, 'same'],
    ['another cluster', { ...worker, found: OTHER }, 'other'],
    ['another cluster, with failovers to be ignored', { ...worker, mode: 'continue', found: OTHER }, 'other'],
    ['a promoted standby that has its counter', worker, 'repeat'],
    ['one that has a commit whose acknowledgement was lost', { ...worker, stored: 6 }, 'repeat'],
    ['one that lacks an acknowledged commit', { ...worker, stored: 4 }, 'lossy'],
    ['one without its row', { ...worker, stored: undefined }, 'lossy'],
    ['one from which others that found their counters have removed it', { ...worker, stored: undefined, isProven: true }, 'repeat'],
    ['an older timeline', { ...worker, known: TWO, found: ONE }, 'lossy'],
    ['the tenth timeline after the ninth', { ...worker, known: '77/00000009', found: '77/0000000A' }, 'repeat'],
    ['a failover that a person is to decide about', { ...worker, mode: 'hold' }, 'lossy'],
    ['a failover that is to be ignored', { ...worker, mode: 'continue', stored: 0 }, 'repeat'],
    ['a failover while it was stopped, and others know', starting, 'ask'],
    ['a failover while all workers were stopped in order', { ...starting, silent: 0 }, 'complete'],
    ['a server restored to a time long ago, when no worker was running', { ...starting, silent: 0, hasLeftLately: false }, 'lossy'],
    ['the same, with failovers to be ignored', { ...starting, mode: 'continue', silent: 0, hasLeftLately: false }, 'complete'],
  ])('%s', (_, evidence, verdict) => {
    expect(judgeServer(evidence)).toBe(verdict)
  })

  const any = fc.record({
    mode: fc.constantFrom<FailoverMode>('auto', 'hold', 'continue'),
    known: fc.constantFrom(ONE, TWO, null),
    found: fc.constantFrom(ONE, TWO, OTHER),
    acknowledged: fc.option(fc.nat(5), { nil: undefined }),
    stored: fc.option(fc.nat(5), { nil: undefined }),
    silent: fc.nat(2),
    isProven: fc.boolean(),
    hasLeftLately: fc.boolean(),
  })

  test('never goes on without a hold where an acknowledged commit is missing, unless it is told to', () => {
    fc.assert(
      fc.property(any, (evidence) => {
        const { mode, known, found, acknowledged, stored } = evidence
        fc.pre(known !== null && known !== found && acknowledged !== undefined && stored !== undefined && stored < acknowledged)
        expect(judgeServer(evidence)).toBe(found === OTHER ? 'other' : mode === 'continue' ? 'repeat' : 'lossy')
      }),
    )
  })
})

describe('a worker that has repeated what it settled', () => {
  const whole = { mode: 'auto', verdict: 'repeat', isComplete: true, unrecorded: 0 } as const
  test.each([
    ['goes on', whole, undefined],
    ['goes on after a loss when all workers have', { ...whole, verdict: 'lossy' } as const, { untilResumed: false }],
    ['waits for a person if its journal is too short', { ...whole, isComplete: false }, { untilResumed: true }],
    ['waits for a person if emails are missing that would be made again', { ...whole, unrecorded: 1 }, { untilResumed: true }],
    ['waits for a person if told to', { ...whole, mode: 'hold', verdict: 'lossy' } as const, { untilResumed: true }],
    ['goes on in any case if told to', { ...whole, mode: 'continue', isComplete: false, unrecorded: 3 } as const, undefined],
  ])('%s', (_, repeated, hold) => {
    expect(holdAfterRepeat(repeated)).toEqual(hold)
  })
})

describe('a worker that is gone after a failover', () => {
  test.each([
    ['holds nothing if another has found its counter', { mode: 'auto', isProven: true, isHeld: false } as const, undefined],
    ['needs a person if no other knows', { mode: 'auto', isProven: false, isHeld: false } as const, { untilResumed: true }],
    ['needs a person if commits were lost', { mode: 'auto', isProven: true, isHeld: true } as const, { untilResumed: true }],
    ['holds nothing if failovers are to be ignored', { mode: 'continue', isProven: false, isHeld: false } as const, undefined],
  ])('%s', (_, silence, hold) => {
    expect(holdAfterSilence(silence)).toEqual(hold)
  })
})
