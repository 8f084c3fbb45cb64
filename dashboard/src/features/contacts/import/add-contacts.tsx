import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { trackJob } from '../../../jobs/own-jobs.ts'
import { addressesToCsv, readAddresses } from '../../../people/pasted-addresses.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { CreateDialog } from '../../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { TextArea } from '../../../ui/form/input.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import { useInvalidateContacts } from '../contact/use-change-contact.ts'

const NOUN = { one: 'contact', many: 'contacts' }

/** One address is created at once; more are imported by a job. */
export function AddContacts({ label = 'Add contacts' }: { label?: string }) {
  return (
    <CreateDialog
      label={label}
      title="Add contacts"
      description="New contacts are subscribed. A contact that already exists keeps its subscription and its data."
      shortcut="Add contacts"
    >
      {(close) => <AddForm onDone={close} />}
    </CreateDialog>
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
      const queued = await api.contacts.import(new Blob([addressesToCsv(addresses)], { type: 'text/csv' }))
      // Only a dry run has no job.
      if ('jobId' in queued) trackJob(project.id, { id: queued.jobId, label: `Add ${countOf(addresses.length, NOUN)}` })
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
      <Field
        name="email"
        label="Addresses"
        hint={
          <>
            One, or many: separated by lines, spaces, commas or semicolons. For a file, or with more than addresses:{' '}
            <Link to="/app/p/$projectId/contacts/import" params={{ projectId: project.id }} className="link">
              import a CSV
            </Link>
            .
          </>
        }
      >
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
