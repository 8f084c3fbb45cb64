import type { Consent, Contact } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { campaignNamesQuery } from '../../../data/campaigns.ts'
import { consentQuery } from '../../../data/contacts.ts'
import { emailQuery } from '../../../data/emails.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ConfirmDialog } from '../../../ui/dialog/dialog.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { useInvalidateContacts } from './use-change-contact.ts'

const SOURCES: Record<string, string> = {
  'secret-key': 'by the API',
  'public-key': 'by an event of your app',
  dashboard: 'in this dashboard',
  import: 'by an import',
  bulk: 'by a bulk action',
  page: 'on the preference page',
  'one-click': 'with one click in the mail program',
  bounce: 'after an email bounced',
  complaint: 'after marking an email as spam',
  workflow: 'by a workflow',
}

/** The subscription, and why it is so. */
export function Subscription({ contact }: { contact: Contact }) {
  const project = useProject()
  const consent = useQuery(consentQuery(project.id, contact.id))
  const latest = consent.data?.data[0]
  return (
    <span className="inline-flex flex-wrap items-baseline gap-x-1.5 text-ui">
      <Status kind="contact" status={contact.subscribed ? 'subscribed' : 'unsubscribed'}>
        {hasOptedOut(contact, consent.data?.data) && 'Unsubscribed'}
      </Status>
      {latest && latest.subscribed === contact.subscribed && (
        <span className="text-muted">
          {SOURCES[latest.source] ?? latest.source}, <Time value={latest.createdAt} />
          {typeof latest.details.emailId === 'string' && <FromEmail emailId={latest.details.emailId} />}
        </span>
      )}
    </span>
  )
}

/** The email whose link was used, by its campaign if it has one. */
function FromEmail({ emailId }: { emailId: string }) {
  const project = useProject()
  const email = useQuery(emailQuery(project.id, emailId)).data
  const campaigns = useQuery(campaignNamesQuery(project.id)).data ?? {}
  if (!email) return null
  const campaign = email.campaignId && campaigns[email.campaignId]
  return (
    <>
      , from{' '}
      <Link to="/app/p/$projectId/emails/$emailId" params={{ projectId: project.id, emailId }} className="link">
        {campaign ? `the campaign ${campaign}` : `the email ${email.subject}`}
      </Link>
    </>
  )
}

/** Whether the contact left, rather than never having been subscribed: only changes have a consent record. The newest comes first. */
const hasOptedOut = (contact: Contact, consents: Consent[] = []) => !contact.subscribed && consents[0]?.subscribed === false

const isBlocking = (latest: Consent | undefined) => latest && !latest.subscribed && ['bounce', 'complaint'].includes(latest.source)

/** A hard bounce or a complaint suppresses the address too, which stops transactional email as well. */
export function SuppressionBanner({ contact }: { contact: Contact }) {
  const project = useProject()
  const api = useApi()
  const invalidate = useInvalidateContacts()
  const latest = useQuery(consentQuery(project.id, contact.id)).data?.data[0]
  if (!isBlocking(latest)) return null

  async function lift() {
    await api.suppressions.remove(contact.email)
    await invalidate()
    toast(`${contact.email} is no longer suppressed`)
  }
  const isComplaint = latest!.source === 'complaint'
  return (
    <Banner
      tone="warning"
      action={
        <ConfirmDialog
          title={`Lift the suppression of ${contact.email}?`}
          description={
            isComplaint
              ? 'This person marked an email as spam. Another complaint harms the delivery of all your email. The contact stays unsubscribed.'
              : 'The mailbox did not exist. Lift this only if it does now. The contact stays unsubscribed.'
          }
          action="Lift the suppression"
          onConfirm={lift}
        >
          {(open) => (
            <button type="button" className="min-h-8 font-medium underline underline-offset-4" onClick={open}>
              Lift…
            </button>
          )}
        </ConfirmDialog>
      }
    >
      {isComplaint ? 'This person marked an email as spam' : 'An email to this address bounced'}: it gets no email of any kind until the
      suppression is lifted.
    </Banner>
  )
}
