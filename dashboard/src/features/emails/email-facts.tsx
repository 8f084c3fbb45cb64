import type { Email } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { campaignNamesQuery } from '../../data/campaigns.ts'
import { templateNamesQuery } from '../../data/templates.ts'
import { ContactLink } from '../../people/contact-link.tsx'
import { useProject } from '../../projects/current.ts'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { SOURCE_WORDS } from './email-filter.ts'
import { shownEmailStatus, timeToSend } from './email-story.ts'

/** Recipient, sender, origin, and every id that a support request may need. */
export function EmailFacts({ email }: { email: Email }) {
  const took = timeToSend(email)
  const person = email.contactId ? (
    <ContactLink contact={{ id: email.contactId, email: email.to }} />
  ) : (
    <CopyText value={email.to} label="Address" />
  )
  return (
    <Facts>
      <Fact label="Status">
        <Status kind="email" status={shownEmailStatus(email)} />
        {email.test && <span className="text-muted"> · a test, in no counts</span>}
      </Fact>
      <Fact label="To">{person}</Fact>
      <Fact label="From">
        {email.fromName && `${email.fromName} · `}
        <CopyText value={email.from} label="Sender" />
      </Fact>
      {email.replyTo && <Fact label="Reply to">{email.replyTo}</Fact>}
      <Fact label="Source">{SOURCE_WORDS[email.sourceType]}</Fact>
      <TemplateFact email={email} />
      <Fact label="Created">
        <Time value={email.createdAt} />
        {took && <span className="text-muted"> · took {took}</span>}
      </Fact>
      {email.sendAt && (
        <Fact label="Scheduled for">
          <Time value={email.sendAt} />
        </Fact>
      )}
      {email.attempts > 0 && <Fact label="Attempts">{email.attempts}</Fact>}
      {email.resentFrom && (
        <Fact label="Resend of">
          <EmailLink id={email.resentFrom} />
        </Fact>
      )}
      <IdFact label="Id" value={email.id} />
      <IdFact label="Message-ID" value={email.messageId} />
      <IdFact label="Request id" value={email.requestId} />
      {email.campaignId && (
        <Fact label="Campaign">
          <CampaignLink campaignId={email.campaignId} />
        </Fact>
      )}
      <IdFact label="Execution id" value={email.workflowExecutionId} />
    </Facts>
  )
}

function TemplateFact({ email: { templateId, templateVersion } }: { email: Email }) {
  const project = useProject()
  const names = useQuery(templateNamesQuery(project.id)).data
  if (!templateId) return null
  return (
    <Fact label="Template">
      {names?.[templateId] ? (
        <Link to="/app/p/$projectId/templates/$templateId" params={{ projectId: project.id, templateId }} className="link">
          {names[templateId]}
        </Link>
      ) : (
        <CopyText value={templateId} label="Template id" mono />
      )}
      {templateVersion !== null && <span className="text-muted"> · version {templateVersion}</span>}
    </Fact>
  )
}

function IdFact({ label, value }: { label: string; value: string | null }) {
  if (!value) return null
  return (
    <Fact label={label}>
      <CopyText value={value} label={label} mono />
    </Fact>
  )
}

/** Every source is a link. */
function CampaignLink({ campaignId }: { campaignId: string }) {
  const project = useProject()
  const names = useQuery(campaignNamesQuery(project.id)).data
  return (
    <Link to="/app/p/$projectId/campaigns/$campaignId" params={{ projectId: project.id, campaignId }} className="link">
      {names?.[campaignId] ?? 'The campaign'}
    </Link>
  )
}

function EmailLink({ id }: { id: string }) {
  const project = useProject()
  return (
    <Link to="/app/p/$projectId/emails/$emailId" params={{ projectId: project.id, emailId: id }} className="link font-mono text-code">
      {id}
    </Link>
  )
}
