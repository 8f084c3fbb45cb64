import { Webhook } from 'lucide-react'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { JsonField } from './fields/json-field.tsx'
import { Pairs } from './fields/pairs.tsx'
import { type StepFormProps, type StepView, setterOf, textOf } from './step-view.ts'
import { WebhookTry } from './webhook-try.tsx'

export const webhookView: StepView = {
  word: 'Call a webhook',
  Icon: Webhook,
  newConfig: { url: '', method: 'POST', headers: {} },
  describe: ({ method, url }) => `${textOf(method) || 'POST'} ${textOf(url) || 'no address yet'}`,
  problem: ({ url }) => (/^https?:\/\/./.test(textOf(url)) ? undefined : 'Enter an address that begins with https://.'),
  Form: WebhookForm,
}

const METHODS = { POST: 'POST', PUT: 'PUT', PATCH: 'PATCH', GET: 'GET', DELETE: 'DELETE' }

function WebhookForm(props: StepFormProps) {
  const { step } = props
  const set = setterOf(props)
  const { url, method, headers, body } = step.config
  return (
    <>
      <div className="grid grid-cols-1 gap-4 @md:grid-cols-[8rem_minmax(0,1fr)]">
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
      <WebhookTry {...props} />
    </>
  )
}
