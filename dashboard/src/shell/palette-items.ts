import type { Sterna } from '@sterna/sdk'
import { Clock, FileText, Globe, type LucideIcon, Mail, Mails, Megaphone, Shapes, User, Workflow } from 'lucide-react'

export type PaletteItem = {
  id: string
  label: string
  hint?: string
  icon: LucideIcon
  /** A path to open, or something to do. */
  path?: string
  run?: () => unknown
}
export type PaletteGroup = { heading: string; items: PaletteItem[] }

/** Results of each kind. */
const PER_KIND = 5
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A whole address. */
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

const emailsOf = (base: string, address: string): PaletteItem => ({
  id: 'emails-of',
  label: `Open the emails of ${address}`,
  icon: Mails,
  path: `${base}/emails?q=${encodeURIComponent(address)}`,
})

/** Searches that run at the same time while the user types. A new kind of thing adds its search here. */
const SEARCHES: { heading: string; search: (api: Sterna, base: string, q: string) => Promise<PaletteItem[]> }[] = [
  {
    heading: 'Contacts',
    search: async (api, base, q) => {
      const found = ID.test(q) ? [await api.contacts.get(q)] : (await api.contacts.list({ q, limit: PER_KIND })).data
      return found.map(({ id, email }) => ({ id: `contact-${id}`, label: email, icon: User, path: `${base}/contacts/${id}` }))
    },
  },
  {
    heading: 'Emails of a contact',
    search: async (_, base, q) => (ADDRESS.test(q) ? [emailsOf(base, q)] : []),
  },
  {
    // The API lists all of them at once.
    heading: 'Domains',
    search: async (api, base, q) => {
      const found = (await api.domains.list()).filter(({ domain }) => domain.includes(q.toLowerCase()))
      return found.slice(0, PER_KIND).map(({ id, domain }) => ({
        id: `domain-${id}`,
        label: domain,
        icon: Globe,
        path: `${base}/domains?q=${encodeURIComponent(domain)}`,
      }))
    },
  },
  {
    heading: 'Campaigns',
    search: async (api, base, q) => {
      const found = ID.test(q) ? [await api.campaigns.get(q)] : (await api.campaigns.list({ search: q, pageSize: PER_KIND })).data
      return found.map(({ id, name, subject }) => ({
        id: `campaign-${id}`,
        label: name,
        hint: subject,
        icon: Megaphone,
        path: `${base}/campaigns/${id}`,
      }))
    },
  },
  {
    // The API lists all of them at once.
    heading: 'Segments',
    search: async (api, base, q) => {
      const wanted = q.toLowerCase()
      const found = (await api.segments.list()).filter(({ id, name }) => id === wanted || name.toLowerCase().includes(wanted))
      return found
        .slice(0, PER_KIND)
        .map(({ id, name }) => ({ id: `segment-${id}`, label: name, icon: Shapes, path: `${base}/segments/${id}` }))
    },
  },
  {
    heading: 'Templates',
    search: async (api, base, q) => {
      const found = ID.test(q) ? [await api.templates.get(q)] : (await api.templates.list({ search: q, pageSize: PER_KIND })).data
      return found.map(({ id, name }) => ({ id: `template-${id}`, label: name, icon: FileText, path: `${base}/templates/${id}` }))
    },
  },
  {
    heading: 'Workflows',
    search: async (api, base, q) => {
      const found = ID.test(q) ? [await api.workflows.get(q)] : (await api.workflows.list({ search: q, pageSize: PER_KIND })).data
      return found.map(({ id, name }) => ({ id: `workflow-${id}`, label: name, icon: Workflow, path: `${base}/workflows/${id}` }))
    },
  },
  {
    // By address, subject, id, Message-ID or request id.
    heading: 'Emails',
    search: async (api, base, q) => {
      const { data } = await api.emails.list({ q, limit: PER_KIND })
      return data.map(({ id, subject, to }) => ({ id: `email-${id}`, label: subject, hint: to, icon: Mail, path: `${base}/emails/${id}` }))
    },
  },
]

/** A search that fails, such as one for an id of another kind, finds nothing. */
export async function searchEverything(api: Sterna, base: string, q: string): Promise<PaletteGroup[]> {
  const groups = await Promise.all(
    SEARCHES.map(async ({ heading, search }) => ({ heading, items: await search(api, base, q).catch(() => []) })),
  )
  return groups.filter(({ items }) => items.length > 0)
}

/** Pages and actions are known to the browser; all words of the query must occur in the label. */
export function matchItems(items: PaletteItem[], q: string): PaletteItem[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return items.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
}

type Known = { keys: string; label?: string; group?: string; run: (event: KeyboardEvent) => unknown }

/** Keys that need a row, and keys whose pages and actions the palette lists itself. */
const NOT_OFFERED = new Set(['j', 'k', 'x', 'Space', '.', 'Escape', '?', 'mod+k'])

/** The shortcuts of the page below the palette, as commands. The last one of a key counts, as for the keyboard. */
export function commandsOf(shortcuts: Known[], show: (keys: string) => string, icon: LucideIcon): PaletteItem[] {
  const byKeys = new Map(
    shortcuts.filter(({ keys, group }) => group !== 'Go to' && !NOT_OFFERED.has(keys)).map((each) => [each.keys, each]),
  )
  const ownFirst = [...byKeys.values()].sort((a, b) => Number(a.group === 'Everywhere') - Number(b.group === 'Everywhere'))
  return ownFirst.flatMap(({ keys, label, run }) =>
    label ? [{ id: `keys-${keys}`, label, hint: show(keys), icon, run: () => run(new KeyboardEvent('keydown')) }] : [],
  )
}

export const recentItem = ({ path, label, kind }: { path: string; label: string; kind: string }): PaletteItem => ({
  id: `recent-${path}`,
  label,
  hint: kind,
  icon: Clock,
  path,
})
