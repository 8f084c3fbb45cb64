import { SternaError } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Ellipsis, MailX, RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useProject } from '../../projects/current.ts'
import { rememberRecent } from '../../projects/recents.ts'
import { Button, buttonClass, IconButton } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorState } from '../../ui/error-state.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Page } from '../../ui/page.tsx'
import { EmailFacts } from './email-facts.tsx'
import { EmailMenu, SuppressRecipient } from './email-menu.tsx'
import { EmailPreview, readTab } from './email-preview.tsx'
import { canResend } from './email-story.ts'
import { emailQuery } from './queries.ts'
import { useResend } from './resend.tsx'
import { Story } from './story.tsx'

const ROUTE = '/app/p/$projectId/emails/$emailId'

export function EmailPage() {
  const { emailId } = useParams({ from: ROUTE })
  const { tab } = useSearch({ from: ROUTE })
  const project = useProject()
  const navigate = useNavigate()
  const query = useQuery(emailQuery(project.id, emailId))
  const [suppressing, setSuppressing] = useState(false)
  const subject = query.data?.subject
  useEffect(() => {
    if (subject) rememberRecent(project.id, { path: `/app/p/${project.id}/emails/${emailId}`, label: subject, kind: 'Email' })
  }, [subject, project.id, emailId])

  const parent = (
    <Link to="/app/p/$projectId/emails" params={{ projectId: project.id }} className="rounded-sm hover:text-ink hover:underline">
      Emails
    </Link>
  )
  if (query.isPending) return <Page title="Email" parent={parent} width="full" loading />
  if (query.error instanceof SternaError && query.error.status === 404) return <NoSuchEmail />
  if (query.isLoadingError) return <ErrorState error={query.error} retry={query.refetch} />
  const { timeline, ...email } = query.data

  return (
    <Page
      title={email.subject || 'Email without a subject'}
      parent={parent}
      width="full"
      actions={
        <>
          {canResend(email) && <ResendButton id={email.id} />}
          <Menu
            align="end"
            trigger={
              <IconButton label="More actions">
                <Ellipsis />
              </IconButton>
            }
          >
            <EmailMenu email={email} onSuppress={() => setSuppressing(true)} />
          </Menu>
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
                params: { projectId: project.id, emailId },
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

function NoSuchEmail() {
  const project = useProject()
  return (
    <Page title="Email">
      <EmptyState
        icon={MailX}
        title="No such email"
        action={
          <Link to="/app/p/$projectId/emails" params={{ projectId: project.id }} className={buttonClass('primary')}>
            All emails
          </Link>
        }
      >
        It is older than this project keeps emails, or the link is wrong.
      </EmptyState>
    </Page>
  )
}
