import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Interaction, judgeInteractions, toRecent } from './judge.ts'

const HOUR = 3_600_000
const BURST = 'followed several links at once'
const TRAPPED = 'followed the hidden link'

/** By a person, an hour after the email left at 0. */
const interaction = (kind: Interaction['kind'], at: number, more: Partial<Interaction> = {}): Interaction => ({
  kind,
  link: kind === 'click' ? 1 : 0,
  target: '',
  at: HOUR + at,
  network: 'home',
  client: more.network ?? 'home',
  classification: { by: 'human' },
  ...more,
})
const verdicts = (interactions: Interaction[], recent: Interaction[] = []) =>
  judgeInteractions(interactions, { recent: recent.map(toRecent), leftAt: 0 }).map(({ classification, isRepeat }) =>
    isRepeat ? 'repeat' : classification.by === 'machine' ? classification.reason : classification.by,
  )

describe('judging the opens and clicks of one email', () => {
  test.each<[what: string, interactions: Interaction[], expected: string[]]>([
    ['one open', [interaction('open', 0)], ['human']],
    [
      'an open too soon after sending',
      [interaction('open', 2_999 - HOUR), interaction('open', 3_000 - HOUR)],
      ['too soon after sending', 'human'],
    ],
    ['a click before sending, by a skewed clock', [interaction('click', -5 - HOUR)], ['too soon after sending']],
    ['a machine by its user agent', [interaction('open', -HOUR, { classification: { by: 'machine', reason: 'x' } })], ['x']],
    ['an unknown client', [interaction('open', 0, { classification: { by: 'unknown' } })], ['unknown']],
    [
      'repeated opens within a minute',
      [interaction('open', 0), interaction('open', 59_999), interaction('open', 60_000)],
      ['human', 'repeat', 'human'],
    ],
    [
      'opens by other clients',
      [interaction('open', 0), interaction('open', 1, { network: 'b' }), interaction('open', 2, { client: 'c' })],
      ['human', 'human', 'human'],
    ],
    ['a double click', [interaction('click', 0), interaction('click', 999), interaction('click', 1_000)], ['human', 'repeat', 'human']],
    ['a second link', [interaction('click', 0), interaction('click', 1_001, { link: 2 })], ['human', 'human']],
    ['two links at once', [interaction('click', 0), interaction('click', 1_000, { link: 2 })], [BURST, BURST]],
    [
      'two links at once, from two networks',
      [interaction('click', 0), interaction('click', 5, { link: 2, network: 'b' })],
      ['human', 'human'],
    ],
    [
      'three links at once, from three networks',
      [interaction('click', 0), interaction('click', 5, { link: 2, network: 'b' }), interaction('click', 9, { link: 3, network: 'c' })],
      [BURST, BURST, BURST],
    ],
    [
      'an open with two links at once',
      [interaction('open', 0), interaction('click', 5), interaction('click', 9, { link: 2 })],
      [BURST, BURST, BURST],
    ],
    ['the hidden link', [interaction('open', 0), interaction('trap', 60_000), interaction('click', 120_000)], [TRAPPED, TRAPPED, TRAPPED]],
    [
      'the hidden link, long before or after',
      [interaction('open', 0), interaction('trap', 60_001), interaction('click', 120_002)],
      ['human', TRAPPED, 'human'],
    ],
    ['the hidden link, from another network', [interaction('open', 0), interaction('trap', 1, { network: 'b' })], ['human', TRAPPED]],
    ['a machine, then a person', [interaction('open', -1 - HOUR), interaction('open', 4_000 - HOUR)], ['too soon after sending', 'human']],
  ])('%s', (_, interactions, expected) => {
    expect(verdicts(interactions)).toEqual(expected)
  })

  test('recent ones are taken into account', () => {
    expect(verdicts([interaction('open', 50)], [interaction('open', 0)])).toEqual(['repeat'])
    expect(verdicts([interaction('open', 50)], [interaction('trap', 0)])).toEqual([TRAPPED])
    expect(verdicts([interaction('click', 50)], [interaction('click', 0, { link: 2 })])).toEqual([BURST])
    expect(verdicts([interaction('open', 50)], [interaction('open', 0, { classification: { by: 'machine', reason: 'x' } })])).toEqual([
      'human',
    ])
  })

  test('a person stays a person when the earlier ones are only remembered', () => {
    const kinds = fc.record({
      kind: fc.constantFrom<Interaction['kind'][]>('open', 'click', 'trap'),
      at: fc.integer({ min: 0, max: 90_000 }),
      link: fc.integer({ min: 1, max: 3 }),
      network: fc.constantFrom('a', 'b'),
    })
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: 12 }), fc.nat(12), (given, split) => {
        const interactions = given
          .map(({ kind, at, link, network }) => interaction(kind, at, { network, link: kind === 'click' ? link : 0 }))
          .sort((a, b) => a.at - b.at)
        const first = judgeInteractions(interactions.slice(0, split), { recent: [], leftAt: 0 })
        const kept = first.filter(({ isRepeat }) => !isRepeat).map(toRecent)
        const rest = judgeInteractions(interactions.slice(split), { recent: kept, leftAt: 0 })
        const together = judgeInteractions(interactions, { recent: [], leftAt: 0 }).slice(split)
        for (const [index, { classification }] of together.entries())
          if (classification.by === 'human') expect(rest[index]!.classification.by).toBe('human')
      }),
    )
  })
})
