import type { Contact } from '@sterna/sdk'
import { Bell, BellOff, Copy, Trash2, Workflow } from 'lucide-react'
import { useApi } from '../../../projects/current.ts'
import { Confirm } from '../../../ui/dialog/dialog.tsx'
import { MenuItem, MenuSeparator } from '../../../ui/dialog/menu.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { copy } from '../../../ui/text/copy.ts'
import { useInvalidateContacts, useToggleSubscription } from './use-change-contact.ts'

type ContactMenuProps = { contact: Contact; onDelete: () => void; onStartWorkflow?: () => void }

export function ContactMenu({ contact, onDelete, onStartWorkflow }: ContactMenuProps) {
  const toggle = useToggleSubscription(contact)
  return (
    <>
      <MenuItem onSelect={() => copy(contact.email, 'Address')}>
        <Copy aria-hidden="true" />
        Copy the address
      </MenuItem>
      <MenuItem onSelect={toggle}>
        {contact.subscribed ? <BellOff aria-hidden="true" /> : <Bell aria-hidden="true" />}
        {contact.subscribed ? 'Unsubscribe' : 'Subscribe'}
      </MenuItem>
      {onStartWorkflow && (
        <MenuItem onSelect={onStartWorkflow}>
          <Workflow aria-hidden="true" />
          Start a workflow…
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem onSelect={onDelete}>
        <Trash2 aria-hidden="true" />
        Delete…
      </MenuItem>
    </>
  )
}

type DeleteContactProps = { contact: Contact; onClose: () => void; onDeleted?: () => unknown }

export function DeleteContact({ contact, onClose, onDeleted }: DeleteContactProps) {
  const api = useApi()
  const invalidate = useInvalidateContacts()
  async function remove() {
    await api.contacts.delete(contact.id)
    await onDeleted?.()
    await invalidate()
    toast(`${contact.email} was deleted`)
  }
  return (
    <Confirm
      title={`Delete ${contact.email}?`}
      description="The contact, its data and its events are deleted. Emails that were sent are kept, without the contact. Suppressions are kept too."
      action="Delete contact"
      onConfirm={remove}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
