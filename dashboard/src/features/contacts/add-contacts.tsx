import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { trackJob } from '../../jobs/tracked-jobs.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Button } from '../../ui/button.tsx'
import { countOf } from '../../ui/count.tsx'
import { Dialog, DialogButtons } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { TextArea } from '../../ui/input.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { toast } from '../../ui/toast.tsx'
import { readAddresses, toCsv } from './pasted-addresses.ts'
import { useInvalidateContacts } from './use-change-contact.ts'

const NOUN = { one: 'contact', many: 'contacts' }

/** One address is created at once; more are imported by a job. */
export function AddContacts({ label = 'Add contacts' }: { label?: string }) {
  const [open, setOpen] = useState(false)
  useShortcuts([{ keys: 'c', label: 'Add contacts', group: 'List', run: () => setOpen(true) }])
  return (
    <>
      <Button variant="primary" size="sm" onClick={() => setOpen(true)}>
        <Plus aria-hidden="true" />
        {label}
      </Button>
      <Dialog
        title="Add contacts"
        description="New contacts are subscribed. A contact that already exists keeps its subscription and its data."
        open={open}
        onOpenChange={setOpen}
      >
        <AddForm onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function AddForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const navigate = useNavigate()
  const invalidate = useInvalidateContacts()
  const [typed, setTyped] = useState('')
  const addresses = readAddresses(typed)

  async function add() {
    if (addresses.length > 1) {
      const queued = await api.contacts.import(new Blob([toCsv(addresses)], { type: 'text/csv' }))
      // Only a dry run has no job.
      if ('jobId' in queued)
        trackJob({ id: queued.jobId, projectId: project.id, kind: 'import', label: `Add ${countOf(addresses.length, NOUN)}` })
      return
    }
    const contact = await api.contacts.upsert({ email: addresses[0] ?? typed.trim() })
    await invalidate()
    toast(contact._meta.isNew ? `${contact.email} was added` : `${contact.email} was already a contact`)
    await navigate({ to: '/app/p/$projectId/contacts/$contactId', params: { projectId: project.id, contactId: contact.id } })
  }
  const adding = useMutation({ mutationFn: add, onSuccess: onDone })

  return (
    <Form error={adding.error} onSubmit={() => adding.mutate()}>
      <Field name="email" label="Addresses" hint="One, or many: separated by lines, spaces, commas or semicolons.">
        <TextArea
          required
          rows={6}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          placeholder={'ada@example.com\ngrace@example.com'}
          spellCheck={false}
          className="font-mono"
        />
      </Field>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={adding.isPending}>
          {addresses.length > 1 ? `Add ${countOf(addresses.length, NOUN)}` : 'Add contact'}
        </Button>
      </DialogButtons>
    </Form>
  )
}
