import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Data, type DataPatch, inferType, mergePatches, NO_DATA, readData } from './data.ts'

/** Parsed like a request body: `__proto__` is then an ordinary key, unlike in an object literal. */
const json = (text: string) => JSON.parse(text) as Record<string, unknown>
/** Copies with prototypes, so that failed assertions print the content of a patch. */
const show = ({ set, unset, transient }: DataPatch) => ({
  set: JSON.parse(JSON.stringify(set)),
  unset: [...unset].sort(),
  transient: JSON.parse(JSON.stringify(transient)),
})

describe('readData', () => {
  const stored = (value: unknown) => ({ set: { key: value }, unset: [], transient: {} })
  const deleted = { set: {}, unset: ['key'], transient: {} }
  const ignored = { set: {}, unset: [], transient: {} }
  const forNow = (value: unknown) => ({ set: {}, unset: [], transient: { key: value } })

  test.each<[string, unknown, object]>([
    ['a text', 'pro', stored('pro')],
    ['a blank', ' ', stored(' ')],
    ['a number', 42, stored(42)],
    ['zero', 0, stored(0)],
    ['a fraction', -0.5, stored(-0.5)],
    ['true', true, stored(true)],
    ['false', false, stored(false)],
    ['an object', { city: 'Bonn' }, stored({ city: 'Bonn' })],
    ['an empty object', {}, stored({})],
    ['an array', [1, 'two', null], stored([1, 'two', null])],
    ['an empty array', [], stored([])],
    ['an object with null and "" inside', { a: null, b: '' }, stored({ a: null, b: '' })],
    ['null', null, deleted],
    ['""', '', ignored],
    ['{ value, persistent: true }', { value: 'pro', persistent: true }, stored('pro')],
    ['{ value, persistent: false }', { value: 'pro', persistent: false }, forNow('pro')],
    ['a wrapped object', { value: { a: 1 }, persistent: true }, stored({ a: 1 })],
    ['a wrapped object that is not kept', { value: { a: 1 }, persistent: false }, forNow({ a: 1 })],
    ['a wrapped array that is not kept', { value: [1], persistent: false }, forNow([1])],
    ['a wrapped false that is not kept', { value: false, persistent: false }, forNow(false)],
    ['a wrapped zero', { value: 0, persistent: true }, stored(0)],
    ['a wrapped null', { value: null, persistent: true }, deleted],
    ['a wrapped ""', { value: '', persistent: true }, ignored],
    ['a wrapped "" that is not kept', { value: '', persistent: false }, ignored],
    // Deletes nothing: a value that is not persistent does not change the contact.
    ['a wrapped null that is not kept', { value: null, persistent: false }, forNow(null)],
    // Only the outermost object counts as a wrapper.
    ['a wrapper in a wrapper', { value: { value: 1, persistent: false }, persistent: true }, stored({ value: 1, persistent: false })],
    ['a wrapper with more keys', { value: 'pro', persistent: false, note: 'x' }, forNow('pro')],
    ['an object with `value` only', { value: 'pro' }, stored({ value: 'pro' })],
    ['an object with `persistent` only', { persistent: false }, stored({ persistent: false })],
    ['a wrapper whose `persistent` is a text', { value: 1, persistent: 'false' }, stored({ value: 1, persistent: 'false' })],
    ['a wrapper whose `persistent` is null', { value: 1, persistent: null }, stored({ value: 1, persistent: null })],
    ['a wrapper whose `persistent` is 0', { value: 1, persistent: 0 }, stored({ value: 1, persistent: 0 })],
    ['a list of wrappers', [{ value: 1, persistent: false }], stored([{ value: 1, persistent: false }])],
  ])('reads %s', (_, value, patch) => {
    expect(show(readData({ key: value }))).toEqual(patch)
  })

  test.each(['id', 'email', 'service_id', 'service_email', 'sterna_id', 'sterna_email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl'])(
    'drops the reserved key %s in every form',
    (key) => {
      const forms = [
        'x',
        1,
        null,
        {},
        { value: 'x', persistent: true },
        { value: 'x', persistent: false },
        { value: null, persistent: true },
      ]
      for (const value of forms) expect(show(readData({ [key]: value, kept: 1 }))).toEqual({ set: { kept: 1 }, unset: [], transient: {} })
    },
  )

  test.each(['ID', 'Email', 'e-mail', 'unsubscribeURL', 'subscribed', 'createdAt', 'updatedAt', 'data', 'locale', 'projectId', 'user_id'])(
    'keeps the key %s, which is not reserved',
    (key) => {
      expect(show(readData({ [key]: 'de' }))).toEqual({ set: { [key]: 'de' }, unset: [], transient: {} })
    },
  )

  test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', '__proto__'])(
    'treats %s as an ordinary key that reaches no prototype',
    (key) => {
      const text = (value: string) => json(`{${JSON.stringify(key)}:${value}}`)
      const stored = readData(text('{"polluted":1}'))
      expect(JSON.stringify(stored.set)).toBe(`{${JSON.stringify(key)}:{"polluted":1}}`)
      expect(JSON.stringify(readData(text('{"value":1,"persistent":false}')).transient)).toBe(`{${JSON.stringify(key)}:1}`)
      expect(readData(text('null')).unset).toEqual([key])
      expect(({} as { polluted?: number }).polluted).toBeUndefined()
      expect((stored.set as { polluted?: number }).polluted).toBeUndefined()
    },
  )

  test('returns a patch without inherited keys', () => {
    const { set, transient } = readData({})
    expect(['constructor', 'toString', '__proto__'].filter((key) => key in set || key in transient)).toEqual([])
  })
})

describe('the schema of `data`', () => {
  const codes = (data: unknown) =>
    Data.safeParse(data).error?.issues.map(({ path, code, ...issue }) => [
      path.join('.'),
      (issue as { params?: { code: string } }).params?.code ?? code,
    ])
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))

  test.each<[string, unknown, unknown]>([
    ['an object', {}, undefined],
    ['an array', [], [['', 'invalid_type']]],
    ['a text', 'x', [['', 'invalid_type']]],
    ['a number', 1, [['', 'invalid_type']]],
    ['locale as text', { locale: 'de' }, undefined],
    ['locale as null', { locale: null }, undefined],
    ['locale as ""', { locale: '' }, undefined],
    ['locale wrapped', { locale: { value: 'de', persistent: false } }, undefined],
    ['locale as a number', { locale: 1 }, [['locale', 'invalid_type']]],
    ['locale as a boolean', { locale: true }, [['locale', 'invalid_type']]],
    ['locale as an object', { locale: {} }, [['locale', 'invalid_type']]],
    ['locale as an array', { locale: ['de'] }, [['locale', 'invalid_type']]],
    ['locale wrapped, not a text', { locale: { value: 1, persistent: false } }, [['locale', 'invalid_type']]],
    ['500 keys', keys(500), undefined],
    ['501 keys', keys(501), [['', 'too_big']]],
    ['a key of 255 bytes', { ['x'.repeat(255)]: 1 }, undefined],
    ['a key of 256 bytes', { ['x'.repeat(256)]: 1 }, [['x'.repeat(50), 'too_big']]],
    ['a key of 128 letters and 256 bytes', { ['é'.repeat(128)]: 1 }, [['é'.repeat(50), 'too_big']]],
    ['an empty key', { '': 1 }, [['', 'too_big']]],
    ['a text of 65,536', { key: 'x'.repeat(65_536) }, undefined],
    ['a text of 65,537', { key: 'x'.repeat(65_537) }, [['key', 'too_big']]],
    ['an object of more than 65,536', { key: { a: 'x'.repeat(65_536) } }, [['key', 'too_big']]],
    ['a wrapped text of more than 65,536', { key: { value: 'x'.repeat(65_537), persistent: false } }, [['key', 'too_big']]],
  ])('checks %s', (_, data, expected) => {
    expect(codes(data)).toEqual(expected)
  })
})

describe('the type of a value', () => {
  test.each<[unknown, string]>([
    [1, 'number'],
    [0, 'number'],
    [-1.5, 'number'],
    [1e21, 'number'],
    [true, 'boolean'],
    [false, 'boolean'],
    ['2026-01-31', 'date'],
    ['2026-01-31T23:59:59Z', 'date'],
    ['2026-01-31T23:59:59.123Z', 'date'],
    ['2026-01-31T23:59:59', 'string'],
    ['2026-01-31T23:59:59+01:00', 'string'],
    ['2026-01-31T23:59Z', 'string'],
    ['2026-01-31 23:59:59Z', 'string'],
    ['2026-01-31T23:59:59.Z', 'string'],
    ['2026-1-31', 'string'],
    ['31.01.2026', 'string'],
    ['20260131', 'string'],
    [' 2026-01-31', 'string'],
    ['2026-01-31\n', 'string'],
    ['x2026-01-31', 'string'],
    ['1', 'string'],
    ['true', 'string'],
    ['pro', 'string'],
    ['', 'string'],
    [{}, 'string'],
    [{ a: 1 }, 'string'],
    [[1], 'string'],
    [['2026-01-31'], 'string'],
  ])('%j is a %s', (value, type) => {
    expect(inferType(value)).toBe(type)
  })
})

describe('two patches', () => {
  // Few keys, so that patches overlap; some of them are inherited by every object.
  const key = fc.constantFrom('a', 'b', 'constructor', 'toString', '__proto__', 'locale')
  const value = fc.oneof(fc.constantFrom('x', 'y', ''), fc.integer(), fc.constant(null), fc.constant({ deep: [1] }))
  const given = fc.oneof(value, fc.record({ value, persistent: fc.boolean() }))
  const patch = fc.array(fc.tuple(key, given), { maxLength: 6 }).map((pairs) => {
    const data: Record<string, unknown> = Object.create(null)
    for (const [name, each] of pairs) data[name] = each
    return readData(data)
  })
  const plain = fc.array(fc.tuple(key, fc.integer()), { maxLength: 4 }).map((pairs) => new Map<string, unknown>(pairs))

  /** Applies a patch like the database: merge, then delete. */
  function apply(contact: Map<string, unknown>, { set, unset }: DataPatch) {
    const after = new Map([...contact, ...Object.entries(set)])
    for (const name of unset) after.delete(name)
    return after
  }
  /** As text with every key: deep equality of objects ignores a key `__proto__`. */
  const whole = ({ set, unset, transient }: DataPatch) =>
    [shown(new Map(Object.entries(set))), [...unset].sort().join(), shown(new Map(Object.entries(transient)))].join(' ')
  const shown = (contact: Map<string, unknown>) => JSON.stringify([...contact].sort(([a], [b]) => (a < b ? -1 : 1)))

  test('have the same effect merged as one after the other', () => {
    fc.assert(
      fc.property(plain, patch, patch, (contact, first, second) => {
        expect(shown(apply(contact, mergePatches(first, second)))).toBe(shown(apply(apply(contact, first), second)))
      }),
      { numRuns: 1000 },
    )
  })

  test('merge transient values, of which the later wins', () => {
    fc.assert(
      fc.property(patch, patch, (first, second) => {
        const merged = new Map(Object.entries(mergePatches(first, second).transient))
        expect(shown(merged)).toBe(shown(new Map([...Object.entries(first.transient), ...Object.entries(second.transient)])))
      }),
    )
  })

  test('merge associatively', () => {
    fc.assert(
      fc.property(patch, patch, patch, (a, b, c) => {
        expect(whole(mergePatches(mergePatches(a, b), c))).toBe(whole(mergePatches(a, mergePatches(b, c))))
      }),
      { numRuns: 1000 },
    )
  })

  test('of which one is empty merge to the other', () => {
    fc.assert(
      fc.property(patch, (one) => {
        expect(whole(mergePatches(NO_DATA, one))).toBe(whole(one))
        expect(whole(mergePatches(one, NO_DATA))).toBe(whole(one))
      }),
    )
  })

  test('merge to one that never sets and deletes the same key', () => {
    fc.assert(
      fc.property(patch, patch, (first, second) => {
        const { set, unset } = mergePatches(first, second)
        expect(unset.filter((name) => Object.hasOwn(set, name))).toEqual([])
        expect(new Set(unset).size).toBe(unset.length)
      }),
    )
  })

  test('are not changed by merging', () => {
    fc.assert(
      fc.property(patch, patch, (first, second) => {
        const before = JSON.stringify([first, second])
        mergePatches(first, second)
        expect(JSON.stringify([first, second])).toBe(before)
      }),
    )
  })
})
