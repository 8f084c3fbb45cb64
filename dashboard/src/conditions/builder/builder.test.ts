import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCondition } from '../../../../server/src/conditions/schema.ts'
import { treeAt as acceptedTree } from '../../../../server/test/conditions/arbitraries.ts'
import { anyCharacter } from '../../../../server/test/support/any-character.ts'
import { printCondition, readConditionText, readTreeText } from './condition-text.ts'
import { catalogOf, FIELD_GROUPS, type FieldChoice, type FieldType, searchFields } from './fields.ts'
import {
  inputTextOf,
  newFilter,
  operatorsOf,
  problemOfFilter,
  readRow,
  withField,
  withInput,
  withOperator,
  withType,
  withUnit,
} from './filter.ts'
import {
  addFilter,
  addGroup,
  addNested,
  BLANK_TREE,
  type ConditionLine,
  changeFilter,
  countFilters,
  filtersOf,
  type GroupPath,
  keyOf,
  listFilters,
  removeFilter,
  removeGroup,
  setLogic,
  type Tree,
  treeAt,
} from './tree.ts'

const SEGMENT = '0192f0c4-9a3e-7cc1-8f00-0123456789ab'
const CATALOG = catalogOf({
  fields: [
    { field: 'plan', type: 'string', coverage: 0.5 },
    { field: 'age', type: 'number', coverage: 1 },
    { field: 'due', type: 'date', coverage: 1 },
    { field: 'a', type: 'boolean', coverage: 1 },
  ],
  events: ['purchase', 'email.open'],
  segments: [{ id: SEGMENT, name: 'Pro users' }],
})

/** Every tree that the API accepts, as it answers with it. */
const stored = acceptedTree({ now: Date.UTC(2026, 0, 31), segmentIds: [SEGMENT] }).map(
  (tree) => JSON.parse(JSON.stringify(readCondition(tree, 'condition'))) as Tree,
)

/** Paths of all groups of a tree. */
const groupPaths = (tree: Tree, above: GroupPath = []): GroupPath[] =>
  tree.groups.flatMap((group, index) => [[...above, index], ...(group.conditions ? groupPaths(group.conditions, [...above, index]) : [])])

/** Uses every input of a line without changing what it shows, as a user does who opens a select and chooses the same again. */
function touch(filter: ConditionLine): ConditionLine {
  const row = readRow(filter, CATALOG)
  if (!row) return filter
  const { type, kind } = row
  const again = withUnit(
    withInput(withOperator(withField(filter, row.field, row), filter.operator, type), inputTextOf(filter), kind),
    filter.unit!,
  )
  return kind === 'period' ? again : withInput(withOperator(filter, filter.operator, type), inputTextOf(filter), kind)
}

describe('a tree that the API accepted', () => {
  test('is printed as it was read', () => {
    fc.assert(
      fc.property(stored, (tree) => {
        const text = printCondition(tree)
        expect(readConditionText(text)).toEqual({ condition: tree })
        const read = readTreeText(text)
        expect('tree' in read && printCondition(read.tree)).toBe(text)
      }),
    )
  })

  test('is the same, byte for byte, after every line was touched and every logic chosen again', () => {
    fc.assert(
      fc.property(stored, (tree) => {
        const paths = groupPaths(tree)
        let edited = tree
        for (const path of paths) {
          filtersOf(treeAt(edited, path.slice(0, -1))!.groups[path.at(-1)!]!).forEach((filter, index) => {
            edited = changeFilter(edited, path, index, touch(filter))
          })
          edited = setLogic(edited, path.slice(0, -1), treeAt(edited, path.slice(0, -1))!.logic)
        }
        expect(JSON.stringify(edited)).toBe(JSON.stringify(tree))
      }),
    )
  })

  test('is the same after something was added and removed again', () => {
    fc.assert(
      fc.property(stored, fc.nat(), (tree, number) => {
        const paths = groupPaths(tree)
        const path = paths[number % paths.length]!
        const above = path.slice(0, -1)
        const { logic, groups } = treeAt(tree, above)!
        const same = JSON.stringify(tree)
        const filters = filtersOf(groups[path.at(-1)!]!)
        expect(JSON.stringify(removeFilter(addFilter(tree, path), path, filters.length))).toBe(same)
        const grown = setLogic(addGroup(tree, above), above, logic)
        expect(JSON.stringify(removeGroup(grown, [...above, groups.length]))).toBe(same)
        if (groups[path.at(-1)!]!.conditions) return
        const nested = addNested(tree, path)
        expect(JSON.stringify(removeGroup(removeGroup(nested, [...path, 1]), [...path, 0]))).toBe(same)
      }),
    )
  })

  test('has a line for each filter, which is shown or kept', () => {
    fc.assert(
      fc.property(stored, (tree) => {
        for (const { filter } of listFilters(tree)) {
          const row = readRow(filter, CATALOG)
          expect(problemOfFilter(filter)).toBe(undefined)
          if (row) expect(Object.keys(operatorsOf({ field: filter.field, type: row.type }))).toContain(filter.operator)
        }
        expect(listFilters(tree)).toHaveLength(countFilters(tree))
      }),
    )
  })
})

test('most of what the API accepts has inputs', () => {
  const trees = fc.sample(stored, { numRuns: 200, seed: 7 })
  const filters = trees.flatMap((tree) => listFilters(tree).map(({ filter }) => filter))
  const kept = filters.filter((filter) => !readRow(filter, CATALOG))
  expect(kept.length / filters.length).toBeLessThan(0.05)
})

const TYPES: FieldType[] = ['string', 'number', 'date', 'boolean']
const typedText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 8 }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1.5',
    '1e30',
    '36500',
    '36501',
    '2026-01-31',
    '2026-02-30',
    '0000-01-01',
    'true',
    'x'.repeat(1_025),
    '\ud800',
  ),
)

/** The edits of a user in the builder, in any order. */
type Action = (tree: Tree) => Tree
const pick = <Item>(items: Item[], number: number): Item | undefined => (items.length ? items[number % items.length] : undefined)

const editLine = (edit: (filter: ConditionLine, number: number, text: string) => ConditionLine) =>
  fc.record({ number: fc.nat(), line: fc.nat(), text: typedText }).map(
    ({ number, line, text }): Action =>
      (tree) => {
        const lines = groupPaths(tree).flatMap((path) =>
          filtersOf(treeAt(tree, path.slice(0, -1))!.groups[path.at(-1)!]!).map((filter, index) => ({ path, index, filter })),
        )
        const chosen = pick(lines, line)
        return chosen ? changeFilter(tree, chosen.path, chosen.index, edit(chosen.filter, number, text)) : tree
      },
  )

const editGroups = (edit: (tree: Tree, path: GroupPath) => Tree) =>
  fc.nat().map(
    (number): Action =>
      (tree) => {
        const path = pick(groupPaths(tree), number)
        return path ? edit(tree, path) : tree
      },
  )

function choicesFor(text: string): FieldChoice[] {
  return [...searchFields(CATALOG, ''), ...searchFields(CATALOG, text)].flatMap(({ choices, named }) => [...choices, ...named])
}

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.constant<Action>((tree) => addGroup(tree, [])),
  editGroups((tree, path) => addFilter(tree, path)),
  editGroups((tree, path) => (path.length < 3 && !treeAt(tree, path) ? addNested(tree, path) : tree)),
  editGroups((tree, path) => setLogic(tree, path.slice(0, -1), 'OR')),
  editGroups((tree, path) => removeGroup(tree, path)),
  editGroups((tree, path) =>
    filtersOf(treeAt(tree, path.slice(0, -1))!.groups[path.at(-1)!]!).length ? removeFilter(tree, path, 0) : tree,
  ),
  {
    weight: 4,
    arbitrary: editLine((filter, number, text) => withField(filter, pick(choicesFor(text), number)!, readRow(filter, CATALOG))),
  },
  editLine((filter, number) => {
    const row = readRow(filter, CATALOG)
    return row && row.field.type === undefined ? withType(filter, pick(TYPES, number)!) : filter
  }),
  {
    weight: 2,
    arbitrary: editLine((filter, number) => {
      const row = readRow(filter, CATALOG)
      return row ? withOperator(filter, pick(Object.keys(operatorsOf({ field: filter.field, type: row.type })), number)!, row.type) : filter
    }),
  },
  {
    weight: 6,
    arbitrary: editLine((filter, _, text) => {
      const row = readRow(filter, CATALOG)
      return row && row.kind !== 'none' ? withInput(filter, text, row.kind) : filter
    }),
  },
  editLine((filter, number) => {
    const row = readRow(filter, CATALOG)
    return row?.kind === 'period' ? withUnit(filter, pick(['days', 'hours', 'minutes'], number)!) : filter
  }),
)

test('whatever is built, the server takes once no line is incomplete', () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 2, maxLength: 30 }), (actions) => {
      const built = actions.reduce((tree, act) => act(tree), addGroup(BLANK_TREE, []))
      // Lines that are not complete block saving; the others must be taken.
      const complete = listFilters(built).filter(({ filter }) => !problemOfFilter(filter))
      for (const { filter } of complete) {
        const tree = { logic: 'AND', groups: [{ filters: [filter] }] }
        expect(readCondition(tree, 'condition')).toEqual(tree)
      }
      const text = printCondition(built)
      const read = readConditionText(text)
      if (!('condition' in read)) return
      expect(readCondition(read.condition, 'condition')).toEqual(JSON.parse(text))
    }),
    { numRuns: 300 },
  )
})

test('a new line of every field that is offered is taken, or asks for its value', () => {
  const choices = searchFields(CATALOG, 'anything new').flatMap(({ choices, named }) => [...choices, ...named])
  const all = [...CATALOG.groups.flatMap((group) => group.choices), ...choices]
  expect(all.length).toBeGreaterThan(15)
  for (const choice of all) {
    const filter = newFilter(choice)
    expect(readRow(filter, CATALOG)?.field.field).toBe(choice.field)
    if (problemOfFilter(filter)) expect(problemOfFilter(filter)).toBe('Enter a value.')
    else expect(() => readCondition({ logic: 'AND', groups: [{ filters: [filter] }] }, 'condition')).not.toThrow()
  }
})

test('what the builder has no inputs for is found by no group, and its line is kept', () => {
  const unknown = { field: 'orders.total', operator: 'greaterThan', value: 5 }
  const broken = { field: 'data.plan', operator: 'equals', value: 'two\nlines' }
  const tree: Tree = { logic: 'AND', groups: [{ filters: [unknown, broken] }] }
  expect(readRow(unknown, CATALOG)).toBe(undefined)
  expect(readRow(broken, CATALOG)).toBe(undefined)
  expect(addFilter(tree, [0]).groups[0]!.filters!.slice(0, 2)).toEqual([unknown, broken])
})

test('a line keeps its key while it is edited, and its neighbours keep theirs', () => {
  const [first, second] = [newFilter({ field: 'data.plan', type: 'string' }), newFilter({ field: 'email', type: 'address' })]
  const tree: Tree = { logic: 'AND', groups: [{ filters: [first, second] }] }
  const edited = changeFilter(tree, [0], 0, { ...first, value: 'pro' })
  const [changed, same] = edited.groups[0]!.filters!
  expect(keyOf(changed!)).toBe(keyOf(first))
  expect(same).toBe(second)
  expect(keyOf(edited.groups[0]!)).toBe(keyOf(tree.groups[0]!))
})

test('a key in one of 50 lines leaves the others the same objects, so that their rows are not rendered again', () => {
  const filters = Array.from({ length: 50 }, (_, index) => newFilter({ field: `data.field${index}`, type: 'string' }))
  const tree: Tree = {
    logic: 'AND',
    groups: [{ filters: filters.slice(0, 25), conditions: { logic: 'OR', groups: [{ filters: filters.slice(25) }] } }],
  }
  const edited = changeFilter(tree, [0, 0], 5, withInput(filters[30]!, 'a', 'text'))
  const after = listFilters(edited).map(({ filter }) => filter)
  expect(after.filter((filter, index) => filter !== filters[index])).toEqual([{ field: 'data.field30', operator: 'equals', value: 'a' }])
})

test('in a workflow, event.amount is the data of its event unless an operator of events asks', () => {
  const catalog = catalogOf({ fields: [], events: ['amount'], segments: [], started: [{ field: 'event.amount', type: 'number' }] })
  expect(catalog.find('event.amount', 'greaterThan')).toMatchObject({ group: 'Data of the event that started it', type: 'number' })
  expect(catalog.find('event.amount', 'triggered')).toMatchObject({ group: 'Events', type: 'event' })
  expect(catalog.find('context.step.code', 'equals')).toMatchObject({ group: 'Context of the execution', label: 'step.code' })
  expect(CATALOG.find('event.amount', 'greaterThan')).toBe(undefined)
  expect(CATALOG.groups.map(({ label }) => label)).toHaveLength(FIELD_GROUPS.filter(({ ofExecutions }) => !ofExecutions).length)
})
