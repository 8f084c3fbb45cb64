import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useId } from 'react'
import { OPERATOR_WORDS } from '../../../conditions/sentence.ts'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { conditionFieldsQuery } from '../../../data/workflows.ts'
import { useProject } from '../../../projects/current.ts'
import { Button, IconButton } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { describeQuestion, parseValue, WITH_UNIT, WITHOUT_VALUE } from './describe.ts'
import { newId, type Step } from './graph.ts'
import { JsonField } from './json-field.tsx'
import { Suggestions } from './suggestions.tsx'

type Filter = { field: string; operator: string; value?: unknown; unit?: string }
type Answer = Omit<Filter, 'field'> & { id: string; name: string }
type Kind = 'single' | 'multi' | 'tree'

const KINDS: Record<Kind, string> = {
  single: 'One question, yes or no',
  multi: 'One field, several answers',
  tree: 'Several questions (JSON)',
}

const kindOf = (config: Step['config']): Kind => (config.mode === 'multi' ? 'multi' : Array.isArray(config.groups) ? 'tree' : 'single')

type ConditionFormProps = { step: Step; workflow: Workflow; onStep: (step: Step, what?: string) => void }

/** The question of a CONDITION step. */
export function ConditionForm({ step, workflow, onStep }: ConditionFormProps) {
  const project = useProject()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const kind = kindOf(step.config)
  const set = (config: Step['config'], what = '') => onStep({ ...step, config }, what && `${step.id} ${what}`)
  return (
    <>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field name="kind" label="Kind of question">
          <Select options={KINDS} value={kind} onChange={(event) => set(convert(step.config, event.target.value as Kind))} />
        </Field>
      </div>
      {kind === 'single' && <SingleForm step={step} workflow={workflow} onChange={set} />}
      {kind === 'multi' && <MultiForm step={step} workflow={workflow} onChange={set} />}
      {kind === 'tree' && (
        <JsonField
          id={`${step.id} tree`}
          label="Condition"
          hint={`Reads: ${describeQuestion(step.config, segments)}`}
          rows={12}
          value={step.config}
          onChange={(value) => set(typeof value === 'object' && value !== null ? { ...value } : {}, 'tree')}
        />
      )}
    </>
  )
}

/** The same question in another form, as far as possible. */
function convert(config: Step['config'], to: Kind): Step['config'] {
  const filter = firstFilter(config)
  if (to === 'single') return { ...filter }
  if (to === 'tree') return { logic: 'AND', groups: [{ filters: [filter] }] }
  const { field, ...rest } = filter
  return { mode: 'multi', field, branches: [{ id: newId(), name: 'First', ...rest }] }
}

function firstFilter(config: Step['config']): Filter {
  if (config.mode === 'multi') {
    const { id: _, name: __, ...rest } = ((config.branches ?? []) as Answer[])[0] ?? { id: '', name: '', operator: 'equals', value: '' }
    return { field: String(config.field ?? ''), ...rest }
  }
  const groups = config.groups as { filters?: Filter[] }[] | undefined
  return groups ? (groups[0]?.filters?.[0] ?? { field: 'subscribed', operator: 'equals', value: true }) : (config as Filter)
}

type FormProps = { step: Step; workflow: Workflow; onChange: (config: Step['config'], what?: string) => void }

/** Fields of contacts, of the event that starts the workflow, and its execution. */
function FieldInput({ workflow, value, onChange }: { workflow: Workflow; value: string; onChange: (field: string) => void }) {
  const project = useProject()
  const id = useId()
  const eventName = workflow.triggerType === 'EVENT' ? String(workflow.triggerConfig.eventName) : undefined
  const fields = useQuery(conditionFieldsQuery(project.id, eventName)).data ?? []
  return (
    <>
      <Field name="field" label="Field" hint="Such as data.plan, subscribed, event.amount of the event that started it, or context.x.">
        <Input value={value} list={id} autoComplete="off" spellCheck={false} onChange={(event) => onChange(event.target.value)} />
      </Field>
      <Suggestions id={id} values={fields.map(({ field }) => field)} />
    </>
  )
}

function SingleForm({ step, workflow, onChange }: FormProps) {
  const filter = step.config as Filter
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
      <FieldInput workflow={workflow} value={filter.field} onChange={(field) => onChange({ ...filter, field }, 'field')} />
      <Comparison filter={filter} onChange={(next, what) => onChange({ field: filter.field, ...next }, what)} />
    </div>
  )
}

type ComparisonProps = { filter: Omit<Filter, 'field'>; label?: string; onChange: (filter: Omit<Filter, 'field'>, what?: string) => void }

/** Operator, and value with its unit where the operator takes them. */
function Comparison({ filter: { operator, value, unit }, label = '', onChange }: ComparisonProps) {
  const withUnit = WITH_UNIT.has(operator)
  function choose(next: string) {
    if (WITHOUT_VALUE.has(next)) onChange({ operator: next })
    else if (WITH_UNIT.has(next)) onChange({ operator: next, value: typeof value === 'number' ? value : 7, unit: unit ?? 'days' })
    else onChange({ operator: next, value: value ?? '' })
  }
  return (
    <div className="flex flex-wrap items-end gap-2">
      <div className="min-w-40 flex-1">
        <Field name={`${label}operator`} label={label ? `${label}, comparison` : 'Comparison'}>
          <Select options={OPERATOR_WORDS} value={operator} onChange={(event) => choose(event.target.value)} />
        </Field>
      </div>
      {!WITHOUT_VALUE.has(operator) && (
        <div className="min-w-24 flex-1">
          <Field name={`${label}value`} label={label ? `${label}, value` : 'Value'}>
            <Input
              value={value === undefined || value === null ? '' : String(value)}
              autoComplete="off"
              onChange={(event) =>
                onChange(
                  { operator, value: parseValue(event.target.value) ?? event.target.value, ...(unit && withUnit && { unit }) },
                  `${label}value`,
                )
              }
            />
          </Field>
        </div>
      )}
      {withUnit && (
        <div className="min-w-24 flex-1">
          <Field name={`${label}unit`} label={label ? `${label}, unit` : 'Unit'}>
            <Select
              options={{ minutes: 'Minutes', hours: 'Hours', days: 'Days' }}
              value={unit ?? 'days'}
              onChange={(event) => onChange({ operator, value, unit: event.target.value })}
            />
          </Field>
        </div>
      )}
    </div>
  )
}

const MAX_ANSWERS = 20

/** One field, compared with several answers in order. The first that fits is the branch. */
function MultiForm({ step: { config }, workflow, onChange }: FormProps) {
  const answers = (config.branches ?? []) as Answer[]
  const set = (branches: Answer[], what?: string) => onChange({ ...config, branches }, what)
  const edit = (index: number, answer: Answer, what?: string) =>
    set(
      answers.map((each, at) => (at === index ? answer : each)),
      what,
    )
  return (
    <>
      <FieldInput workflow={workflow} value={String(config.field ?? '')} onChange={(field) => onChange({ ...config, field }, 'field')} />
      <ul className="space-y-3">
        {answers.map((answer, index) => (
          <li key={answer.id} className="flex flex-wrap items-end gap-2">
            <div className="min-w-32 flex-1">
              <Field name={`answer${index}`} label={`Answer ${index + 1}`}>
                <Input
                  value={answer.name}
                  maxLength={100}
                  autoComplete="off"
                  onChange={(event) => edit(index, { ...answer, name: event.target.value }, `answer${index}`)}
                />
              </Field>
            </div>
            <div className="flex-[2]">
              <Comparison
                filter={answer}
                label={`Answer ${index + 1}`}
                onChange={(next, what) => edit(index, { id: answer.id, name: answer.name, ...next }, what)}
              />
            </div>
            <IconButton
              label={`Remove answer ${index + 1}`}
              disabled={answers.length === 1}
              onClick={() => set(answers.filter((_, at) => at !== index))}
            >
              <X />
            </IconButton>
          </li>
        ))}
      </ul>
      <Button
        size="sm"
        disabled={answers.length >= MAX_ANSWERS}
        onClick={() => set([...answers, { id: newId(), name: '', operator: 'equals', value: '' }])}
      >
        <Plus aria-hidden="true" />
        Add an answer
      </Button>
    </>
  )
}
