import { useMutation, useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { stepRepliesQuery } from '../../../data/workflows.ts'
import { PersonPicker } from '../../../people/person-picker.tsx'
import { useApi, useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { Time } from '../../../ui/text/time.tsx'
import { type StepFormProps, textOf } from './step-view.ts'

type Request = { url: string; method: string; headers: Record<string, string>; body: string | null }

/** The request as it would be made, a test of it, and the last replies that contacts had. */
export function WebhookTry({ step, workflow }: StepFormProps) {
  const api = useApi()
  const [person, setPerson] = useState<string>()
  const eventName = workflow.triggerType === 'EVENT' ? textOf(workflow.triggerConfig.eventName) : ''
  const tested = { config: step.config, ...(person && { contactId: person }), ...(eventName && { event: { name: eventName } }) }
  const preview = useMutation({ mutationFn: () => api.workflows.previewWebhook(workflow.id, tested) })
  const test = useMutation({ mutationFn: () => api.workflows.testWebhook(workflow.id, tested) })
  const error = preview.error ?? test.error
  const request = test.data?.request ?? preview.data
  return (
    <section aria-label="Try the webhook" className="space-y-3 border-line border-t pt-3">
      <PersonPicker person={person} onPerson={setPerson} placeholder="For a sample person" canClear />
      <div className="flex flex-wrap gap-2">
        <Button size="sm" busy={preview.isPending} onClick={() => preview.mutate()}>
          Show the request
        </Button>
        <Button size="sm" busy={test.isPending} onClick={() => test.mutate()}>
          <Send aria-hidden="true" />
          Send a test
        </Button>
      </div>
      {error && <Banner tone="danger">{explain(error)}</Banner>}
      {test.data && (
        <Banner tone={test.data.status !== null && test.data.status < 300 ? 'good' : 'warning'}>
          {test.data.status === null ? test.data.error : `The host answered with ${test.data.status}`} after {test.data.durationMs} ms.
        </Banner>
      )}
      {request && <RequestText request={request} />}
      <LastReplies stepId={step.id} workflow={workflow} />
    </section>
  )
}

function RequestText({ request: { url, method, headers, body } }: { request: Request }) {
  const lines = [`${method} ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body ?? '']
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <pre className="max-h-60 overflow-auto rounded-md bg-sunken p-2 font-mono text-code" tabIndex={0}>
      {lines.join('\n')}
    </pre>
  )
}

/** The last replies to the requests of a saved step. A step that is not saved has none. */
function LastReplies({ stepId, workflow }: { stepId: string; workflow: StepFormProps['workflow'] }) {
  const project = useProject()
  const isSaved = workflow.steps.some(({ id }) => id === stepId)
  const replies = useQuery({ ...stepRepliesQuery(project.id, workflow.id, stepId), enabled: isSaved }).data ?? []
  if (replies.length === 0) return null
  return (
    <div>
      <p className="font-medium text-ui">Last replies</p>
      <ul className="divide-y divide-line text-ui">
        {replies.map(({ id, contact, webhook, startedAt }) => (
          <li key={id} className="flex items-center gap-2 py-1">
            <span className="w-24 shrink-0">{webhook?.status ?? 'No reply'}</span>
            <span className="min-w-0 flex-1 truncate text-muted">{contact?.email ?? 'Deleted contact'}</span>
            <span className="text-muted text-xs">
              <Time value={startedAt} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
