import { Plus, Trash2 } from 'lucide-react'
import { Button, IconButton } from '../../ui/form/button.tsx'
import { useBuilder } from './builder-context.ts'
import type { Problems } from './condition-builder.tsx'
import { FilterRow } from './filter-row.tsx'
import { Joint } from './joint.tsx'
import {
  addFilter,
  addGroup,
  addNested,
  blankFilter,
  type ConditionLine,
  dotPathOf,
  filtersOf,
  type Group,
  type GroupPath,
  keyOf,
  listFilters,
  pathBelow,
  readPath,
  removeGroup,
  setLogic,
  type Tree,
} from './tree.ts'

/** Levels that can be added here. Deeper ones, up to the ten that the server takes, are shown and edited. */
const MAX_NEW_LEVEL = 3

type GroupsProps = {
  tree: Tree
  /** Path of the condition, as in `readPath`. */
  path: string
  problems: Problems
  /** No more lines fit. */
  isFull: boolean
}

/** The groups of a condition, joined by its logic. */
export function Groups({ tree, path, problems, isFull }: GroupsProps) {
  const { edit, focus } = useBuilder()
  const { logic, groups } = tree
  function add() {
    const filter = blankFilter()
    edit((before) => addGroup(before, readPath(path), filter))
    focus({ line: keyOf(filter), open: true })
  }
  return (
    <div className="@container min-w-0 space-y-2">
      {groups.map((group, index) => (
        <div key={keyOf(group)} className="space-y-2">
          {index > 0 && <LogicSwitch logic={logic} onLogic={(next) => edit((before) => setLogic(before, readPath(path), next))} />}
          <GroupCard
            group={group}
            path={pathBelow(path, index)}
            name={groups.length === 1 ? '' : `Group ${index + 1} of ${groups.length}`}
            problems={problems}
            isFull={isFull}
          />
        </div>
      ))}
      <Button size="sm" variant="quiet" disabled={isFull} onClick={add}>
        <Plus aria-hidden="true" />
        {groups.length === 1 ? 'Add an alternative (or)' : 'Add a group'}
      </Button>
    </div>
  )
}

const LOGICS = { AND: 'and', OR: 'or' } as const

function LogicSwitch({ logic, onLogic }: { logic: Tree['logic']; onLogic: (logic: Tree['logic']) => void }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend to undo
    <div role="group" aria-label="How the groups are joined" className="inline-flex overflow-hidden rounded-md border border-line">
      {(['AND', 'OR'] as const).map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={logic === each}
          onClick={() => onLogic(each)}
          className="min-h-7 px-3 font-medium text-muted text-xs hover:bg-sunken focus-visible:-outline-offset-2 aria-pressed:bg-accent-soft aria-pressed:text-ink pointer-coarse:min-h-11"
        >
          {LOGICS[each]}
        </button>
      ))}
    </div>
  )
}

type GroupCardProps = { group: Group; path: string; name: string; problems: Problems; isFull: boolean }

/** Lines that must all hold, and a nested condition. */
function GroupCard({ group, path, name, problems, isFull }: GroupCardProps) {
  const { edit, focus } = useBuilder()
  const filters = filtersOf(group)
  const at = readPath(path)
  const dotPath = dotPathOf(at)
  function add(change: (tree: Tree, path: GroupPath, filter: ConditionLine) => Tree) {
    const filter = blankFilter()
    edit((tree) => change(tree, at, filter))
    focus({ line: keyOf(filter), open: true })
  }
  function remove() {
    edit((tree) => {
      const others = listFilters(tree).filter((line) => !line.path.startsWith(`${dotPath}.`))
      focus(others[0] ? { line: keyOf(others[0].filter) } : 'add')
      return removeGroup(tree, at)
    })
  }
  return (
    <fieldset className="min-w-0 rounded-lg border border-line bg-surface p-2">
      <legend className="sr-only">{name ? `${name}: all of its lines hold` : 'All of these lines hold'}</legend>
      <div className="space-y-2">
        {filters.map((filter, index) => (
          <FilterRow key={keyOf(filter)} filter={filter} path={path} index={index} problem={problems.get(`${dotPath}.filters.${index}`)} />
        ))}
        {group.conditions && (
          <div className="flex gap-2">
            <Joint text={filters.length > 0 ? 'and' : ''} />
            <div className="min-w-0 flex-1 rounded-lg bg-sunken p-2">
              <Groups tree={group.conditions} path={path} problems={problems} isFull={isFull} />
            </div>
          </div>
        )}
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-x-1">
        <Button size="sm" variant="quiet" disabled={isFull} onClick={() => add(addFilter)}>
          <Plus aria-hidden="true" />
          Add a line
        </Button>
        {!group.conditions && at.length < MAX_NEW_LEVEL && (
          <Button size="sm" variant="quiet" disabled={isFull} onClick={() => add(addNested)}>
            <Plus aria-hidden="true" />
            Add a nested group
          </Button>
        )}
        {name && (
          <IconButton label={`Remove ${name.toLowerCase()}`} className="ml-auto" onClick={remove}>
            <Trash2 />
          </IconButton>
        )}
      </div>
    </fieldset>
  )
}
