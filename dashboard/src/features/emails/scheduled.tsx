import type { Email } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invalidateEmails } from '../../data/emails.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ConfirmDialog, Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Form } from '../../ui/form/form.tsx'
import { momentOf, ownZone, textIn, type ZonedTime } from '../../ui/form/zoned-time.ts'
import { timeProblem, ZonedTimeFields } from '../../ui/form/zoned-time-fields.tsx'
import { explain } from '../../ui/notice/explain.ts'

/** To send it now, at another time, or not at all. */
export function ScheduledActions({ id, sendAt }: Pick<Email, 'id' | 'sendAt'>) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [moving, setMoving] = useState(false)
  const sendNow = useMutation({
    mutationFn: () => api.emails.update(id, { sendAt: null }),
    onSuccess: () => toast('Queued now'),
    onError: (error) => toast(explain(error), { tone: 'danger' }),
    onSettled: () => invalidateEmails(queries, project.id),
  })
  async function cancel() {
    await api.emails.cancel(id)
    await invalidateEmails(queries, project.id)
    toast('Cancelled')
  }
  return (
    <>
      <ConfirmDialog
        title="Cancel this email?"
        description="It is not sent, and does not count as used."
        action="Cancel the email"
        onConfirm={cancel}
      >
        {(open) => (
          <Button size="sm" onClick={open}>
            Cancel…
          </Button>
        )}
      </ConfirmDialog>
      <Button size="sm" onClick={() => setMoving(true)}>
        Move…
      </Button>
      <Dialog title="Move this email" description="Its content stays as it is." open={moving} onOpenChange={setMoving}>
        <MoveForm id={id} sendAt={sendAt!} onDone={() => setMoving(false)} />
      </Dialog>
      <Button variant="primary" size="sm" busy={sendNow.isPending} onClick={() => sendNow.mutate()}>
        Send now
      </Button>
    </>
  )
}

/** As the API says. */
const MAX_DAYS_AHEAD = 30

function MoveForm({ id, sendAt, onDone }: { id: string; sendAt: string; onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [time, setTime] = useState<ZonedTime>(() => ({ text: textIn(ownZone(), new Date(sendAt)), zone: ownZone() }))
  const problem = timeProblem(time, { maxDays: MAX_DAYS_AHEAD })
  const move = useMutation({
    mutationFn: () => api.emails.update(id, { sendAt: momentOf(time)!.toISOString() }),
    onSuccess: async () => {
      await invalidateEmails(queries, project.id)
      toast('Moved')
      onDone()
    },
  })
  return (
    <Form error={move.error} onSubmit={() => move.mutate()}>
      <ZonedTimeFields time={time} onTime={setTime} problem={problem} />
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={move.isPending} disabled={problem !== undefined}>
          Move the email
        </Button>
      </DialogButtons>
    </Form>
  )
}
