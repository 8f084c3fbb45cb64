import type { Result } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { MailX, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { emailQuery } from '../../data/emails.ts'
import { useProject } from '../../projects/current.ts'
import { ListLink, RecordPage } from '../../projects/record-page.tsx'
import { MoreActions } from '../../ui/dialog/menu.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'
import { Page } from '../../ui/page/page.tsx'
import { EmailFacts } from './email-facts.tsx'
import { EmailMenu, SuppressRecipient } from './email-menu.tsx'
import { EmailPreview, readTab } from './email-preview.tsx'
import { canResend, isScheduled } from './email-story.ts'
import { useResend } from './resend.tsx'
import { ScheduledActions } from './scheduled.tsx'
import { Story } from './story.tsx'

const ROUTE = '/app/p/$projectId/emails/$emailId'
const MISSING = { icon: MailX, reason: 'It is older than this project keeps emails, or the link is wrong.' }

export function EmailPage() {
  const { emailId } = useParams({ from: ROUTE })
  const project = useProject()
  const query = useQuery(emailQuery(project.id, emailId))
  return (
    <RecordPage kind="Email" id={emailId} query={query} labelOf={({ subject }) => subject} missing={MISSING}>
      {(email) => <EmailView email={email} />}
    </RecordPage>
  )
}

function EmailView({ email: { timeline, ...email } }: { email: Result<'GET /emails/{id}'> }) {
  const { tab } = useSearch({ from: ROUTE })
  const project = useProject()
  const navigate = useNavigate()
  const [suppressing, setSuppressing] = useState(false)
  return (
    <Page
      title={email.subject || 'Email without a subject'}
      parent={<ListLink kind="Email" />}
      width="full"
      actions={
        <>
          {isScheduled(email) && <ScheduledActions id={email.id} sendAt={email.sendAt} />}
          {canResend(email) && <ResendButton id={email.id} />}
          <MoreActions>
            <EmailMenu email={email} onSuppress={() => setSuppressing(true)} />
          </MoreActions>
        </>
      }
    >
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0 space-y-6">
          <Card title="What happened">
            <Story email={email} timeline={timeline} />
          </Card>
          <EmailPreview
            key={email.id}
            id={email.id}
            tab={readTab(tab)}
            onTab={(next) =>
              navigate({
                to: ROUTE,
                params: { projectId: project.id, emailId: email.id },
                search: next === 'preview' ? {} : { tab: next },
                replace: true,
                resetScroll: false,
              })
            }
          />
        </div>
        <div className="min-w-0">
          <Card>
            <EmailFacts email={email} />
          </Card>
        </div>
      </div>
      {suppressing && <SuppressRecipient address={email.to} onClose={() => setSuppressing(false)} />}
    </Page>
  )
}

function ResendButton({ id }: { id: string }) {
  const resend = useResend()
  const [busy, setBusy] = useState(false)
  return (
    <Button
      variant="primary"
      size="sm"
      busy={busy}
      title="Sends it again as a new email, with the data of the first request"
      onClick={async () => {
        setBusy(true)
        await resend({ id })
        setBusy(false)
      }}
    >
      <RotateCw aria-hidden="true" />
      Resend
    </Button>
  )
}
