import type { Query } from '@sterna/sdk'

type Fact = NonNullable<NonNullable<Query<'GET /emails'>>['fact']>

type FactFilter = {
  fact: Fact
  /** When it happened: `timesOf` a period, or days of UTC as `2026-05-01..2026-05-31`. */
  when: string
  source?: string | undefined
  domain?: string
  campaign?: string
  template?: string
}

/** The list behind a figure: the emails to which a fact happened in its period. */
export function emailsPath(projectId: string, filter: FactFilter): string {
  const set = Object.entries(filter).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `/app/p/${projectId}/emails?${new URLSearchParams(set)}`
}
