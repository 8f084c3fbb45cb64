import type { AuditEntry } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Download, EyeOff, ScrollText } from 'lucide-react'
import { membersQuery } from '../../data/projects.ts'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { buttonClass } from '../../ui/form/button.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { Page } from '../../ui/page/page.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Time } from '../../ui/text/time.tsx'
import { AUDIT_SUBJECTS, auditFileUrl, auditQuery, describeAction, describeActor, describeAuditTarget } from './audit-query.ts'

const NOUN = { one: 'change', many: 'changes' }
/** The server counts exactly up to here. */
const EXACT_UP_TO = 10_000

const COLUMNS: Column<AuditEntry>[] = [
  { id: 'action', heading: 'Change', cell: ({ action }) => describeAction(action) },
  {
    id: 'target',
    heading: 'Object',
    from: 'md',
    cell: (entry) => <span title={describeAuditTarget(entry)}>{describeAuditTarget(entry)}</span>,
  },
  { id: 'actor', heading: 'By', cell: (entry) => <span title={describeActor(entry)}>{describeActor(entry)}</span> },
  { id: 'at', heading: 'When', width: 'w-32', cell: ({ at }) => <Time value={at} /> },
]

export function AuditPage() {
  const project = useProject()
  if (!canManage(project))
    return (
      <Page title="Audit">
        <EmptyState icon={EyeOff} title="Only owners and admins can see the audit trail">
          Ask one of them if you need to know who changed something.
        </EmptyState>
      </Page>
    )
  return <AuditList />
}

function AuditList() {
  const project = useProject()
  const members = useQuery(membersQuery(project.id)).data ?? []
  const people = Object.fromEntries(members.map(({ userId, email }) => [userId, email]))
  const filters: Filter[] = [
    { name: 'action', label: 'What', kind: 'choice', options: AUDIT_SUBJECTS },
    { name: 'actor', label: 'By', kind: 'choice', options: { ...people, system: 'Sterna' } },
  ]
  const list = useList<AuditEntry>({
    name: 'audit',
    filters,
    load: (api, request) => api.projects.audit(project.id, auditQuery(request)),
    rowId: ({ id }) => id,
    isEstimate: (total) => total >= EXACT_UP_TO,
  })
  return (
    <ListPage
      title="Audit"
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ action }) => describeAction(action)}
      peek={(_id, entry) => entry && <AuditPeek entry={entry} />}
      byTime
      actions={
        // A plain link: the server answers with a file.
        <a className={buttonClass('secondary', 'sm')} href={auditFileUrl(project.id, list.request)} download>
          <Download aria-hidden="true" />
          CSV
        </a>
      }
      firstRun={
        <FirstRun icon={ScrollText} title="No changes yet">
          Every change to templates, campaigns, workflows, keys, members and settings is listed here for 400 days.
        </FirstRun>
      }
    />
  )
}

function AuditPeek({ entry }: { entry: AuditEntry }) {
  const { action, actor, target, changes, network, at } = entry
  return (
    <Facts>
      <Fact label="Action">
        <CopyText value={action} label="action" mono />
      </Fact>
      <Fact label="When">
        <Time value={at} />
      </Fact>
      <Fact label="By">{describeActor(entry)}</Fact>
      {actor.id && (
        <Fact label={actor.type === 'key' ? 'Key' : 'User'}>
          <CopyText value={actor.id} label="id of the actor" mono />
        </Fact>
      )}
      {target.name && <Fact label="Name">{target.name}</Fact>}
      {target.id && (
        <Fact label="Id">
          <CopyText value={target.id} label="id" mono />
        </Fact>
      )}
      {changes.length > 0 && (
        <Fact label="Fields">
          <ul>
            {changes.map(({ field, value }) => (
              <li key={field} className="break-words">
                {field}
                {value !== undefined && <span className="text-muted">: {JSON.stringify(value)}</span>}
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {network && (
        <Fact label="Network">
          <CopyText value={network} label="network" mono />
        </Fact>
      )}
    </Facts>
  )
}
