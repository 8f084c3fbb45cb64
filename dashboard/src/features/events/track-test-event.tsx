import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { meQuery } from '../../data/account.ts'
import { invalidateTracked } from '../../data/events.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, TextArea } from '../../ui/form/input.tsx'
import { useShortcuts } from '../../ui/shortcuts/shortcuts.ts'

export function TrackTestEvent() {
  const [open, setOpen] = useState(false)
  useShortcuts([{ keys: 'c', label: 'Track a test event', group: 'List', run: () => setOpen(true) }])
  return (
    <>
      <Button variant="primary" size="sm" onClick={() => setOpen(true)}>
        <Plus aria-hidden="true" />
        Track a test event
      </Button>
      <Dialog
        title="Track a test event"
        description="A real event: it starts workflows, and creates the contact if there is none with this address."
        open={open}
        onOpenChange={setOpen}
      >
        <TrackForm onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function TrackForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const me = useQuery(meQuery)
  const [dataError, setDataError] = useState<Error | null>(null)
  const track = useMutation({
    mutationFn: (body: Body<'POST /events/track'>) => api.events.record(body),
    onSuccess: async (tracked, { event }) => {
      await invalidateTracked(queries, project.id)
      const contactId = 'success' in tracked ? tracked.data.contact : tracked.contactId
      // Its timeline has what the event started.
      const open = () => navigate({ to: `/app/p/${project.id}/contacts/${contactId}` })
      toast(`${event} was tracked`, { ...(contactId && { action: { label: 'Open the contact', run: open } }) })
      onDone()
    },
  })

  function submit(value: (name: string) => string) {
    const data = parseObject(value('data'))
    setDataError(data ? null : new Error('not JSON'))
    if (data) track.mutate({ email: value('email'), event: value('event'), data })
  }

  return (
    <Form error={track.error} onSubmit={submit}>
      <Field name="event" label="Event">
        <Input defaultValue="signup" required autoComplete="off" />
      </Field>
      <Field name="email" label="Contact">
        <Input type="email" defaultValue={me.data?.email} required autoComplete="off" />
      </Field>
      <Field
        name="data"
        label="Data"
        hint={dataError ? 'Must be a JSON object, such as {"plan": "pro"}.' : 'A JSON object. Stored with the contact too.'}
      >
        <TextArea rows={3} defaultValue="{}" spellCheck={false} className="font-mono" aria-invalid={dataError !== null} />
      </Field>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={track.isPending}>
          Track the event
        </Button>
      </DialogButtons>
    </Form>
  )
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text || '{}')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
