import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, Trash2, X } from 'lucide-react'
import { useId, useState } from 'react'
import { eventNamesQuery } from '../../../data/events.ts'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { templateNamesQuery } from '../../../data/templates.ts'
import { useProject } from '../../../projects/current.ts'
import { Button, buttonClass, IconButton } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import { ConditionForm } from './condition-form.tsx'
import { describeStart, parseValue, secondsOf, splitSeconds } from './describe.ts'
import { connect, type Graph, insertStep, newId, type Step, stepById, targetsOf, transitionAt } from './graph.ts'
import { JsonField } from './json-field.tsx'
import { Suggestions } from './suggestions.tsx'

type StepFormProps = {
  step: Step
  workflow: Workflow
  graph: Graph
  /** `what` names the field that is typed into. */
  onStep: (step: Step, what?: string) => void
  onGraph: (graph: Graph) => void
  onRemove: () => void
  /** Steps of its branches that go with it. */
  lost: number
}

const STEPS = { one: 'step of its branches goes', many: 'steps of its branches go' }

/** Name and settings of a step. */
export function StepForm(props: StepFormProps) {
  const { step, workflow, onStep, onRemove, lost } = props
  if (step.type === 'TRIGGER') return <TriggerFacts workflow={workflow} />
  return (
    <div className="space-y-4">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field name="name" label="Name of the step">
          <Input
            value={step.name}
            maxLength={255}
            autoComplete="off"
            onChange={(event) => onStep({ ...step, name: event.target.value }, `${step.id} name`)}
          />
        </Field>
      </div>
      <ConfigForm {...props} />
      <div className="flex flex-wrap items-center gap-3 border-line border-t pt-3">
        <Button size="sm" onClick={onRemove}>
          <Trash2 aria-hidden="true" />
          Remove the step
        </Button>
        {lost > 0 && <span className="text-muted text-ui">{countOf(lost, STEPS)} with it.</span>}
      </div>
    </div>
  )
}

function TriggerFacts({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  return (
    <div className="space-y-3">
      <p className="text-muted text-ui">{describeStart(workflow, segments)}</p>
      <Link
        to="/app/p/$projectId/workflows/$workflowId/settings"
        params={{ projectId: project.id, workflowId: workflow.id }}
        className={buttonClass('secondary', 'sm')}
      >
        Change what starts it
      </Link>
    </div>
  )
}

function ConfigForm(props: StepFormProps) {
  switch (props.step.type) {
    case 'SEND_EMAIL':
      return <SendEmailForm {...props} />
    case 'DELAY':
      return <DelayForm {...props} />
    case 'WAIT_FOR_EVENT':
      return <WaitForm {...props} />
    case 'CONDITION':
      return <ConditionForm step={props.step} workflow={props.workflow} onStep={props.onStep} />
    case 'WEBHOOK':
      return <WebhookForm {...props} />
    case 'UPDATE_CONTACT':
      return <UpdateForm {...props} />
    case 'EXIT':
      return <ExitForm {...props} />
    default:
      return null
  }
}

/** Changes some keys of the config of a step. */
const useConfig =
  ({ step, onStep }: Pick<StepFormProps, 'step' | 'onStep'>) =>
  (patch: Record<string, unknown>, field = '') =>
    onStep({ ...step, config: { ...step.config, ...patch } }, field && `${step.id} ${field}`)

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

function SendEmailForm(props: StepFormProps) {
  const project = useProject()
  const templates = useQuery(templateNamesQuery(project.id)).data ?? {}
  const { config } = props.step
  const set = useConfig(props)
  const templateId = textOf(config.templateId)
  const recipient = (config.recipient ?? { type: 'CONTACT' }) as { type: string; customEmail?: string }
  const options = {
    ...(!templateId && { '': 'Choose a template' }),
    ...templates,
    ...(templateId && !templates[templateId] && { [templateId]: 'Another template' }),
  }
  return (
    <>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field
          name="templateId"
          label="Template"
          hint="Read when the step runs, so that a change of the template counts for everybody who comes to it later."
          aside={
            templateId && (
              <Link to="/app/p/$projectId/templates/$templateId" params={{ projectId: project.id, templateId }} className="link text-ui">
                Open
              </Link>
            )
          }
        >
          <Select options={options} value={templateId} onChange={(event) => set({ templateId: event.target.value })} />
        </Field>
        <Field name="recipient" label="To">
          <Select
            options={{ CONTACT: 'The contact', CUSTOM: 'Another address' }}
            value={recipient.type}
            onChange={(event) =>
              set({ recipient: event.target.value === 'CUSTOM' ? { type: 'CUSTOM', customEmail: '' } : { type: 'CONTACT' } })
            }
          />
        </Field>
      </div>
      {recipient.type === 'CUSTOM' && (
        <Field name="customEmail" label="Address" hint="Gets the email with the data of the contact, such as a note to your team.">
          <Input
            type="email"
            value={recipient.customEmail ?? ''}
            autoComplete="off"
            onChange={(event) => set({ recipient: { type: 'CUSTOM', customEmail: event.target.value } }, 'customEmail')}
          />
        </Field>
      )}
    </>
  )
}

const UNITS = { minutes: 'Minutes', hours: 'Hours', days: 'Days' }

function DelayForm(props: StepFormProps) {
  const set = useConfig(props)
  const { amount, unit } = props.step.config
  return (
    <Period
      label="Wait"
      amount={Number(amount)}
      unit={textOf(unit) || 'days'}
      onChange={(next) => set(next, 'amount')}
      hint="At most 365 days."
    />
  )
}

type PeriodProps = {
  label: string
  amount: number
  unit: string
  hint?: string
  onChange: (period: { amount: number; unit: string }) => void
}

function Period({ label, amount, unit, hint, onChange }: PeriodProps) {
  return (
    <div className="grid max-w-sm grid-cols-2 gap-4">
      <Field name="amount" label={label} hint={hint}>
        <Input
          type="number"
          min={0}
          step="any"
          value={Number.isNaN(amount) ? '' : amount}
          onChange={(event) => onChange({ amount: event.target.valueAsNumber, unit })}
        />
      </Field>
      <Field name="unit" label="Unit">
        <Select options={UNITS} value={unit} onChange={(event) => onChange({ amount, unit: event.target.value })} />
      </Field>
    </div>
  )
}

function WaitForm(props: StepFormProps) {
  const project = useProject()
  const id = useId()
  const events = useQuery(eventNamesQuery(project.id)).data ?? []
  const set = useConfig(props)
  const { eventName, timeout } = props.step.config
  const isLimited = timeout !== null && timeout !== undefined
  const [period, setPeriod] = useState(() => splitSeconds(typeof timeout === 'number' ? timeout : 259_200))
  return (
    <>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field name="eventName" label="Event" hint="Counts from the moment the contact comes to this step.">
          <Input
            value={textOf(eventName)}
            maxLength={255}
            autoComplete="off"
            list={id}
            onChange={(event) => set({ eventName: event.target.value }, 'eventName')}
          />
        </Field>
        <Field name="limit" label="How long">
          <Select
            options={{ limited: 'At most…', forever: 'Until it happens' }}
            value={isLimited ? 'limited' : 'forever'}
            onChange={(event) => set({ timeout: event.target.value === 'limited' ? secondsOf(period.amount, period.unit) : null })}
          />
        </Field>
      </div>
      <Suggestions id={id} values={events} />
      {isLimited && (
        <>
          <Period
            label="At most"
            amount={period.amount}
            unit={period.unit}
            onChange={(next) => {
              setPeriod(next as typeof period)
              set({ timeout: secondsOf(next.amount, next.unit) || 0 }, 'timeout')
            }}
          />
          <TimeoutTarget {...props} />
        </>
      )}
    </>
  )
}

const NEW_BRANCH = 'new'

/** Where a wait goes on when its time is over. */
function TimeoutTarget({ step, graph, onGraph }: StepFormProps) {
  const place = { fromStepId: step.id, branch: 'timeout' }
  const target = stepById(graph, transitionAt(graph, place)?.toStepId)
  const options = {
    '': 'The same step as when it happens',
    [NEW_BRANCH]: 'A branch of its own',
    ...Object.fromEntries(targetsOf(graph, place).map(({ id, name }) => [id, name])),
  }
  function choose(chosen: string) {
    if (chosen !== NEW_BRANCH) return onGraph(connect(graph, place, chosen || undefined))
    const exit: Step = { id: newId(), type: 'EXIT', name: 'It did not happen', position: { x: 0, y: 0 }, config: { reason: 'timeout' } }
    onGraph(insertStep(connect(graph, place, undefined), place, exit))
  }
  return (
    <Field name="timeoutTarget" label="When the time is over, continue at">
      <Select options={options} value={target?.id ?? ''} onChange={(event) => choose(event.target.value)} />
    </Field>
  )
}

const METHODS = { POST: 'POST', PUT: 'PUT', PATCH: 'PATCH', GET: 'GET', DELETE: 'DELETE' }

function WebhookForm(props: StepFormProps) {
  const { step } = props
  const set = useConfig(props)
  const { url, method, headers, body } = step.config
  return (
    <>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-[8rem_minmax(0,1fr)]">
        <Field name="method" label="Method">
          <Select options={METHODS} value={textOf(method) || 'POST'} onChange={(event) => set({ method: event.target.value })} />
        </Field>
        <Field name="url" label="Address" hint="Signed, tried 8 times in 24 hours. {{ variables }} may follow the host.">
          <Input
            type="url"
            value={textOf(url)}
            placeholder="https://example.com/hook"
            autoComplete="off"
            onChange={(event) => set({ url: event.target.value }, 'url')}
          />
        </Field>
      </div>
      <Pairs
        legend="Headers"
        name="Header"
        entries={Object.entries((headers ?? {}) as Record<string, string>)}
        onChange={(entries) => set({ headers: Object.fromEntries(entries) }, 'headers')}
      />
      <JsonField
        id={`${step.id} body`}
        label="Body"
        hint="JSON. Empty sends the contact, the workflow, the execution and the event."
        value={body}
        onChange={(value) => {
          const { body: _, ...rest } = step.config
          props.onStep({ ...step, config: value === undefined ? rest : { ...rest, body: value } }, `${step.id} body`)
        }}
      />
    </>
  )
}

function UpdateForm(props: StepFormProps) {
  const set = useConfig(props)
  const { updates, subscriptionAction } = props.step.config
  const entries = Object.entries((updates ?? {}) as Record<string, unknown>)
  return (
    <>
      <Pairs
        legend="Fields"
        name="Field"
        entries={entries.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)])}
        onChange={(next) => set({ updates: Object.fromEntries(next.map(([key, value]) => [key, parseValue(value)])) }, 'updates')}
      />
      <p className="text-muted text-ui">Numbers, true and false are stored as such. null deletes the field.</p>
      <Field name="subscriptionAction" label="Subscription">
        <Select
          options={{ none: 'Leave it as it is', subscribe: 'Subscribe the contact', unsubscribe: 'Unsubscribe the contact' }}
          value={textOf(subscriptionAction) || 'none'}
          onChange={(event) => set({ subscriptionAction: event.target.value })}
        />
      </Field>
    </>
  )
}

type Entry = [key: string, value: string]
type PairsProps = {
  legend: string /** Names a row for screen readers. */
  name: string
  entries: Entry[]
  onChange: (entries: Entry[]) => void
}

/** Rows of a name and a value. A row whose name is still empty is kept here only. */
function Pairs({ legend, name, entries, onChange }: PairsProps) {
  const [rows, setRows] = useState<Entry[]>(entries)
  function change(next: Entry[]) {
    setRows(next)
    onChange(next.filter(([key]) => key.trim() !== ''))
  }
  const edit = (index: number, entry: Entry) => change(rows.map((row, at) => (at === index ? entry : row)))
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium text-ui">{legend}</legend>
      {rows.map(([key, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity, and their names are typed
        <div key={index} className="flex gap-2">
          <Input
            aria-label={`${name} ${index + 1}, name`}
            placeholder="Name"
            value={key}
            autoComplete="off"
            onChange={(event) => edit(index, [event.target.value, value])}
          />
          <Input
            aria-label={`${name} ${index + 1}, value`}
            placeholder="Value"
            value={value}
            autoComplete="off"
            onChange={(event) => edit(index, [key, event.target.value])}
          />
          <IconButton
            label={`Remove ${key || `${name.toLowerCase()} ${index + 1}`}`}
            onClick={() => change(rows.filter((_, at) => at !== index))}
          >
            <X />
          </IconButton>
        </div>
      ))}
      <Button size="sm" onClick={() => setRows([...rows, ['', '']])}>
        <Plus aria-hidden="true" />
        Add a {name.toLowerCase()}
      </Button>
    </fieldset>
  )
}

function ExitForm(props: StepFormProps) {
  const set = useConfig(props)
  return (
    <Field name="reason" label="Reason" hint="Shown with every execution that leaves here.">
      <Input
        value={textOf(props.step.config.reason)}
        maxLength={255}
        autoComplete="off"
        onChange={(event) => set({ reason: event.target.value || null }, 'reason')}
      />
    </Field>
  )
}
