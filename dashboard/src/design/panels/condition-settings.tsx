import { useQuery } from '@tanstack/react-query'
import { fieldsQuery } from '../../data/contacts.ts'
import { useProject } from '../../projects/current.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select, TextArea } from '../../ui/form/input.tsx'
import { BLOCK_OPERATORS } from '../document/words.ts'
import { Segments } from './inputs.tsx'

type Attrs = Record<string, unknown>
type Value = string | number | boolean

const STANDARD_FIELDS = { subscribed: 'Subscribed', email: 'Address', locale: 'Language', createdAt: 'Created' }
const NO_VALUE = ['exists', 'notExists']

/** The condition on which a contact sees the blocks inside. */
export function ConditionSettings({ attrs, onAttrs }: { attrs: Attrs; onAttrs: (patch: Attrs) => void }) {
  const isExpression = typeof attrs.expression === 'string'
  return (
    <>
      <Segments
        label="Shown if"
        choices={[
          { value: 'field', label: 'A field' },
          { value: 'expression', label: 'An expression' },
        ]}
        chosen={isExpression ? 'expression' : 'field'}
        onChoose={(kind) => onAttrs(kind === 'field' ? BY_FIELD : BY_EXPRESSION)}
      />
      {isExpression ? (
        <Field name="expression" label="Expression" hint={'In the template language, such as plan == "pro" and seats > 3.'}>
          <TextArea
            rows={3}
            spellCheck={false}
            className="font-mono"
            value={String(attrs.expression)}
            onChange={(event) => onAttrs({ expression: event.target.value })}
          />
        </Field>
      ) : (
        <FieldCondition attrs={attrs} onAttrs={onAttrs} />
      )}
    </>
  )
}

const NONE = { field: undefined, operator: undefined, value: undefined, expression: undefined }
const BY_FIELD = { ...NONE, field: 'subscribed', operator: 'equals', value: true }
const BY_EXPRESSION = { ...NONE, expression: 'subscribed' }

function FieldCondition({ attrs, onAttrs }: { attrs: Attrs; onAttrs: (patch: Attrs) => void }) {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id)).data ?? []
  const chosen = String(attrs.field ?? '')
  const type = chosen === 'subscribed' ? 'boolean' : fields.find(({ field }) => `data.${field}` === chosen)?.type
  const own = Object.fromEntries(fields.map(({ field }) => [`data.${field}`, field]))
  const isKnown = chosen in STANDARD_FIELDS || chosen in own
  const operator = String(attrs.operator ?? 'equals')
  return (
    <>
      <Field name="field" label="Field">
        <Select
          options={{ ...STANDARD_FIELDS, ...(!isKnown && { [chosen]: chosen.replace(/^data\./, '') }) }}
          groups={Object.keys(own).length > 0 ? { 'Your fields': own } : {}}
          value={chosen}
          onChange={(event) =>
            onAttrs({ field: event.target.value, ...valueFor(event.target.value === 'subscribed' ? 'boolean' : '', operator) })
          }
        />
      </Field>
      <Field name="operator" label="Comparison">
        <Select
          options={BLOCK_OPERATORS}
          value={operator}
          onChange={(event) =>
            onAttrs({ operator: event.target.value, value: NO_VALUE.includes(event.target.value) ? undefined : (attrs.value ?? '') })
          }
        />
      </Field>
      {!NO_VALUE.includes(operator) && <ValueInput type={type} value={attrs.value} onValue={(value) => onAttrs({ value })} />}
    </>
  )
}

const valueFor = (type: string, operator: string) => (NO_VALUE.includes(operator) ? {} : { value: type === 'boolean' ? true : '' })

function ValueInput({ type, value, onValue }: { type: string | undefined; value: unknown; onValue: (value: Value) => void }) {
  if (type === 'boolean' || typeof value === 'boolean') {
    return (
      <Field name="value" label="Value">
        <Select options={{ true: 'Yes', false: 'No' }} value={String(value)} onChange={(event) => onValue(event.target.value === 'true')} />
      </Field>
    )
  }
  const isNumber = type === 'number'
  return (
    <Field name="value" label="Value">
      <Input
        value={String(value ?? '')}
        inputMode={isNumber ? 'decimal' : 'text'}
        maxLength={1_000}
        autoComplete="off"
        onChange={(event) =>
          onValue(isNumber && /^-?\d+(?:\.\d+)?$/.test(event.target.value) ? Number(event.target.value) : event.target.value)
        }
      />
    </Field>
  )
}
