import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { campaignHoursQuery } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { PageHeader } from '../../../ui/page/page.tsx'
import { CopyText } from '../../../ui/text/copy-field.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { audienceName, dateOf, shownCampaignStatus } from '../campaign/words.ts'
import { AuditCard } from './audit-card.tsx'
import { ClickMap } from './click-map.tsx'
import { LinksCard } from './links-card.tsx'
import { SendingProgress } from './progress.tsx'
import { ReportActions, ReportTabs } from './report-header.tsx'
import { Results } from './results.tsx'

const HoursChart = lazy(() => import('./hours-chart.tsx'))

/** A campaign that has started: its progress, then its results. */
export function Report({ campaign }: { campaign: Campaign }) {
  const { word, at } = dateOf(campaign)
  return (
    <>
      <PageHeader
        title={campaign.name}
        parent={<ListLink kind="Campaign" />}
        count={<Status kind="campaign" status={shownCampaignStatus(campaign)} />}
        actions={<ReportActions campaign={campaign} />}
      />
      <ReportTabs campaign={campaign} />
      <div className="max-w-[1440px] space-y-4 px-4 py-6 sm:px-6 lg:px-8">
        <SendingProgress campaign={campaign} />
        <Results campaign={campaign} />
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
          <div className="min-w-0 space-y-4">
            <FirstHours campaign={campaign} />
            <LinksCard campaign={campaign} />
            <AuditCard campaign={campaign} />
          </div>
          <div className="min-w-0 space-y-4">
            <Card title="The email">
              <Facts>
                <Fact label="Subject">{campaign.subject}</Fact>
                {campaign.previewText && <Fact label="Preview text">{campaign.previewText}</Fact>}
                <Fact label="From">{[campaign.fromName, campaign.from].filter(Boolean).join(', ')}</Fact>
                <Fact label="Audience">{audienceName(campaign)}</Fact>
                <Fact label={word}>
                  <Time value={at} />
                </Fact>
                <Fact label="Id">
                  <CopyText value={campaign.id} label="Id" mono />
                </Fact>
              </Facts>
            </Card>
            <ClickMap campaign={campaign} />
          </div>
        </div>
      </div>
    </>
  )
}

function FirstHours({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const hours = useQuery(campaignHoursQuery(project.id, campaign.id)).data
  if (!hours?.length) return null
  return (
    <Card title="First 48 hours" description="People who opened or clicked, by the hour of the first time.">
      <Suspense fallback={<div className="h-52" aria-busy="true" />}>
        <HoursChart hours={hours} />
      </Suspense>
    </Card>
  )
}
