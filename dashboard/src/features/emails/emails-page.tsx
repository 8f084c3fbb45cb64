import type { Email } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Mails } from 'lucide-react'
import { useState } from 'react'
import { campaignNamesQuery } from '../../data/campaigns.ts'
import { templateNamesQuery } from '../../data/templates.ts'
import { ExportList } from '../../jobs/export-list.tsx'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { SendEmail } from '../../people/send-email.tsx'
import { useProject } from '../../projects/current.ts'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { emailFilter, emailsQuery, FACT_WORDS, SOURCE_WORDS, STATUS_WORDS } from './email-filter.ts'
import { EmailMenu, SuppressRecipient } from './email-menu.tsx'
import { EmailPeek } from './email-peek.tsx'
import { shownEmailStatus, timeToSend } from './email-story.ts'
import { ResendSelected } from './resend.tsx'

const NOUN = { one: 'email', many: 'emails' }
const LIVE_MS = 5_000
/** The server counts exactly up to here and estimates beyond. */
const EXACT_UP_TO = 10_000

const FILTERS: Filter[] = [
  { name: 'status', label: 'Status', kind: 'choices', options: STATUS_WORDS },
  { name: 'scheduled', label: 'Scheduled', kind: 'choice', options: { true: 'Waiting for its time' } },
  { name: 'source', label: 'Source', kind: 'choice', options: SOURCE_WORDS },
  { name: 'domain', label: 'Recipient domain', kind: 'text', hint: 'gmail.com' },
  { name: 'created', label: 'Created', kind: 'range' },
  { name: 'fact', label: 'Happened', kind: 'choice', options: FACT_WORDS },
  { name: 'when', label: 'Happened on', kind: 'range' },
]

export function EmailsPage() {
  const project = useProject()
  const navigate = useNavigate()
  const [suppressing, setSuppressing] = useState<Email>()
  const templates = useQuery(templateNamesQuery(project.id)).data ?? {}
  const campaigns = useQuery(campaignNamesQuery(project.id)).data ?? {}
  const list = useList<Email>({
    name: 'emails',
    filters: [
      ...FILTERS,
      { name: 'template', label: 'Template', kind: 'choice', options: templates },
      { name: 'campaign', label: 'Campaign', kind: 'choice', options: campaigns },
    ],
    load: (api, request) => api.emails.list(emailsQuery(request)),
    rowId,
    live: LIVE_MS,
    isEstimate: (total) => total >= EXACT_UP_TO,
  })
  const send = (label: string) => (
    <SendEmail
      label={label}
      onSent={(emailId) => navigate({ to: '/app/p/$projectId/emails/$emailId', params: { projectId: project.id, emailId } })}
    />
  )
  return (
    <>
      <ListPage
        title="Emails"
        noun={NOUN}
        list={list}
        columns={columnsOf(templates, campaigns)}
        rowLabel={({ to, subject }) => `${subject} to ${to}`}
        rowPath={({ id }) => `/app/p/${project.id}/emails/${id}`}
        peek={(id) => <EmailPeek key={id} id={id} />}
        rowMenu={(email) => <EmailMenu email={email} onSuppress={() => setSuppressing(email)} />}
        bulk={(selection) => <ResendSelected selection={selection} rows={list.rows ?? []} onDone={list.setSelection} />}
        searchHint="Address, subject or id"
        byTime
        actions={
          <>
            <span className="max-sm:hidden sm:contents">
              <ExportList
                noun={NOUN}
                total={list.total}
                about={list.isEstimate}
                start={(api) => api.emails.export({ filter: emailFilter(list.request) })}
              />
            </span>
            {send('Send an email')}
          </>
        }
        call={curl('GET', `/emails?limit=${list.request.limit}`)}
        firstRun={
          <FirstRun
            icon={Mails}
            title="No email yet"
            action={send('Send the first email')}
            call={{
              title: 'Or by the API',
              code: curl('POST', '/v1/send', {
                body: { to: 'ada@example.com', subject: 'Welcome', body: '<p>Hello</p>', from: 'hello@your-domain.com' },
              }),
            }}
          >
            Every email shows up here the moment your call is answered, with each attempt and what the receiving server said.
          </FirstRun>
        }
      />
      {suppressing && <SuppressRecipient address={suppressing.to} onClose={() => setSuppressing(undefined)} />}
    </>
  )
}

const rowId = ({ id }: Email) => id

const columnsOf = (templates: Record<string, string>, campaigns: Record<string, string>): Column<Email>[] => [
  { id: 'to', heading: 'To', cell: ({ to }) => <span title={to}>{to}</span> },
  { id: 'subject', heading: 'Subject', width: 'sm:w-[22%]', cell: ({ subject }) => <span title={subject}>{subject}</span> },
  { id: 'status', heading: 'Status', width: 'w-36', cell: (email) => <Status kind="email" status={shownEmailStatus(email)} /> },
  {
    id: 'source',
    heading: 'Source',
    width: 'w-24',
    from: 'xl',
    cell: ({ sourceType, test }) => (test ? 'Test' : SOURCE_WORDS[sourceType]),
  },
  {
    id: 'template',
    heading: 'Campaign or template',
    width: 'w-40',
    from: 'xl',
    cell: ({ campaignId, templateId }) => {
      if (campaignId) return campaigns[campaignId] ?? 'A campaign'
      return templateId ? (templates[templateId] ?? 'Deleted') : <None />
    },
  },
  { id: 'createdAt', heading: 'Created', width: 'w-24', cell: ({ createdAt }) => <Time value={createdAt} /> },
  { id: 'took', heading: 'Took', width: 'w-16', numeric: true, from: 'xl', cell: (email) => timeToSend(email) ?? <None /> },
]

function None() {
  return <span className="text-muted">–</span>
}
