import type { Email } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { Ban, Copy, RotateCw, Terminal } from 'lucide-react'
import { invalidateSuppressions } from '../../data/suppressions.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Confirm } from '../../ui/dialog/dialog.tsx'
import { MenuItem, MenuSeparator } from '../../ui/dialog/menu.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { copy } from '../../ui/text/copy.ts'
import { canResend } from './email-story.ts'
import { useResend } from './resend.tsx'

/** Dialogs live in the page: a menu is gone when they open. */
export function EmailMenu({ email, onSuppress }: { email: Email; onSuppress: () => void }) {
  const resend = useResend()
  return (
    <>
      {canResend(email) && (
        <MenuItem onSelect={() => resend(email)}>
          <RotateCw aria-hidden="true" />
          Resend
        </MenuItem>
      )}
      <MenuItem onSelect={() => copy(email.id, 'Id')}>
        <Copy aria-hidden="true" />
        Copy the id
      </MenuItem>
      <MenuItem onSelect={() => copy(`npm run sterna -- explain email ${email.id}`, 'Command')}>
        <Terminal aria-hidden="true" />
        Copy the command that explains it
      </MenuItem>
      <MenuSeparator />
      <MenuItem onSelect={onSuppress}>
        <Ban aria-hidden="true" />
        Suppress the recipient…
      </MenuItem>
    </>
  )
}

export function SuppressRecipient({ address, onClose }: { address: string; onClose: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function suppress() {
    await api.suppressions.add({ address })
    await invalidateSuppressions(queries, project.id)
    toast(`${address} is suppressed`)
  }
  return (
    <Confirm
      title={`Suppress ${address}?`}
      description="It gets no email of any kind, not even transactional email, until the suppression is lifted."
      action="Suppress the address"
      onConfirm={suppress}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
