import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect } from 'vitest'
import { toExpression } from '../../src/conditions/expression.ts'
import { type ConditionTree, readCondition } from '../../src/conditions/schema.ts'
import { foldCase } from '../../src/conditions/text/fold-case.ts'
import type { Pool } from '../../src/db/index.ts'
import { compareAnswers, readAll, write } from './readers.ts'

/** Letters with several variants, of one and of several code points, and some without a case. */
const LETTERS = [
  ...'aA kK\u212a sSſ iIıİ éÉ åÅ\u212b ßẞ µμΜ σςΣ θϑϴ ωΩΩ ιΙͅ ǆǅǄ жЖᲆ ꙋꙊᲈ 𐐨𐐀 ꭰᎠ აᲐ ᾳᾼ ŉ ﬀ e\u0301 💥 % _ \\'.replaceAll(' ', ''),
]
/** More letters with a case than one search usually has. */
const MANY = 'абвгдежзийклмнопрстуфхцчшщъыьэюяαβγδεζηθικλμνξοπρστυφχψωáàâäãéèêëíìîïóòôöõúùûü'

const oneOf = (letters: string[]) => fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 5 })
const part = fc.oneof({ weight: 8, arbitrary: oneOf(LETTERS) }, { weight: 1, arbitrary: fc.constantFrom(MANY, MANY.toUpperCase(), '') })
/** From one letter to more than the length from which texts count as long. */
const text = fc
  .tuple(fc.array(part, { maxLength: 4 }), fc.constantFrom(1, 1, 3, 300), fc.array(part, { maxLength: 3 }))
  .map(([start, times, end]) => start.join('').repeat(times) + end.join(''))

/** A part of the text in another case, or any text. */
const needleFor = (texts: string[]) =>
  fc.oneof(
    fc.tuple(fc.constantFrom(...texts), fc.nat(30), fc.integer({ min: 1, max: 12 }), fc.constantFrom('up', 'down', 'same')).map(cut),
    part,
    fc.constant(MANY + MANY.toUpperCase()),
    fc.constant('σ'.repeat(300)),
  )

function cut([from, start, length, form]: [string, number, number, string]) {
  const piece = [...from]
    .slice(-start - length)
    .slice(0, length)
    .join('')
  return form === 'same' ? piece : form === 'up' ? piece.toUpperCase() : piece.toLowerCase()
}

const situation = fc.array(text, { minLength: 6, maxLength: 6 }).chain((texts) =>
  fc.record({
    texts: fc.constant(texts),
    searches: fc.array(
      fc.record({
        field: fc.constantFrom('data.one', 'data.two', 'data.both.one'),
        operator: fc.constantFrom('contains', 'notContains'),
        value: needleFor(texts).filter(Boolean),
      }),
      { minLength: 24, maxLength: 24 },
    ),
  }),
)

/** Trees of one, two, three … searches, alone and together with other filters. */
function treesOf(searches: object[]): ConditionTree[] {
  const subscribed = { field: 'subscribed', operator: 'equals', value: true }
  const filtersOf = [
    searches.slice(0, 1),
    searches.slice(1, 3),
    searches.slice(3, 6),
    [subscribed, ...searches.slice(6, 12)],
    searches.slice(12),
  ]
  return filtersOf.flatMap((filters) => [
    { logic: 'AND', groups: [{ filters }] } as ConditionTree,
    { logic: 'OR', groups: filters.map((filter) => ({ filters: [filter] })) } as ConditionTree,
    {
      logic: 'AND',
      groups: [{ filters: [filters[0]!], conditions: { logic: 'OR', groups: [{ filters }, { filters: [subscribed] }] } }],
    } as ConditionTree,
  ])
}

/** Checks that all readers agree on searches, and find what a search in the folded text finds. */
export const checkSearches = (db: Pool) =>
  fc.assert(
    fc.asyncProperty(situation, async ({ texts, searches }) => {
      const [projectId, at] = [randomUUID(), new Date('2026-03-12T12:00:00Z')]
      const contacts = texts.map((one, index) => ({
        id: randomUUID(),
        email: `${index}@example.com`,
        subscribed: index % 2 === 0,
        data: JSON.stringify({ one, two: texts.at(index - 1), both: index % 3 ? { one: texts.at(index - 2) } : [one] }),
        createdAt: at,
        updatedAt: at,
      }))
      await write(db, { projectId, contacts, events: [], members: [] })
      const trees = treesOf(searches)
      const expressions = trees.map((tree) => toExpression(readCondition(tree, 'condition'), () => undefined))
      const answers = await readAll(db, expressions, { projectId, now: at, deletedFields: new Set() })
      for (const [index, tree] of trees.entries()) {
        const { found, expected } = compareAnswers(answers, index)
        expect(found, JSON.stringify({ tree, texts })).toEqual(expected)
      }
      const [{ field, operator, value }] = searches as [(typeof searches)[number]]
      if (field !== 'data.one') return
      const matching = contacts.filter((_, index) => foldCase(texts[index]!).includes(foldCase(value)) === (operator === 'contains'))
      expect(answers.probed[0]).toEqual(matching.map(({ id }) => id).sort())
    }),
    { numRuns: 15, endOnFailure: true },
  )
