import { useQuery } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import {
  ArrowRight,
  Command as CommandIcon,
  Copy,
  FolderPlus,
  Keyboard,
  Plus,
  Repeat,
  Search,
  Settings,
  SunMoon,
  Upload,
} from 'lucide-react'
import { Dialog } from 'radix-ui'
import { useEffect, useState } from 'react'
import { paletteQuery } from '../data/palette.ts'
import { projectsQuery } from '../data/projects.ts'
import { useApi, useProject } from '../projects/current.ts'
import { listRecents } from '../projects/recents.ts'
import { parseSearch } from '../ui/page/search.ts'
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
  const { groups, isSearching } = usePaletteGroups(q.trim(), onSheet)
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
          <Commands q={q} onQuery={setQ} groups={groups} isSearching={isSearching} onOpen={open} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** The groups, and whether the server still searches. */
function usePaletteGroups(q: string, onSheet: () => void): { groups: PaletteGroup[]; isSearching: boolean } {
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
    { heading: 'This page', items: matchItems(commandsOf(useListedShortcuts(), showKeys, CommandIcon), q) },
    { heading: 'Pages', items: matchItems(pages, q) },
    { heading: 'Actions', items: matchItems(useActions(onSheet), q) },
  ]
  const isSearching = q !== '' && (q !== settled || search.isFetching)
  return { groups: [...found, ...known].filter(({ items }) => items.length > 0), isSearching }
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

type CommandsProps = {
  q: string
  onQuery: (q: string) => void
  groups: PaletteGroup[]
  isSearching: boolean
  onOpen: (item: PaletteItem) => void
}

function Commands({ q, onQuery, groups, isSearching, onOpen }: CommandsProps) {
  const first = groups[0]?.items[0]?.id ?? ''
  const [chosen, setChosen] = useState(first)
  const [top, setTop] = useState(first)
  // Results above the first item take over its highlight, unless the user has moved the highlight.
  if (top !== first) {
    setTop(first)
    if (chosen === top) setChosen(first)
  }
  return (
    <Command
      shouldFilter={false}
      loop
      vimBindings={false}
      label="Search contacts, pages and actions"
      value={chosen}
      onValueChange={setChosen}
      className="flex min-h-0 flex-col"
    >
      <div className="flex h-12 shrink-0 items-center gap-2 border-line border-b px-4">
        <Search className="size-4 shrink-0 text-muted" aria-hidden="true" />
        <Command.Input
          autoFocus
          value={q}
          onValueChange={onQuery}
          placeholder="Search contacts, pages and actions"
          className="h-full min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-muted sm:text-sm"
        />
        <span className="pointer-coarse:hidden">
          <Kbd keys="Escape" />
        </span>
      </div>
      <Command.List label="Results" className="min-h-0 flex-1 overflow-y-auto p-1">
        <Command.Empty className="px-3 py-6 text-center text-muted text-ui">{isSearching ? 'Searching…' : 'Nothing found'}</Command.Empty>
        {groups.map(({ heading, items }) => (
          <Command.Group key={heading} heading={<p className="px-2 py-1 text-muted text-xs">{heading}</p>} className="py-1">
            {items.map((item) => (
              <Command.Item
                key={item.id}
                value={item.id}
                onSelect={() => onOpen(item)}
                className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2 text-ui aria-selected:bg-sunken pointer-coarse:min-h-11"
              >
                <item.icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
                <span className="min-w-0 flex-1 truncate">{item.label}</span>
                {item.hint && <span className="shrink-0 text-muted text-xs">{item.hint}</span>}
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command>
  )
}
