import { useQuery } from '@tanstack/react-query'
import { sendingCampaignsQuery } from '../data/campaigns.ts'
import { domainsQuery } from '../data/domains.ts'
import { configQuery } from '../data/installation.ts'
import { newestMessagesQuery } from '../data/sandbox.ts'
import { useSeenUntil } from '../features/sandbox/seen.ts'
import { countUnseen } from '../features/sandbox/unseen.ts'
import { useProject } from '../projects/current.ts'
import type { Entry } from './navigation-entries.ts'

/** Only things that wait for the user or are in progress have a badge. */
export function useBadges(): Partial<Record<Entry['to'], string>> {
  const project = useProject()
  const domains = useQuery(domainsQuery(project.id))
  const pending = domains.data?.filter(({ status }) => status === 'pending').length ?? 0
  const unseen = useUnseenMessages()
  const sending = useQuery(sendingCampaignsQuery(project.id)).data
  return {
    ...(sending && { '/app/p/$projectId/campaigns': sending }),
    ...(pending > 0 && { '/app/p/$projectId/domains': `${pending} pending` }),
    ...(unseen && { '/app/p/$projectId/sandbox': unseen }),
  }
}

const UNSEEN_MS = 30_000

function useUnseenMessages(): string | undefined {
  const project = useProject()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const [seenUntil] = useSeenUntil(project.id)
  const newest = useQuery({ ...newestMessagesQuery(project.id), enabled: isSandbox, refetchInterval: UNSEEN_MS }).data
  return countUnseen(newest?.data ?? [], seenUntil)
}
