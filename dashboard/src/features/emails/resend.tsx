import type { Email } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { invalidateEmails } from '../../data/emails.ts'
import { NOTHING, type Selection } from '../../list/selection.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { countOf } from '../../ui/text/count.tsx'
import { canResend } from './email-story.ts'

const NOUN = { one: 'email', many: 'emails' }

/** Resends an email, and opens the new one. */
export function useResend() {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async ({ id }: Pick<Email, 'id'>) => {
    try {
      const sent = await api.emails.resend(id)
      await invalidateEmails(queries, project.id)
      await navigate({ to: '/app/p/$projectId/emails/$emailId', params: { projectId: project.id, emailId: sent.id } })
      toast('Queued again, as a new email')
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
}

type ResendSelectedProps = { selection: Selection; rows: Email[]; onDone: (selection: Selection) => void }

/** Resends the selected rows on this page that can be resent, one after the other: there are at most a hundred. */
export function ResendSelected({ selection, rows, onDone }: ResendSelectedProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const chosen = rows.filter(({ id }) => (selection.kind === 'ids' ? selection.ids.has(id) : !selection.except.has(id)))
  const failed = chosen.filter(canResend)
  const resend = useMutation({
    mutationFn: async () => {
      let refused = 0
      for (const { id } of failed) await api.emails.resend(id).catch(() => refused++)
      await invalidateEmails(queries, project.id)
      toast(`${countOf(failed.length - refused, NOUN)} queued again${refused > 0 ? `, ${refused} can no longer be resent` : ''}`)
      onDone(NOTHING)
    },
  })
  if (failed.length === 0)
    return <p className="text-muted text-ui">Only failed transactional emails can be resent. None is selected here.</p>
  return (
    <Button size="sm" busy={resend.isPending} onClick={() => resend.mutate()}>
      Resend {countOf(failed.length, { one: 'failed email', many: 'failed emails' })}
      {selection.kind === 'all' && ' of this page'}
    </Button>
  )
}
