import type { Suppression } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Ban, ShieldOff } from 'lucide-react'
import { useState } from 'react'
import { suppressionCountsQuery } from '../../data/suppressions.ts'
import { ExportList } from '../../jobs/export-list.tsx'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { useProject } from '../../projects/current.ts'
import { MenuItem } from '../../ui/dialog/menu.tsx'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { Button } from '../../ui/form/button.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Count } from '../../ui/text/count.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Time } from '../../ui/text/time.tsx'
import { LiftSuppression } from './lift.tsx'
import { SuppressButton, SuppressDialog } from './suppress.tsx'
import { REASONS, suppressionFilter, suppressionName, suppressionsQuery } from './suppressions-query.ts'
import { TestAddress } from './test-address.tsx'

const NOUN = { one: 'suppression', many: 'suppressions' }
/** The server counts exactly up to here and estimates beyond. */
const EXACT_UP_TO = 10_000

const FILTERS: Filter[] = [{ name: 'reason', label: 'Reason', kind: 'choice', options: REASONS }]

const COLUMNS: Column<Suppression>[] = [
  { id: 'address', heading: 'Address or domain', cell: (row) => <span title={suppressionName(row)}>{suppressionName(row)}</span> },
  { id: 'scope', heading: 'Covers', width: 'w-40', from: 'md', cell: ({ domain }) => (domain ? 'The whole domain' : 'One address') },
  { id: 'reason', heading: 'Reason', width: 'w-32', cell: ({ reason }) => REASONS[reason] },
  { id: 'createdAt', heading: 'Since', width: 'w-32', cell: ({ createdAt }) => <Time value={createdAt} /> },
]

export function SuppressionsPage() {
  const [suppressing, setSuppressing] = useState(false)
  const [lifting, setLifting] = useState<Suppression>()
  const list = useList<Suppression>({
    name: 'suppressions',
    filters: FILTERS,
    load: (api, request) => api.suppressions.list(suppressionsQuery(request)),
    rowId: suppressionName,
    isEstimate: (total) => total >= EXACT_UP_TO,
  })
  return (
    <>
      <ListPage
        title="Suppressions"
        noun={NOUN}
        list={list}
        columns={COLUMNS}
        rowLabel={suppressionName}
        peek={(id, row) => row && <SuppressionPeek key={id} suppression={row} onLift={() => setLifting(row)} />}
        rowMenu={(row) => (
          <MenuItem onSelect={() => setLifting(row)}>
            <ShieldOff aria-hidden="true" />
            Lift…
          </MenuItem>
        )}
        searchHint="Part of an address or domain"
        byTime
        actions={
          <>
            {/* On a phone they would leave no room for the title. */}
            <span className="max-sm:hidden sm:contents">
              <ExportList
                noun={NOUN}
                total={list.total}
                about={list.isEstimate}
                start={(api) => api.suppressions.export({ filter: suppressionFilter(list.request) })}
              />
              <TestAddress />
            </span>
            <SuppressButton label="Suppress…" onClick={() => setSuppressing(true)} />
          </>
        }
        call={curl('GET', `/suppressions?limit=${list.request.limit}`)}
        above={<Figures />}
        firstRun={
          <FirstRun
            icon={Ban}
            title="No suppressions"
            action={
              <span className="flex flex-wrap gap-2">
                <SuppressButton label="Suppress someone…" onClick={() => setSuppressing(true)} />
                <TestAddress />
              </span>
            }
            call={{ title: 'Or by the API', code: curl('POST', '/suppressions', { body: { address: 'ada@example.com' } }) }}
          >
            Hard bounces and complaints are added automatically.
          </FirstRun>
        }
      />
      <SuppressDialog open={suppressing} onOpenChange={setSuppressing} />
      {lifting && <LiftSuppression suppression={lifting} onClose={() => setLifting(undefined)} />}
    </>
  )
}

/** Every figure opens its list. Nothing while there is none. */
function Figures() {
  const project = useProject()
  const figures = useQuery(suppressionCountsQuery(project.id)).data
  if (!figures?.some(({ count }) => count > 0)) return null
  return (
    <ul aria-label="By reason" className="flex flex-wrap gap-x-8 gap-y-2 border-line border-b bg-surface px-4 py-3 sm:px-6 lg:px-8">
      {figures.map(({ reason, count }) => (
        <li key={reason}>
          <Link
            to="/app/p/$projectId/suppressions"
            params={{ projectId: project.id }}
            search={{ reason }}
            className="block rounded-sm hover:text-accent"
          >
            <span className="block text-muted text-xs">{REASONS[reason]}</span>
            <Count value={count} about={count >= EXACT_UP_TO} className="font-semibold text-title" />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function SuppressionPeek({ suppression, onLift }: { suppression: Suppression; onLift: () => void }) {
  const project = useProject()
  const { address, domain, reason, createdAt } = suppression
  return (
    <div className="space-y-4">
      <Facts>
        <Fact label={domain ? 'Domain' : 'Address'}>
          <CopyText value={suppressionName(suppression)} label={domain ? 'Domain' : 'Address'} />
        </Fact>
        <Fact label="Reason">{REASONS[reason]}</Fact>
        <Fact label="Since">
          <Time value={createdAt} />
        </Fact>
        <Fact label="Emails">
          <Link
            to="/app/p/$projectId/emails"
            params={{ projectId: project.id }}
            search={address ? { q: address } : { domain: domain! }}
            className="link"
          >
            {address ? 'Emails to this address' : 'Emails to this domain'}
          </Link>
        </Fact>
      </Facts>
      <Button size="sm" onClick={onLift}>
        Lift…
      </Button>
    </div>
  )
}
