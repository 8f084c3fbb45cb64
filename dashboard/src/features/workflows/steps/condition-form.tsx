import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { ConditionBuilder } from '../../../conditions/builder/condition-builder.tsx'
import { FieldPicker } from '../../../conditions/builder/field-picker.tsx'
import type { FieldCatalog } from '../../../conditions/builder/fields.ts'
import { listFilters, type Tree } from '../../../conditions/builder/tree.ts'
import { useFieldCatalog } from '../../../conditions/builder/use-catalog.ts'
import { OPERATOR_WORDS } from '../../../conditions/sentence/sentence.ts'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { conditionFieldsQuery } from '../../../data/workflows.ts'
import { useProject } from '../../../projects/current.ts'
import { Button, IconButton } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { ViewTabs } from '../../../ui/page/view-tabs.tsx'
import { newId, type Step } from '../graph/graph.ts'
import { JsonField } from './fields/json-field.tsx'
import { configOfTree, describeQuestion, problemOfQuestion, treeOfConfig, WITH_UNIT, WITHOUT_VALUE } from './question.ts'
import { parseValue, type StepFormProps, textOf } from './step-view.ts'

type Filter = { field: string; operator: string; value?: unknown; unit?: string }
type Answer = Omit<Filter, 'field'> & { id: string; name: string }
type Kind = 'question' | 'multi'

const KINDS: Record<Kind, string> = { question: 'A condition, yes or no', multi: 'One field, several answers' }
const VIEWS = { builder: 'Builder', json: 'JSON' }

const kindOf = (config: Step['config']): Kind => (config.mode === 'multi' ? 'multi' : 'question')

/** The question of a CONDITION step. */
export function ConditionForm({ step, workflow, onStep }: StepFormProps) {
  const catalog = useStepCatalog(workflow)
  const kind = kindOf(step.config)
  const set = (config: Step['config'], what = '') => onStep({ ...step, config }, what && `${step.id} ${what}`)
  return (
    <>
      <div className="grid grid-cols-1 gap-4 @md:grid-cols-2">
        <Field name="kind" label="Kind of condition">
          <Select options={KINDS} value={kind} onChange={(event) => set(convert(step.config, event.target.value as Kind))} />
        </Field>
      </div>
      {kind === 'multi' ? (
        <MultiForm config={step.config} catalog={catalog} onChange={set} />
      ) : (
        <QuestionForm step={step} catalog={catalog} onChange={set} />
      )}
    </>
  )
}

/** Fields of contacts, of the event that starts the workflow, and of its execution. */
function useStepCatalog(workflow: Workflow): FieldCatalog {
  const project = useProject()
  const eventName = workflow.triggerType === 'EVENT' ? String(workflow.triggerConfig.eventName) : undefined
  const fields = useQuery(conditionFieldsQuery(project.id, eventName)).data
  const started = useMemo(() => (fields ?? []).filter(({ category }) => category === 'event'), [fields])
  return useFieldCatalog({ started })
}

/** The same question in another form, as far as possible. */
function convert(config: Step['config'], to: Kind): Step['config'] {
  if (to === kindOf(config)) return config
  if (to === 'question') {
    const { id: _, name: __, ...first } = ((config.branches ?? []) as Answer[])[0] ?? { id: '', name: '', operator: 'equals' }
    return { field: String(config.field ?? ''), ...first }
  }
  const { field, ...rest } = listFilters(treeOfConfig(config))[0]?.filter ?? { field: '', operator: 'equals' }
  return { mode: 'multi', field, branches: [{ id: newId(), name: 'First', ...rest }] }
}

type QuestionFormProps = { step: Step; catalog: FieldCatalog; onChange: (config: Step['config'], what?: string) => void }

/** A condition with the branches yes and no, by lines or as JSON. */
function QuestionForm({ step, catalog, onChange }: QuestionFormProps) {
  const project = useProject()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const [view, setView] = useState<keyof typeof VIEWS>('builder')
  const last = useRef({ config: step.config, tree: treeOfConfig(step.config) })
  // The parts of the tree stay the same objects while it is edited here: an input keeps its focus.
  if (last.current.config !== step.config) last.current = { config: step.config, tree: treeOfConfig(step.config) }
  function setTree(tree: Tree, what?: string) {
    const config = configOfTree(tree, step.config)
    last.current = { config, tree }
    onChange(config, what)
  }
  return (
    <div className="space-y-2">
      <ViewTabs label="Ways to edit the condition" tabs={VIEWS} chosen={view} onChoose={setView}>
        {view === 'builder' ? (
          <ConditionBuilder tree={last.current.tree} onTree={setTree} catalog={catalog} />
        ) : (
          <JsonField
            id={`${step.id} tree`}
            label="Condition"
            hint="One filter, or groups of filters joined by their logic."
            rows={12}
            value={step.config}
            onChange={(value) => onChange(typeof value === 'object' && value !== null ? { ...value } : {}, 'tree')}
          />
        )}
      </ViewTabs>
      {!problemOfQuestion(step.config) && (
        <p className="text-ui">
          <span className="text-muted">In words:</span> {describeQuestion(step.config, segments)}.
        </p>
      )}
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

type MultiFormProps = { config: Step['config']; catalog: FieldCatalog; onChange: QuestionFormProps['onChange'] }

/** One field, compared with several answers in order. The first that fits is the branch. */
function MultiForm({ config, catalog, onChange }: MultiFormProps) {
  const answers = (config.branches ?? []) as Answer[]
  const field = textOf(config.field)
  const set = (branches: Answer[], what?: string) => onChange({ ...config, branches }, what)
  const edit = (index: number, answer: Answer, what?: string) =>
    set(
      answers.map((each, at) => (at === index ? answer : each)),
      what,
    )
  return (
    <>
      <div className="max-w-sm">
        <FieldPicker
          catalog={catalog}
          chosen={field ? (catalog.find(field, answers[0]?.operator ?? 'equals') ?? { field, label: field, group: 'Field' }) : undefined}
          onChoose={(choice) => onChange({ ...config, field: choice.field })}
        />
      </div>
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
