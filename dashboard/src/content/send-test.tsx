import { useMutation, useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useId, useState } from 'react'
import { meQuery } from '../data/account.ts'
import { contactQuery } from '../data/contacts.ts'
import { membersQuery } from '../data/projects.ts'
import { useProject } from '../projects/current.ts'
import { Dialog, DialogButtons } from '../ui/dialog/dialog.tsx'
import { toast } from '../ui/dialog/toast.tsx'
import { Button } from '../ui/form/button.tsx'
import { Field } from '../ui/form/field.tsx'
import { Form } from '../ui/form/form.tsx'
import { Input } from '../ui/form/input.tsx'
import { Banner } from '../ui/notice/banner.tsx'
import { showKeys, useShortcuts } from '../ui/shortcuts/shortcuts.ts'

type SendTestProps = {
  send: (to: { email: string; contactId?: string }) => Promise<{ success: boolean; message: string }>
  /** The contact of the preview, if a test can have its data. */
  person?: string | undefined
  /** There are changes that a test would not show. */
  isDirty: boolean
}

export function SendTest(props: SendTestProps) {
  const [open, setOpen] = useState(false)
  useShortcuts([{ keys: 'mod+Enter', label: 'Send a test', group: 'Editor', run: () => !open && setOpen(true) }])
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)} title={`Send a test (${showKeys('mod+Enter')})`} aria-label="Send test…">
        <Send aria-hidden="true" />
        <span className="max-sm:hidden">Send test…</span>
      </Button>
      <Dialog
        title="Send a test email"
        description="With [TEST] in its subject. It is not tracked and in no counts; at most 60 an hour."
        open={open}
        onOpenChange={setOpen}
      >
        <SendTestForm {...props} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function SendTestForm({ send: sendTest, person, isDirty, onDone }: SendTestProps & { onDone: () => void }) {
  const project = useProject()
  const me = useQuery(meQuery).data
  const members = useQuery(membersQuery(project.id)).data ?? []
  const contact = useQuery({ ...contactQuery(project.id, person ?? ''), enabled: person !== undefined }).data
  const addresses = useId()
  const send = useMutation({
    mutationFn: (email: string) => sendTest({ email, ...(person && { contactId: person }) }),
    onSuccess: ({ success, message }, email) => {
      toast(success ? `A test is on its way to ${email}` : message, success ? {} : { tone: 'danger' })
      onDone()
    },
  })
  return (
    <Form error={send.error} onSubmit={(value) => send.mutate(value('email'))}>
      {isDirty && <Banner tone="warning">The test shows the saved version. Your unsaved changes are not in it.</Banner>}
      <Field
        name="email"
        label="To"
        hint={contact ? `With the data of ${contact.email}.` : 'With the data of the contact with this address, if there is one.'}
      >
        <Input type="email" required list={addresses} defaultValue={me?.email} autoComplete="off" />
      </Field>
      <datalist id={addresses}>
        {members.map(({ email }) => (
          <option key={email} value={email} />
        ))}
      </datalist>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={send.isPending}>
          Send test
        </Button>
      </DialogButtons>
    </Form>
  )
}
