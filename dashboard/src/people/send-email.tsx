import type { Domain } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { domainsQuery } from '../data/domains.ts'
import { configQuery } from '../data/installation.ts'
import { useProject } from '../projects/current.ts'
import { CreateDialog } from '../ui/dialog/create-dialog.tsx'
import { SendForm } from './send-form.tsx'

const INITIAL = { subject: 'A test', body: 'Written in the dashboard.' }
/** A person must not get a test by accident. */
const BLANK = { subject: '', body: '' }

type Whom = {
  /** The recipient; the user unless given. */
  to?: { email: string; contactId: string }
  /** The domain to send from; the first that is verified unless given. */
  sender?: Domain
}
type SendEmailProps = Whom & { label: string; variant?: 'primary' | 'secondary'; onSent?: (emailId: string) => void }

/** The button and the dialog that send one email by hand. */
export function SendEmail({ label, variant = 'primary', onSent, ...whom }: SendEmailProps) {
  return (
    <CreateDialog
      label={label}
      icon={Send}
      variant={variant}
      title={label}
      description="One transactional email, by the same call that your app makes."
      {...(variant === 'primary' && { shortcut: label })}
    >
      {(close) => (
        <SendFromDomain
          {...whom}
          onSent={(emailId) => {
            close()
            onSent?.(emailId)
          }}
        />
      )}
    </CreateDialog>
  )
}

function SendFromDomain({ to, sender: given, onSent }: Whom & { onSent: (emailId: string) => void }) {
  const project = useProject()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const domains = useQuery(domainsQuery(project.id)).data
  if (!project.secret) return <p className="text-muted text-ui">Only owners and admins can send from here: it takes the secret key.</p>
  if (!domains) return null
  const sender = given ?? domains.find(({ verified }) => verified)
  if (!sender && !isSandbox) return <p className="text-muted text-ui">Add a domain and publish its records first.</p>
  return <SendForm secret={project.secret} sender={sender} initial={to ? BLANK : INITIAL} {...(to && { to })} onSent={onSent} />
}
