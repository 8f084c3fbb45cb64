import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { MailX } from 'lucide-react'
import type { ReactNode } from 'react'
import { campaignQuery } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { RecordPage } from '../../../projects/record-page.tsx'

const MISSING = { icon: MailX, reason: 'It was deleted, or the link is wrong.' }

/** The campaign of a page, or why there is none. */
export function CampaignRecord({ id, children }: { id: string; children: (campaign: Campaign) => ReactNode }) {
  const project = useProject()
  const query = useQuery(campaignQuery(project.id, id))
  return (
    <RecordPage kind="Campaign" id={id} query={query} labelOf={({ name }) => name} missing={MISSING}>
      {children}
    </RecordPage>
  )
}
