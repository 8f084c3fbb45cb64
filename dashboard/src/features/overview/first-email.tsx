import type { Email } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { domainsQuery } from '../../data/domains.ts'
import { emailQuery } from '../../data/emails.ts'
import { configQuery } from '../../data/installation.ts'
import { messageOfEmailQuery, messageQuery } from '../../data/sandbox.ts'
import { SendForm } from '../../people/send-form.tsx'
import { useCanTry, WithoutDomain } from '../../people/without-domain.tsx'
import { useProject } from '../../projects/current.ts'
import { buttonClass } from '../../ui/form/button.tsx'
import { MessageFrame } from '../../ui/message/message-frame.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Status } from '../../ui/text/status.tsx'

const INITIAL = { subject: 'It works', body: 'My first email with Sterna.' }

/** Sends an email to the user. In the sandbox it needs no DNS: a domain of its own is added for it. */
export function FirstEmail() {
  const project = useProject()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const canTry = useCanTry()
  const domains = useQuery(domainsQuery(project.id)).data
  const [sentId, setSentId] = useState<string>()

  if (!domains) return null
  const sender = domains.find(({ verified }) => verified)
  if (!sender && !canTry) return <WithoutDomain />
  return (
    <div className="space-y-4">
      <p className="text-muted text-ui">
        {isSandbox
          ? 'This server keeps emails instead of sending them, so you see what would be sent, without any DNS.'
          : `It is sent from ${sender?.domain}.`}
      </p>
      <SendForm sender={sender} initial={INITIAL} onSent={setSentId} />
      {sentId && <Outcome emailId={sentId} isSandbox={isSandbox} />}
    </div>
  )
}

const isOnItsWay = (email: Pick<Email, 'status'> | undefined) => !email || email.status === 'PENDING' || email.status === 'SENDING'

function Outcome({ emailId, isSandbox }: { emailId: string; isSandbox: boolean }) {
  const project = useProject()
  const email = useQuery(emailQuery(project.id, emailId)).data
  return (
    <div className="space-y-3">
      <p className="flex items-center gap-3 text-ui" role="status">
        <Status kind="email" status={email?.status ?? 'PENDING'} />
        {email && <span className="text-muted">to {email.to}</span>}
      </p>
      {email?.error && <Banner tone="danger">{email.error}</Banner>}
      {isSandbox && !isOnItsWay(email) && <SandboxMessage emailId={emailId} />}
    </div>
  )
}

/** The message as a mail program shows it, with the way to the inbox that has it. */
function SandboxMessage({ emailId }: { emailId: string }) {
  const project = useProject()
  const message = useQuery(messageOfEmailQuery(project.id, emailId)).data
  const frame = useQuery({ ...messageQuery(project.id, message?.id ?? ''), enabled: Boolean(message) }).data?.frameUrl
  if (!message) return null
  return (
    <figure className="overflow-hidden rounded-lg border border-line">
      <figcaption className="flex flex-wrap items-center gap-3 border-line border-b px-3 py-2 text-ui">
        <span className="min-w-0 flex-1">
          <span className="font-medium">{message.subject}</span>
          <span className="block wrap-break-word text-muted text-xs">
            From {message.from} to {message.to}
          </span>
        </span>
        <Link
          to="/app/p/$projectId/sandbox"
          params={{ projectId: project.id }}
          search={{ peek: message.id }}
          className={buttonClass('secondary', 'sm')}
        >
          Open the sandbox inbox
        </Link>
      </figcaption>
      <div className="h-48">{frame && <MessageFrame fill title={message.subject} url={frame} />}</div>
    </figure>
  )
}
