import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Hit, judgeHit, seenOf } from './judge.ts'

const HOUR = 3_600_000
const BURST = 'followed several links at once'
const TRAPPED = 'followed the hidden link'

/** A reader's hit, an hour after the mail left at 0. */
const hit = (kind: Hit['kind'], at: number, more: Partial<Hit> = {}): Hit => ({
  kind,
  link: kind === 'click' ? 1 : 0,
  target: '',
  at: HOUR + at,
  network: 'home',
  client: more.network ?? 'home',
  opinion: { by: 'human' },
  ...more,
})
const verdicts = (hits: Hit[], recent: Hit[] = []) =>
  judgeHit(hits, { recent: recent.map(seenOf), leftAt: 0 }).map(({ opinion, isRepeat }) =>
    isRepeat ? 'repeat' : opinion.by === 'machine' ? opinion.reason : opinion.by,
  )

describe('of the hits of one mail', () => {
  test.each<[what: string, hits: Hit[], expected: string[]]>([
    ['one', [hit('open', 0)], ['human']],
    ['too soon', [hit('open', 2_999 - HOUR), hit('open', 3_000 - HOUR)], ['too soon after sending', 'human']],
    ['before it left, by another clock', [hit('click', -5 - HOUR)], ['too soon after sending']],
    ['what it is by its name, first', [hit('open', -HOUR, { opinion: { by: 'machine', reason: 'x' } })], ['x']],
    ['unknown', [hit('open', 0, { opinion: { by: 'unknown' } })], ['unknown']],
    ['the image within a minute', [hit('open', 0), hit('open', 59_999), hit('open', 60_000)], ['human', 'repeat', 'human']],
    [
      'the image, by others',
      [hit('open', 0), hit('open', 1, { network: 'b' }), hit('open', 2, { client: 'c' })],
      ['human', 'human', 'human'],
    ],
    ['a double click', [hit('click', 0), hit('click', 999), hit('click', 1_000)], ['human', 'repeat', 'human']],
    ['a second link', [hit('click', 0), hit('click', 1_001, { link: 2 })], ['human', 'human']],
    ['two links at once', [hit('click', 0), hit('click', 1_000, { link: 2 })], [BURST, BURST]],
    ['two links at once, from two networks', [hit('click', 0), hit('click', 5, { link: 2, network: 'b' })], ['human', 'human']],
    [
      'three links at once, from three networks',
      [hit('click', 0), hit('click', 5, { link: 2, network: 'b' }), hit('click', 9, { link: 3, network: 'c' })],
      [BURST, BURST, BURST],
    ],
    ['the image, with two links', [hit('open', 0), hit('click', 5), hit('click', 9, { link: 2 })], [BURST, BURST, BURST]],
    ['the hidden link', [hit('open', 0), hit('trap', 60_000), hit('click', 120_000)], [TRAPPED, TRAPPED, TRAPPED]],
    ['the hidden link, long before or after', [hit('open', 0), hit('trap', 60_001), hit('click', 120_002)], ['human', TRAPPED, 'human']],
    ['the hidden link, elsewhere', [hit('open', 0), hit('trap', 1, { network: 'b' })], ['human', TRAPPED]],
    ['a machine, then a person', [hit('open', -1 - HOUR), hit('open', 4_000 - HOUR)], ['too soon after sending', 'human']],
  ])('%s', (_, hits, expected) => {
    expect(verdicts(hits)).toEqual(expected)
  })

  test('those shortly before are not forgotten', () => {
    expect(verdicts([hit('open', 50)], [hit('open', 0)])).toEqual(['repeat'])
    expect(verdicts([hit('open', 50)], [hit('trap', 0)])).toEqual([TRAPPED])
    expect(verdicts([hit('click', 50)], [hit('click', 0, { link: 2 })])).toEqual([BURST])
    expect(verdicts([hit('open', 50)], [hit('open', 0, { opinion: { by: 'machine', reason: 'x' } })])).toEqual(['human'])
  })

  test('who is a person with all of them at hand is one as well when some are only remembered', () => {
    const kinds = fc.record({
      kind: fc.constantFrom<Hit['kind'][]>('open', 'click', 'trap'),
      at: fc.integer({ min: 0, max: 90_000 }),
      link: fc.integer({ min: 1, max: 3 }),
      network: fc.constantFrom('a', 'b'),
    })
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: 12 }), fc.nat(12), (given, split) => {
        const hits = given
          .map(({ kind, at, link, network }) => hit(kind, at, { network, link: kind === 'click' ? link : 0 }))
          .sort((a, b) => a.at - b.at)
        const first = judgeHit(hits.slice(0, split), { recent: [], leftAt: 0 })
        const kept = first.filter(({ isRepeat }) => !isRepeat).map(seenOf)
        const rest = judgeHit(hits.slice(split), { recent: kept, leftAt: 0 })
        const together = judgeHit(hits, { recent: [], leftAt: 0 }).slice(split)
        for (const [index, { opinion }] of together.entries()) if (opinion.by === 'human') expect(rest[index]!.opinion.by).toBe('human')
      }),
    )
  })
})
