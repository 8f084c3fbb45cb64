import type { Email } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { invalidateEmails } from '../../data/emails.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { explain } from '../../ui/text/explain.ts'

/** Waits for the time that its request gave. */
export const isScheduled = ({ status, sendAt, attempts }: Pick<Email, 'status' | 'sendAt' | 'attempts'>) =>
  status === 'PENDING' && sendAt !== null && attempts === 0

/** To send it now, or not at all. */
export function ScheduledActions({ id }: Pick<Email, 'id'>) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
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
      <Button variant="primary" size="sm" busy={sendNow.isPending} onClick={() => sendNow.mutate()}>
        Send now
      </Button>
    </>
  )
}
