import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { trackJob } from '../../jobs/own-jobs.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { NOTHING, type Selection } from '../../list/selection.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Confirm } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { countOf, formatCount } from '../../ui/text/count.tsx'
import { AddToSegment } from './add-to-segment.tsx'
import { bulkBody } from './contact-filter.ts'

const NOUN = { one: 'contact', many: 'contacts' }
/** From this number on a mistake is expensive: the user types the number to confirm. */
const PHRASE_ABOVE = 100

type Operation = 'Subscribe' | 'Unsubscribe' | 'Delete'
type BulkActionsProps = {
  selection: Selection
  count: number
  request: ListRequest
  isEstimate: boolean
  onDone: (selection: Selection) => void
}

/** Runs as a job, which the tray shows. */
export function BulkActions({ selection, count, request, isEstimate, onDone }: BulkActionsProps) {
  const project = useProject()
  const api = useApi()
  const [confirming, setConfirming] = useState<Operation>()
  const about = selection.kind === 'all' && isEstimate

  async function start(operation: Operation) {
    const body = bulkBody(selection, request)
    const calls = { Subscribe: api.contacts.bulkSubscribe, Unsubscribe: api.contacts.bulkUnsubscribe, Delete: api.contacts.bulkDelete }
    const { jobId } = await calls[operation](body)
    trackJob(project.id, { id: jobId, label: `${operation} ${countOf(count, NOUN, about)}` })
    onDone(NOTHING)
  }
  const run = useMutation({ mutationFn: start, onError: (error) => toast(explain(error), { tone: 'danger' }) })

  return (
    <>
      <Button size="sm" busy={run.isPending} onClick={() => (count > PHRASE_ABOVE ? setConfirming('Subscribe') : run.mutate('Subscribe'))}>
        Subscribe
      </Button>
      <Button
        size="sm"
        busy={run.isPending}
        onClick={() => (count > PHRASE_ABOVE ? setConfirming('Unsubscribe') : run.mutate('Unsubscribe'))}
      >
        Unsubscribe
      </Button>
      <AddToSegment selection={selection} count={count} request={request} about={about} onDone={onDone} />
      <Button size="sm" onClick={() => setConfirming('Delete')}>
        Delete…
      </Button>
      {confirming && (
        <Confirm
          title={`${confirming} ${countOf(count, NOUN, about)}?`}
          description={CONSEQUENCES[confirming]}
          action={`${confirming} ${countOf(count, NOUN, about)}`}
          phrase={count > PHRASE_ABOVE ? formatCount(count, { about }) : undefined}
          onConfirm={() => start(confirming)}
          open
          onOpenChange={(open) => !open && setConfirming(undefined)}
        />
      )}
    </>
  )
}

const CONSEQUENCES: Record<Operation, string> = {
  Subscribe: 'They get marketing email again, also those who unsubscribed themselves. Do this only if they agreed.',
  Unsubscribe: 'They get no more marketing email. Transactional email still reaches them.',
  Delete: 'The contacts, their data and their events are deleted. Emails that were sent are kept, without their contacts.',
}
