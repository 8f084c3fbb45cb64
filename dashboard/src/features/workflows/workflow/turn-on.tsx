import type { Workflow } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { templateNamesQuery } from '../../../data/templates.ts'
import { executionCountQuery, storeWorkflow } from '../../../data/workflows.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Dialog, DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { countOf } from '../../../ui/text/count.tsx'
import { describeStart } from '../steps/describe.ts'

const PEOPLE = { one: 'contact', many: 'contacts' }

/** Turning on is confirmed, as it starts things. Turning off is undone by turning on. */
export function TurnOnOff({ workflow, refusal }: { workflow: Workflow; refusal?: string }) {
  const [asking, setAsking] = useState(false)
  const change = useChange(workflow)
  const waiting = useActiveCount(workflow)
  async function turnOff() {
    const isOff = await change.mutateAsync(false).then(
      () => true,
      () => false,
    )
    if (!isOff) return
    toast(`${workflow.name} is off: no more contacts enter. ${countOf(waiting, PEOPLE)} in it continue.`, {
      action: { label: 'Undo', run: () => change.mutate(true) },
    })
  }
  if (workflow.enabled) {
    return (
      <Button size="sm" busy={change.isPending} onClick={turnOff} title="No more contacts enter; those in it continue">
        Turn off
      </Button>
    )
  }
  return (
    <>
      <Button size="sm" disabled={refusal !== undefined} title={refusal} onClick={() => setAsking(true)}>
        Turn on…
      </Button>
      <Dialog
        title={`Turn on ${workflow.name}?`}
        description={<Consequences workflow={workflow} active={waiting} />}
        open={asking}
        onOpenChange={setAsking}
      >
        <div className="space-y-4">
          <Problems workflow={workflow} />
          {change.error && <Banner tone="danger">{explain(change.error)}</Banner>}
          <DialogButtons>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button
              variant="primary"
              busy={change.isPending}
              onClick={async () => {
                await change.mutateAsync(true)
                setAsking(false)
              }}
            >
              Turn on
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    </>
  )
}

function useChange(workflow: Workflow) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (enabled: boolean) => api.workflows.update(workflow.id, { enabled }),
    onSuccess: (changed) => storeWorkflow(queries, project.id, changed),
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
}

function useActiveCount(workflow: Workflow): number {
  const project = useProject()
  return useQuery(executionCountQuery(project.id, workflow.id, ['RUNNING', 'WAITING'])).data ?? 0
}

function Consequences({ workflow, active }: { workflow: Workflow; active: number }) {
  const project = useProject()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const templates = useQuery(templateNamesQuery(project.id)).data ?? {}
  const sent = workflow.steps.flatMap(({ templateId }) => (templateId ? [templates[templateId] ?? 'a template'] : []))
  return (
    <div className="space-y-2">
      <p>{describeStart(workflow, segments)}</p>
      <p>{sent.length > 0 ? `It sends ${[...new Set(sent)].join(', ')}.` : 'It sends no email.'}</p>
      <p>{workflow.allowReentry ? 'Contacts who finished it may enter again.' : 'Each contact enters only once.'}</p>
      {active > 0 && <p>{countOf(active, PEOPLE)} still in it keep the version that they started with.</p>}
    </div>
  )
}

function Problems({ workflow: { problems, steps } }: { workflow: Workflow }) {
  if (problems.length === 0) return null
  const nameOf = (stepId: string | null) => steps.find(({ id }) => id === stepId)?.name
  return (
    <Banner tone="warning">
      Some steps will not work:
      <ul className="list-disc pl-4">
        {problems.map(({ stepId, code, message }) => (
          <li key={`${stepId} ${code}`}>
            {nameOf(stepId) && <strong className="font-medium">{nameOf(stepId)}: </strong>}
            {message}
          </li>
        ))}
      </ul>
    </Banner>
  )
}
