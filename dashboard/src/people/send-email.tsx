import type { Domain } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { domainsQuery } from '../data/domains.ts'
import { useProject } from '../projects/current.ts'
import { CreateDialog } from '../ui/dialog/create-dialog.tsx'
import { SendForm } from './send-form.tsx'
import { useCanTry, WithoutDomain } from './without-domain.tsx'

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
      description="One transactional email. It counts and is delivered like those of your app."
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
  const canTry = useCanTry()
  const domains = useQuery(domainsQuery(project.id)).data
  if (!domains) return null
  const sender = given ?? domains.find(({ verified }) => verified)
  if (!sender && !canTry) return <WithoutDomain />
  return <SendForm sender={sender} initial={to ? BLANK : INITIAL} {...(to && { to })} onSent={onSent} />
}
