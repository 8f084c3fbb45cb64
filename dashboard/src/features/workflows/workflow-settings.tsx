import type { Body, Workflow } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { eventNamesQuery } from '../../data/events.ts'
import { segmentNamesQuery } from '../../data/segments.ts'
import { storeWorkflow, workflowQuery } from '../../data/workflows.ts'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { type Draft, useDraft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ListLink } from '../../projects/record-page.tsx'
import { Choices } from '../../ui/form/choices.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select, TextArea } from '../../ui/form/input.tsx'
import { Suggestions } from '../../ui/form/suggestions.tsx'
import { Card } from '../../ui/page/card.tsx'
import { PageBody } from '../../ui/page/page.tsx'
import { type SettingsValues, workflowChangesOf, workflowProblemOf, workflowValuesOf } from './settings-values.ts'
import { WorkflowActions, WorkflowTabs } from './workflow/workflow-header.tsx'

const savedOf = (workflow: Workflow) => ({ values: workflowValuesOf(workflow), revision: workflow.updatedAt })

export function WorkflowSettings({ workflow }: { workflow: Workflow }) {
  const draft = useSettings(workflow)
  const problem = workflowProblemOf(draft.values)
  return (
    <EditorFrame
      title={workflow.name}
      parent={<ListLink kind="Workflow" />}
      draft={draft}
      consequence="Changes apply to contacts who enter from now on."
      {...(problem && { problem })}
      actions={
        <WorkflowActions workflow={workflow} onDeleted={draft.discard} {...(draft.isDirty && { refusal: 'Save the settings first' })} />
      }
    >
      <WorkflowTabs id={workflow.id} />
      <PageBody>
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <div className="space-y-4">
            <Card title="Name">
              <div className="space-y-4">
                <Field name="name" label="Name">
                  <Input
                    value={draft.values.name}
                    maxLength={255}
                    autoComplete="off"
                    onChange={(event) => draft.set({ name: event.target.value })}
                  />
                </Field>
                <Field name="description" label="Description" hint="For you and your team.">
                  <TextArea
                    rows={2}
                    value={draft.values.description}
                    maxLength={2_000}
                    onChange={(event) => draft.set({ description: event.target.value })}
                  />
                </Field>
              </div>
            </Card>
            <Card title="Entering again">
              <Choices
                legend="May a contact enter more than once?"
                name="reentry"
                chosen={draft.values.allowReentry ? 'yes' : 'no'}
                onChoose={(value) => draft.set({ allowReentry: value === 'yes' })}
                choices={[
                  { value: 'no', label: 'Once', hint: 'A contact that has been in the workflow does not enter it again.' },
                  { value: 'yes', label: 'Again, after they finish', hint: 'At most 20 times in an hour.' },
                ]}
              />
            </Card>
          </div>
          <Card title="What starts it">
            <Trigger draft={draft} />
          </Card>
        </div>
      </PageBody>
    </EditorFrame>
  )
}

function useSettings(workflow: Workflow) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const query = workflowQuery(project.id, workflow.id)
  return useDraft<SettingsValues>({
    name: `workflow/${workflow.id}/settings`,
    saved: savedOf(workflow),
    save: async (values, revision) => {
      const body: Body<'PATCH /workflows/{id}'> = workflowChangesOf(workflowValuesOf(workflow), values)
      const changed = await api.workflows.update(workflow.id, body, { ifMatch: revision })
      await storeWorkflow(queries, project.id, changed)
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}

function Trigger({ draft }: { draft: Draft<SettingsValues> }) {
  const project = useProject()
  const events = useQuery(eventNamesQuery(project.id)).data ?? []
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const { triggerType, eventName, schedule, timezone, segmentId } = draft.values
  return (
    <div className="space-y-4">
      <Choices
        legend="A contact enters"
        name="trigger"
        chosen={triggerType}
        // The choices are these three.
        onChoose={(value) => draft.set({ triggerType: value as SettingsValues['triggerType'] })}
        choices={[
          { value: 'EVENT', label: 'With an event', hint: 'As soon as it happens for the contact.' },
          { value: 'SCHEDULE', label: 'By a schedule', hint: 'All members of a segment at once, at set times.' },
          { value: 'MANUAL', label: 'By request only', hint: 'Started here or by the API, for one contact.' },
        ]}
      />
      {triggerType === 'EVENT' && (
        <>
          <Field name="eventName" label="Event">
            <Input
              value={eventName}
              maxLength={255}
              autoComplete="off"
              list="settings-events"
              onChange={(event) => draft.set({ eventName: event.target.value })}
            />
          </Field>
          <Suggestions id="settings-events" values={events} />
        </>
      )}
      {triggerType === 'SCHEDULE' && (
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field name="schedule" label="Schedule" hint="Minute, hour, day of the month, month, day of the week: 0 9 * * 1 is Mondays at 9.">
            <Input
              value={schedule}
              autoComplete="off"
              className="font-mono"
              onChange={(event) => draft.set({ schedule: event.target.value })}
            />
          </Field>
          <Field name="timezone" label="Time zone" hint="A time that does not exist on a day fires at the next valid minute.">
            <Input
              value={timezone}
              autoComplete="off"
              list="settings-zones"
              onChange={(event) => draft.set({ timezone: event.target.value })}
            />
          </Field>
          <Suggestions id="settings-zones" values={Intl.supportedValuesOf('timeZone')} />
          <Field name="segmentId" label="Members of the segment">
            <Select
              options={{ ...(!segmentId && { '': 'Choose a segment' }), ...segments }}
              value={segmentId}
              onChange={(event) => draft.set({ segmentId: event.target.value })}
            />
          </Field>
        </div>
      )}
    </div>
  )
}
