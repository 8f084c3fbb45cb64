import type { WebhookEndpoint } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invalidateWebhooks } from '../../data/projects.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { CheckboxLine } from '../../ui/form/checkbox.tsx'
import { Choices } from '../../ui/form/choices.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { readSelectors, TYPES, writeSelectors } from './selectors.ts'

const AMOUNTS = [
  { value: 'some', label: 'Only some', hint: 'The types that you choose below.' },
  { value: 'all', label: 'Everything', hint: 'Every type, and those that are added later.' },
]

type EndpointFormProps = { endpoint?: WebhookEndpoint; onCancel: () => void; onSaved: (endpoint: WebhookEndpoint) => void }

/** Adds an endpoint, or changes one. */
export function EndpointForm({ endpoint, onCancel, onSaved }: EndpointFormProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [selectors, setSelectors] = useState(readSelectors(endpoint?.events ?? ['email.bounce', 'email.complaint']))
  const { all, ticked, others } = selectors
  const toggle = (type: string) =>
    setSelectors({ ...selectors, ticked: ticked.includes(type) ? ticked.filter((each) => each !== type) : [...ticked, type] })
  const save = useMutation({
    mutationFn: (body: { url: string; description: string | null; events: string[] }) =>
      endpoint ? api.webhookEndpoints.update(endpoint.id, body) : api.webhookEndpoints.create(body),
    onSuccess: async (saved) => {
      await invalidateWebhooks(queries, project.id)
      onSaved(saved)
    },
  })
  return (
    <Form
      error={save.error}
      onSubmit={(value) => save.mutate({ url: value('url'), description: value('description') || null, events: writeSelectors(selectors) })}
    >
      <Field name="url" label="URL" hint="Receives a signed POST request for everything that happens.">
        <Input
          type="url"
          required
          placeholder="https://example.com/webhooks"
          defaultValue={endpoint?.url}
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <Field name="description" label="Description">
        <Input defaultValue={endpoint?.description ?? ''} maxLength={500} placeholder="Optional" autoComplete="off" />
      </Field>
      <Choices
        legend="Tell it"
        name="amount"
        choices={AMOUNTS}
        chosen={all ? 'all' : 'some'}
        onChoose={(value) => setSelectors({ ...selectors, all: value === 'all' })}
      />
      {!all && (
        <>
          <div className="grid max-h-64 grid-cols-1 gap-x-4 gap-y-3 overflow-y-auto rounded-lg border border-line p-2 sm:grid-cols-2">
            {Object.entries(TYPES).map(([group, types]) => (
              <fieldset key={group}>
                <legend className="px-2 text-muted text-xs">{group}</legend>
                {Object.entries(types).map(([type, label]) => (
                  <CheckboxLine key={type} label={label} checked={ticked.includes(type)} onChange={() => toggle(type)} />
                ))}
              </fieldset>
            ))}
          </div>
          <Field name="others" label="Other types" hint="Separated by commas, such as event.signed up or segment.vip.entry.">
            <Input
              value={others}
              onChange={(event) => setSelectors({ ...selectors, others: event.target.value })}
              autoComplete="off"
              spellCheck={false}
            />
          </Field>
        </>
      )}
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={save.isPending}>
          {endpoint ? 'Save' : 'Add endpoint'}
        </Button>
      </DialogButtons>
    </Form>
  )
}
