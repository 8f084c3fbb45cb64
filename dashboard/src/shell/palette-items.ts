import type { Sterna } from '@sterna/sdk'
import { Clock, FileText, type LucideIcon, Mail, Megaphone, Shapes, User, Workflow } from 'lucide-react'

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

/** Searches that run at the same time while the user types. A new kind of thing adds its search here. */
const SEARCHES: { heading: string; search: (api: Sterna, base: string, q: string) => Promise<PaletteItem[]> }[] = [
  {
    heading: 'Contacts',
    search: async (api, base, q) => {
      const found = ID.test(q) ? [await api.contacts.get(q)] : (await api.contacts.list({ search: q, limit: PER_KIND })).data
      return found.map(({ id, email }) => ({ id: `contact-${id}`, label: email, icon: User, path: `${base}/contacts/${id}` }))
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

export const recentItem = ({ path, label, kind }: { path: string; label: string; kind: string }): PaletteItem => ({
  id: `recent-${path}`,
  label,
  hint: kind,
  icon: Clock,
  path,
})
