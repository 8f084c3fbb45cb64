import { useQuery } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { ArrowRight, Command, Copy, FolderPlus, Keyboard, Plus, Repeat, Search, Settings, SunMoon, Upload } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { paletteQuery } from '../data/palette.ts'
import { projectsQuery } from '../data/projects.ts'
import { useApi, useProject } from '../projects/current.ts'
import { listRecents } from '../projects/recents.ts'
import { parseSearch } from '../search.ts'
import { switchTheme } from '../ui/page/theme-toggle.tsx'
import { Kbd } from '../ui/shortcuts/kbd.tsx'
import { pressWhenRegistered, showKeys, useListedShortcuts } from '../ui/shortcuts/shortcuts.ts'
import { copy } from '../ui/text/copy.ts'
import { ENTRIES, SETTINGS_PAGES } from './navigation-entries.ts'
import { commandsOf, matchItems, type PaletteGroup, type PaletteItem, recentItem, searchEverything } from './palette-items.ts'

type PaletteProps = { onClose: () => void; onSheet: () => void }

/** Search and commands. Data is searched by the server only; pages and actions are filtered here. */
export function Palette({ onClose, onSheet }: PaletteProps) {
  const [q, setQ] = useState('')
  const groups = usePaletteGroups(q.trim(), onSheet)
  const navigate = useNavigate()
  function open({ path, run }: PaletteItem) {
    onClose()
    // After the palette has given back the focus, which the command may want.
    if (!path) return setTimeout(() => run?.())
    run?.()
    const [to, query] = path.split('?')
    // The search of "some route" cannot be typed.
    return navigate({ to, search: (query ? parseSearch(query) : {}) as never })
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-[#04131a]/55 motion-safe:animate-fade" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed top-[12dvh] left-1/2 z-50 flex max-h-[70dvh] w-[min(36rem,calc(100vw-1.5rem))] -translate-x-1/2 flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-float outline-none"
        >
          <Dialog.Title className="sr-only">Search and commands</Dialog.Title>
          <Combobox q={q} onQuery={setQ} groups={groups} onOpen={open} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function usePaletteGroups(q: string, onSheet: () => void): PaletteGroup[] {
  const project = useProject()
  const api = useApi()
  const settled = useSettled(q)
  const base = `/app/p/${project.id}`
  const search = useQuery(paletteQuery(project.id, settled, () => searchEverything(api, base, settled)))
  const pages = ENTRIES.map(
    ({ to, label, icon, keys }): PaletteItem => ({
      id: to,
      label: `Go to ${label.toLowerCase()}`,
      hint: showKeys(keys),
      icon,
      path: to.replace('$projectId', project.id),
    }),
  )
  const recents = q ? [] : listRecents(project.id).map(recentItem)
  const found = q && settled ? (search.data ?? []) : []
  const known = [
    { heading: 'Recent', items: recents },
    { heading: 'This page', items: matchItems(commandsOf(useListedShortcuts(), showKeys, Command), q) },
    { heading: 'Pages', items: matchItems(pages, q) },
    { heading: 'Actions', items: matchItems(useActions(onSheet), q) },
  ]
  return [...found, ...known].filter(({ items }) => items.length > 0)
}

/** The secret key is not among them: a palette is used while others look on. */
function useActions(onSheet: () => void): PaletteItem[] {
  const project = useProject()
  const projects = useQuery(projectsQuery)
  const others = projects.data?.filter(({ id }) => id !== project.id) ?? []
  return [
    ...(project.public
      ? [{ id: 'copy-key', label: 'Copy the public key', icon: Copy, run: () => copy(project.public!, 'Public key') }]
      : []),
    ...useCreateActions(),
    { id: 'import', label: 'Import contacts from a CSV', icon: Upload, path: `/app/p/${project.id}/contacts/import` },
    ...SETTINGS_PAGES.slice(1).map(({ to, label }) => ({
      id: to,
      label: `Open the settings: ${label.toLowerCase()}`,
      icon: Settings,
      path: to.replace('$projectId', project.id),
    })),
    { id: 'theme', label: 'Switch between light and dark', icon: SunMoon, run: switchTheme },
    { id: 'shortcuts', label: 'Show the keyboard shortcuts', icon: Keyboard, run: onSheet },
    ...others.map(({ id, name }) => ({ id: `project-${id}`, label: `Switch to project ${name}`, icon: Repeat, path: `/app/p/${id}` })),
    { id: 'new-project', label: 'Create a project', icon: FolderPlus, path: '/app/new' },
    { id: 'docs', label: 'Open the API reference', icon: ArrowRight, run: () => window.location.assign('/docs') },
  ]
}

/** The main buttons of the pages, from any page: opens the page and presses its button. */
function useCreateActions(): PaletteItem[] {
  const project = useProject()
  const { pathname } = useLocation()
  return ENTRIES.flatMap(({ to, creates }) => {
    const path = to.replace('$projectId', project.id)
    // The palette lists the buttons of the current page as its commands already.
    if (!creates || path === pathname) return []
    return [{ id: `create-${to}`, label: creates, icon: Plus, path, run: () => pressWhenRegistered('c') }]
  })
}

/** The value once it has been the same for 200 ms. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 200)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

type ComboboxProps = { q: string; onQuery: (q: string) => void; groups: PaletteGroup[]; onOpen: (item: PaletteItem) => void }

function Combobox({ q, onQuery, groups, onOpen }: ComboboxProps) {
  const id = useId()
  const items = groups.flatMap((group) => group.items)
  const [chosen, setChosen] = useState<string>()
  const active = items.find((item) => item.id === chosen) ?? items[0]
  const list = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the active item changes
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [active?.id])

  function press(event: KeyboardEvent) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      const index = active ? items.indexOf(active) : -1
      setChosen(items[(index + step + items.length) % items.length]?.id)
    }
    if (event.key === 'Enter' && active) {
      event.preventDefault()
      onOpen(active)
    }
  }

  return (
    <>
      <div className="flex h-12 shrink-0 items-center gap-2 border-line border-b px-4">
        <Search className="size-4 shrink-0 text-muted" aria-hidden="true" />
        <input
          // biome-ignore lint/a11y/noAutofocus: the palette opens to be typed into
          autoFocus
          role="combobox"
          aria-label="Search contacts, pages and actions"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={active && `${id}-${active.id}`}
          value={q}
          placeholder="Search contacts, pages and actions"
          onChange={(event) => {
            onQuery(event.target.value)
            setChosen(undefined)
          }}
          onKeyDown={press}
          className="h-full min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-muted sm:text-sm"
        />
        <span className="pointer-coarse:hidden">
          <Kbd keys="Escape" />
        </span>
      </div>
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="Results" className="min-h-0 flex-1 overflow-y-auto p-1">
        {items.length === 0 && <p className="px-3 py-6 text-center text-muted text-ui">Nothing found</p>}
        {groups.map(({ heading, items: members }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options, not of form controls
          <div key={heading} role="group" aria-label={heading} className="py-1">
            <p className="px-2 py-1 text-muted text-xs" aria-hidden="true">
              {heading}
            </p>
            {members.map((item) => (
              <Option
                key={item.id}
                id={`${id}-${item.id}`}
                item={item}
                isActive={item.id === active?.id}
                onActive={() => setChosen(item.id)}
                onOpen={() => onOpen(item)}
              />
            ))}
          </div>
        ))}
      </div>
    </>
  )
}

type OptionProps = { id: string; item: PaletteItem; isActive: boolean; onActive: () => void; onOpen: () => void }

function Option({ id, item: { label, hint, icon: Icon }, isActive, onActive, onOpen }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys of all options
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      onClick={onOpen}
      onPointerMove={onActive}
      className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2 text-ui aria-selected:bg-sunken pointer-coarse:min-h-11"
    >
      <Icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
      <span className="min-w-0 flex-1 truncate">{label}</span>
      {hint && <span className="shrink-0 text-muted text-xs">{hint}</span>}
    </div>
  )
}
