import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { campaignStatsQuery } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { Count, countOf, formatCount, Percent } from '../../../ui/text/count.tsx'
import type { Activity } from '../campaign/words.ts'
import { RecipientsLink } from '../recipients/recipients-link.tsx'

const RECIPIENTS = { one: 'recipient', many: 'recipients' }

type FigureProps = { campaign: Campaign; label: string; value: number; activity: Activity; note?: ReactNode }

/** Opens, clicks and other activities of recipients. People and machines are counted apart, and every number opens its recipients. */
export function Results({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const reported = useQuery(campaignStatsQuery(project.id, campaign.id)).data?.deliveryReported ?? true
  const { deliveredCount, clickedCount, openedCount, bouncedCount, complainedCount, unsubscribedCount } = campaign
  const { machineOpenedCount, machineClickedCount } = campaign
  return (
    <section aria-label="Results">
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3 xl:grid-cols-6">
        {reported ? <Figure campaign={campaign} label="Delivered" value={deliveredCount} activity="delivered" /> : <Unreported />}
        <Figure
          campaign={campaign}
          label="Clicked"
          value={clickedCount}
          activity="clicked"
          note={<Machines campaign={campaign} count={machineClickedCount} activity="machineClicked" />}
        />
        <Figure
          campaign={campaign}
          label="Opened"
          value={openedCount}
          activity="opened"
          note={<Machines campaign={campaign} count={machineOpenedCount} activity="machineOpened" />}
        />
        <Figure campaign={campaign} label="Bounced" value={bouncedCount} activity="bounced" />
        <Figure campaign={campaign} label="Complained" value={complainedCount} activity="complained" />
        <Figure campaign={campaign} label="Unsubscribed" value={unsubscribedCount} activity="unsubscribed" />
      </dl>
      {campaign.failedCount + bouncedCount > 0 && (
        <p className="mt-2 text-muted text-xs">
          Failed: the email was not accepted. Bounced: the address refused it, either at once (then it also counts as failed) or after it
          was accepted (then it counts as sent).
        </p>
      )}
    </section>
  )
}

function Figure({ campaign, label, value, activity, note }: FigureProps) {
  const { sentCount } = campaign
  return (
    <div className="bg-surface px-4 py-3">
      <dt className="text-muted text-xs">{label}</dt>
      <dd>
        <RecipientsLink campaign={campaign} search={{ activity }} label={`${label}: ${countOf(value, RECIPIENTS)}`}>
          <Count value={value} className="font-semibold text-figure" />
        </RecipientsLink>
        <span className="block text-muted text-xs">
          {sentCount > 0 ? (
            <>
              <Percent value={Math.min(1, value / sentCount)} /> of {formatCount(sentCount)} sent
            </>
          ) : (
            'Nothing sent yet'
          )}
        </span>
        {note}
      </dd>
    </div>
  )
}

function Unreported() {
  return (
    <div className="bg-surface px-4 py-3">
      <dt className="text-muted text-xs">Delivered</dt>
      <dd className="text-muted text-xs">
        <span className="block text-figure">–</span>
        Plain SMTP reports no deliveries.
      </dd>
    </div>
  )
}

function Machines({ campaign, count, activity }: { campaign: Campaign; count: number; activity: Activity }) {
  return (
    <span className="block text-muted text-xs">
      {count > 0 ? (
        <RecipientsLink campaign={campaign} search={{ activity }}>
          and {formatCount(count)} by machines
        </RecipientsLink>
      ) : (
        'none by machines'
      )}
    </span>
  )
}
