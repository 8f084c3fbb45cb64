import { useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { apiOf, projectKey } from '../api.ts'
import { configQuery } from '../session/queries.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { useShortcuts } from '../ui/shortcuts.ts'
import { useProject } from './current.ts'
import { SendForm } from './send-form.tsx'

const INITIAL = { subject: 'A test', body: 'Written in the dashboard.' }

/** The button and the dialog that send one email by hand. */
export function SendEmail({ label, onSent }: { label: string; onSent?: (emailId: string) => void }) {
  const [open, setOpen] = useState(false)
  useShortcuts([{ keys: 'c', label, group: 'List', run: () => setOpen(true) }])
  return (
    <>
      <Button variant="primary" size="sm" onClick={() => setOpen(true)}>
        <Send aria-hidden="true" />
        {label}
      </Button>
      <Dialog title={label} description="One transactional email, by the same call that your app makes." open={open} onOpenChange={setOpen}>
        <SendFromDomain
          onSent={(emailId) => {
            setOpen(false)
            onSent?.(emailId)
          }}
        />
      </Dialog>
    </>
  )
}

function SendFromDomain({ onSent }: { onSent: (emailId: string) => void }) {
  const project = useProject()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const domains = useQuery({ queryKey: projectKey(project.id, 'domains'), queryFn: () => apiOf(project.id).domains.list() }).data
  if (!project.secret) return <p className="text-muted text-ui">Only owners and admins can send from here: it takes the secret key.</p>
  if (!domains) return null
  const sender = domains.find(({ verified }) => verified)
  if (!sender && !isSandbox) return <p className="text-muted text-ui">Add a domain and publish its records first.</p>
  return <SendForm secret={project.secret} sender={sender} initial={INITIAL} onSent={onSent} />
}
