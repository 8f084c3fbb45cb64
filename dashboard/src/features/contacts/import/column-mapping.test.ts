import { expect, test } from 'vitest'
import { mappingOf, mappingProblem, suggestTargets, type Target, typeClash } from './column-mapping.ts'

const columns = [
  { name: 'Kontakt', samples: ['ada@example.com', 'not an address'] },
  { name: 'Subscribed', samples: ['yes'] },
  { name: 'Plan', samples: ['pro'] },
  { name: 'City', samples: ['Paris'] },
  { name: '', samples: ['x'] },
]
const fields = [{ field: 'plan', type: 'string' }]

test('columns are suggested by name and by what they hold', () => {
  expect(suggestTargets(columns, fields)).toEqual([
    { kind: 'email' },
    { kind: 'subscribed' },
    { kind: 'field', field: 'plan' },
    { kind: 'new', field: 'City' },
    { kind: 'skip' },
  ])
  const two = [
    { name: 'Other mail', samples: ['a@example.com'] },
    { name: 'EMAIL', samples: [] },
  ]
  expect(suggestTargets(two, []).map(({ kind }) => kind)).toEqual(['new', 'email'])
})

test.each([
  ['Opted in', ['yes', 'No'], 'subscribed'],
  ['opt-in', ['1', '0'], 'subscribed'],
  // When, not whether.
  ['Opted in', ['2026-01-31'], 'new'],
  ['Vegetarian', ['yes'], 'new'],
])('a column %s of %j is suggested as %s', (name, samples, kind) => {
  expect(suggestTargets([{ name, samples }], [])[0]!.kind).toBe(kind)
})

test.each([
  ['Full name', 'fullName'],
  ['date of birth', 'dateOfBirth'],
  ['Plan', 'Plan'],
  ['VAT', 'VAT'],
  ['first_name', 'first_name'],
])('a new field for the column %s is called %s', (name, field) => {
  expect(suggestTargets([{ name, samples: [] }], [])).toEqual([{ kind: 'new', field }])
})

test('a known field is found however its name is written', () => {
  const known = [{ field: 'firstName', type: 'string' }]
  for (const name of ['First Name', 'first_name', 'FIRSTNAME'])
    expect(suggestTargets([{ name, samples: [] }], known)).toEqual([{ kind: 'field', field: 'firstName' }])
})

test('the mapping names every column that has a name', () => {
  const targets: Target[] = [
    { kind: 'email' },
    { kind: 'subscribed' },
    { kind: 'field', field: 'plan' },
    { kind: 'skip' },
    { kind: 'skip' },
  ]
  expect(mappingOf(columns, targets)).toEqual({ Kontakt: 'email', Subscribed: 'subscribed', Plan: 'data.plan', City: null })
})

const skip: Target = { kind: 'skip' }
const email: Target = { kind: 'email' }

test.each<[string, Target[], string | undefined]>([
  ['no address', [skip, skip], 'Choose the column that holds the addresses.'],
  ['two addresses', [email, email], 'Only one column can hold the addresses.'],
  ['a new field without a name', [email, { kind: 'new', field: ' ' }], 'A new field needs a name.'],
  ['a field twice', [email, { kind: 'new', field: 'a' }, { kind: 'field', field: 'a' }], 'Two columns become the field a.'],
  ['one address', [email, skip], undefined],
])('a mapping with %s is judged', (_, targets, problem) => {
  const found = mappingProblem(
    targets.map((_, index) => ({ name: `c${index}`, samples: [] })),
    targets,
  )
  if (problem) expect(found).toContain(problem)
  else expect(found).toBeUndefined()
})

test('values of another type than the field are named', () => {
  expect(typeClash('number', ['1', '-2.5', 'many'])).toBe('The field holds numbers; here is “many”.')
  expect([typeClash('number', ['1']), typeClash('string', ['1']), typeClash(undefined, ['x'])]).toEqual([undefined, undefined, undefined])
})
