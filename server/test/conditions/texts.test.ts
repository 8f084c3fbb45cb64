import fc from 'fast-check'
import { type RawBuilder, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { readTime } from '../../src/conditions/moment.ts'
import { isTimeBetweenSql } from '../../src/conditions/moment-sql.ts'
import { foldCase, foldedSql } from '../../src/conditions/text/fold-case.ts'
import { many } from '../../src/db/index.ts'
import { useDatabase } from './readers.ts'

const database = useDatabase()
const text = sql`given.text`

/** The texts that meet a condition, as PostgreSQL sees it. */
async function findTexts(texts: string[], condition: RawBuilder<unknown>) {
  const query = sql<{ text: string }>`select text from unnest(${texts}::text[]) as given(text) where ${condition}`
  return (await many(database.db, query)).map((row) => row.text)
}

const product = (...parts: string[][]) => parts.reduce((texts, part) => texts.flatMap((start) => part.map((end) => start + end)))
const padded = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => String(first + n).padStart(2, '0'))

describe('dates in SQL are those of the matcher:', () => {
  test.each([
    ['days', product(['0000', '0001', '0004', '1900', '2000', '2023', '2024', '9999'], ['-'], padded(0, 13), ['-'], padded(0, 32))],
    ['hours and minutes', product(['2024-02-29T'], padded(0, 30), [':', '.'], ['00', '09', '59', '60', '99'], ['Z', '+00:00'])],
    ['seconds', product(['2024-02-29T23:59'], [':', '.', ''], ['', '00', '59', '60', '9'], ['Z', 'z', '', '-01:30'])],
    ['decimals', product(['2024-02-29T23:59:59'], ['.', ',', ''], ['', '1', '123456789', '1234567890'], ['Z', '+14:59'])],
    [
      'offsets',
      product(['2024-02-29T23:59', '2024-02-29T23:59:59.1'], ['+', '-', ' ', 'Z'], padded(0, 25), ['', ':'], ['', '00', '59', '60']),
    ],
    ['extremes', product(['0001-01-01', '9999-12-31'], ['T00:00:00', 'T23:59:59', 'T23:59:59.9999'], ['Z', '+14:59', '-14:59'])],
    [
      'other texts',
      ['', ' ', 'infinity', 'now', 'epoch', '٢٠٢٤-٠٢-٢٩', '2024-02-29\n', ' 2024-02-29', '20240229', '2024-02-29BC', 'x'.repeat(70_000)],
    ],
  ])('%s', async (_, texts) => {
    const dates = texts.filter((each) => readTime(each) !== undefined)
    // Any date is before or not before a time.
    const noon = Date.parse('2024-02-29T12:00:00Z')
    const found = [
      ...(await findTexts(texts, isTimeBetweenSql(text, { from: noon, to: undefined }))),
      ...(await findTexts(texts, isTimeBetweenSql(text, { from: undefined, to: noon }))),
    ]
    expect(found.sort()).toEqual(dates.sort())
  })

  test('their order, to the millisecond', async () => {
    const moments = ['2024-02-29T00:00:00.000Z', '2024-02-28T23:59:59.999Z', '2024-02-29T12:00:00.000Z', '2024-02-29T12:30:15.100Z']
    const times = moments.flatMap((moment) => [-1000, -1, 0, 1, 1000, 60_000].map((distance) => Date.parse(moment) + distance))
    const forms = times.flatMap((time) => {
      const iso = new Date(time).toISOString().slice(0, -1)
      const [ahead, behind] = [5.5, -9].map((hours) => new Date(time + hours * 3_600_000).toISOString().slice(0, -1))
      const decimals = ['', '0', '000000', '499999', '999999'].flatMap((more) => [
        `${iso}${more}Z`,
        `${ahead}${more}+05:30`,
        `${behind}${more}-09:00`,
      ])
      return [
        iso.slice(0, 10),
        `${iso.slice(0, 16)}Z`,
        `${iso.slice(0, 19)}Z`,
        `${iso.slice(0, 21)}Z`,
        `${ahead!.slice(0, 16)}+05:30`,
        ...decimals,
      ]
    })
    const texts = [...new Set(forms)]
    for (const time of times) {
      const expected = texts.filter((each) => readTime(each)! >= time).sort()
      expect((await findTexts(texts, isTimeBetweenSql(text, { from: time, to: undefined }))).sort()).toEqual(expected)
      const before = texts.filter((each) => readTime(each)! < time).sort()
      expect((await findTexts(texts, isTimeBetweenSql(text, { from: undefined, to: time }))).sort()).toEqual(before)
    }
  })
})

describe('a text is searched without regard to case by the same rules in SQL, for every letter,', () => {
  const cased = Array.from({ length: 0x1f000 }, (_, code) => (code >= 0xd800 && code <= 0xdfff ? '' : String.fromCodePoint(code)))
    .join('')
    .match(/\p{Changes_When_Casemapped}/gu)!
  const needles = [...new Set(cased.map(foldCase))]

  test.each([
    ['with the collation of the database', text],
    ['with one that has other rules for i', sql`given.text collate "tr-x-icu"`],
  ])('%s', async (_, collated) => {
    expect(cased.length).toBeGreaterThan(2_500)
    // As the folded text of a search for all of them at once.
    const query = sql<{
      folded: string
    }>`select ${foldedSql(sql`(${collated})`, needles)} as folded from unnest(${cased}::text[]) as given(text)`
    expect((await many(database.db, query)).map(({ folded }) => folded)).toEqual(cased.map(foldCase))
  })

  test('in any text, with few or many letters of the other case', async () => {
    const letter = fc.constantFrom(...cased.slice(0, 400), ...'ab1漢')
    // From none to more than are replaced one by one.
    const given = fc.record({ known: fc.array(letter, { minLength: 1, maxLength: 30 }), places: fc.array(fc.nat(), { maxLength: 60 }) })
    const search = fc.record({
      given,
      from: fc.nat(60),
      length: fc.integer({ min: 1, max: 30 }),
      more: fc.array(letter, { maxLength: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(search, async ({ given: { known, places }, from, length, more }) => {
        const whole = places.map((place) => known[place % known.length]!).join('')
        const needles = [[...whole].slice(from, from + length).join(''), more.join('')].map(foldCase).filter(Boolean)
        const found = await Promise.all(
          needles.map((needle) => findTexts([whole], sql`strpos(${foldedSql(text, needles)}, ${needle}) > 0`)),
        )
        expect(found.map(({ length: count }) => count > 0)).toEqual(needles.map((needle) => foldCase(whole).includes(needle)))
      }),
      { numRuns: 200 },
    )
  })
})
