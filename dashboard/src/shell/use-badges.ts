import { useQuery } from '@tanstack/react-query'
import { domainsQuery } from '../features/domains/queries.ts'
import { useProject } from '../projects/current.ts'
import type { Entry } from './navigation-entries.ts'

/** Only things that wait for the user or are under way have a badge. */
export function useBadges(): Partial<Record<Entry['to'], string>> {
  const project = useProject()
  const domains = useQuery(domainsQuery(project.id))
  const pending = domains.data?.filter(({ status }) => status === 'pending').length ?? 0
  return pending > 0 ? { '/app/p/$projectId/domains': `${pending} pending` } : {}
}
