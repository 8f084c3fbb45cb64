import type { Email } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { domainsQuery } from '../../data/domains.ts'
import { emailQuery } from '../../data/emails.ts'
import { configQuery } from '../../data/installation.ts'
import { messageOfEmailQuery } from '../../data/sandbox.ts'
import { SendForm } from '../../people/send-form.tsx'
import { useProject } from '../../projects/current.ts'
import { Banner } from '../../ui/page/banner.tsx'
import { Status } from '../../ui/text/status.tsx'

const INITIAL = { subject: 'It works', body: 'My first email with Sterna.' }

/** Sends an email to the user. In the sandbox it needs no DNS: a domain of its own is added for it. */
export function FirstEmail() {
  const project = useProject()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const domains = useQuery(domainsQuery(project.id)).data
  const [sentId, setSentId] = useState<string>()

  if (!project.secret) return <p className="text-muted text-ui">Only owners and admins can send from here: it takes the secret key.</p>
  if (!domains) return null
  const sender = domains.find(({ verified }) => verified)
  if (!sender && !isSandbox) return <p className="text-muted text-ui">Add a domain and publish its records first.</p>
  return (
    <div className="space-y-4">
      <p className="text-muted text-ui">
        {isSandbox
          ? 'This server keeps emails instead of sending them, so you see what would be sent, without any DNS.'
          : `It is sent from ${sender?.domain}.`}
      </p>
      <SendForm secret={project.secret} sender={sender} initial={INITIAL} onSent={setSentId} />
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

/** The message as it would have left. Shown as text: it is what mail programs get. */
function SandboxMessage({ emailId }: { emailId: string }) {
  const project = useProject()
  const message = useQuery(messageOfEmailQuery(project.id, emailId)).data
  if (!message) return null
  return (
    <figure className="rounded-lg border border-line">
      <figcaption className="border-line border-b px-3 py-2 text-ui">
        <span className="font-medium">{message.subject}</span>
        <span className="block text-muted text-xs">
          From {message.from} to {message.to}
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <pre tabIndex={0} className="max-h-60 overflow-auto p-3 font-mono text-code">
        {message.source}
      </pre>
    </figure>
  )
}
