/**
 * Edits of a condition. A tree is never changed: an edit copies the objects on its path and shares the rest, so that rows which did not
 * change are not rendered again. Keys that an edit does not know stay where they are.
 */

export type ConditionLine = { field: string; operator: string; value?: unknown; unit?: string }
export type Group = { filters?: ConditionLine[]; conditions?: Tree }
export type Tree = { logic: 'AND' | 'OR'; groups: Group[] }

/** Leads from the root to a group: `[0, 2]` is `groups.0.conditions.groups.2`. The path of a nested condition is that of its group; `[]` is the root. */
export type GroupPath = readonly number[]

export const BLANK_TREE: Tree = { logic: 'AND', groups: [] }
const BLANK_FILTER: ConditionLine = { field: '', operator: 'equals' }
/** A new, empty line. */
export const blankFilter = (): ConditionLine => ({ ...BLANK_FILTER })
const groupOf = (filter: ConditionLine): Group => ({ filters: [filter] })

export const filtersOf = ({ filters }: Group): ConditionLine[] => filters ?? []

/** A path as a text, which React compares by its value: `0.2`. */
export const readPath = (path: string): GroupPath => (path === '' ? [] : path.split('.').map(Number))
export const pathBelow = (path: string, index: number): string => (path === '' ? String(index) : `${path}.${index}`)

/** The path as the server names it, below the condition: `groups.0.conditions.groups.2`. */
export const dotPathOf = (path: GroupPath): string => path.map((index) => `groups.${index}`).join('.conditions.')

/** The path of the filter in a path of the server, such as `groups.0.filters.1` in `condition.groups.0.filters.1.value`. */
export const filterPathIn = (field: string): string | undefined =>
  /(?:^|\.)((?:groups\.\d+\.(?:conditions\.)?)+filters\.\d+)/.exec(field)?.[1]

const keys = new WeakMap<object, string>()
let lastKey = 0

/** A key for React that a filter or group keeps while it is edited. Their positions are no keys: they change when a neighbour is removed. */
export function keyOf(part: object): string {
  const known = keys.get(part) ?? `part-${++lastKey}`
  keys.set(part, known)
  return known
}

function inheritKey<Part extends object>(next: Part, previous: object): Part {
  keys.set(next, keyOf(previous))
  return next
}

/** The part of a condition at a path; undefined if it is not there. */
export function treeAt(tree: Tree, path: GroupPath): Tree | undefined {
  return path.reduce<Tree | undefined>((inner, index) => inner?.groups[index]?.conditions, tree)
}

function editTree(tree: Tree, path: GroupPath, edit: (tree: Tree) => Tree): Tree {
  const [index, ...rest] = path
  if (index === undefined) return edit(tree)
  return editGroupAt(tree, index, (group) => (group.conditions ? { ...group, conditions: editTree(group.conditions, rest, edit) } : group))
}

const editGroupAt = (tree: Tree, index: number, edit: (group: Group) => Group): Tree => ({
  ...tree,
  groups: tree.groups.map((group, at) => (at === index ? inheritKey(edit(group), group) : group)),
})

const editGroup = (tree: Tree, path: GroupPath, edit: (group: Group) => Group): Tree =>
  editTree(tree, path.slice(0, -1), (inner) => editGroupAt(inner, path.at(-1)!, edit))

export const changeFilter = (tree: Tree, path: GroupPath, index: number, filter: ConditionLine): Tree =>
  editGroup(tree, path, (group) => ({
    ...group,
    filters: filtersOf(group).map((each, at) => (at === index ? inheritKey(filter, each) : each)),
  }))

export const addFilter = (tree: Tree, path: GroupPath, filter: ConditionLine = blankFilter()): Tree =>
  editGroup(tree, path, (group) => ({ ...group, filters: [...filtersOf(group), filter] }))

export const setLogic = (tree: Tree, path: GroupPath, logic: Tree['logic']): Tree => editTree(tree, path, (inner) => ({ ...inner, logic }))

/** A second group is an alternative to the first: within a group, everything holds already. */
export const addGroup = (tree: Tree, path: GroupPath, filter: ConditionLine = blankFilter()): Tree =>
  editTree(tree, path, (inner) => ({
    ...inner,
    ...(inner.groups.length === 1 && { logic: 'OR' as const }),
    groups: [...inner.groups, groupOf(filter)],
  }))

/** Two alternatives within a group: with one, it would be a line of the group. */
export const addNested = (tree: Tree, path: GroupPath, first: ConditionLine = blankFilter()): Tree =>
  editGroup(tree, path, (group) => ({ ...group, conditions: { logic: 'OR', groups: [groupOf(first), groupOf(blankFilter())] } }))

/** Removes what is empty after it too: the server takes no group without a filter. */
export const removeFilter = (tree: Tree, path: GroupPath, index: number): Tree =>
  withoutEmpty(
    editGroup(tree, path, (group) => ({ ...group, filters: filtersOf(group).filter((_, at) => at !== index) })),
    path,
  )

export const removeGroup = (tree: Tree, path: GroupPath): Tree =>
  withoutEmpty(
    editTree(tree, path.slice(0, -1), (inner) => ({ ...inner, groups: inner.groups.filter((_, at) => at !== path.at(-1)) })),
    path.slice(0, -1),
  )

/** Removes the parts on a path that have become empty, the innermost first. */
function withoutEmpty(tree: Tree, path: GroupPath): Tree {
  if (path.length === 0) return tree
  const above = path.slice(0, -1)
  const group = treeAt(tree, above)?.groups[path.at(-1)!]
  if (!group) return withoutEmpty(tree, above)
  if (group.conditions?.groups.length === 0) {
    const { conditions: _, ...rest } = group
    return withoutEmpty(
      editGroup(tree, path, () => rest),
      path,
    )
  }
  return filtersOf(group).length === 0 && !group.conditions ? removeGroup(tree, path) : tree
}

export const countFilters = ({ groups }: Tree): number =>
  groups.reduce((sum, group) => sum + filtersOf(group).length + (group.conditions ? countFilters(group.conditions) : 0), 0)

/** Every filter with its path, in the order of the lines. */
export function listFilters(tree: Tree, prefix = ''): { path: string; filter: ConditionLine }[] {
  return tree.groups.flatMap((group, index) => [
    ...filtersOf(group).map((filter, at) => ({ path: `${prefix}groups.${index}.filters.${at}`, filter })),
    ...(group.conditions ? listFilters(group.conditions, `${prefix}groups.${index}.conditions.`) : []),
  ])
}
