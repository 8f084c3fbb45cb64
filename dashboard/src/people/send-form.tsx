import type { Body, Domain, Sterna, TemplateListItem } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { meQuery } from '../data/account.ts'
import { invalidateProject } from '../data/keys.ts'
import { templatePreviewQuery, templatesByNameQuery } from '../data/templates.ts'
import { useApi, useProject } from '../projects/current.ts'
import { Button } from '../ui/form/button.tsx'
import { Field } from '../ui/form/field.tsx'
import { Form } from '../ui/form/form.tsx'
import { Input, Select, TextArea } from '../ui/form/input.tsx'
import { MessageFrame } from '../ui/message/message-frame.tsx'
import { Banner } from '../ui/notice/banner.tsx'
import { explain } from '../ui/notice/explain.ts'
import { trialDomain } from './trial-domain.ts'

type SendFormProps = {
  /** Without one, a domain for trying is added: only the sandbox accepts that. */
  sender: Domain | undefined
  initial: { subject: string; body: string }
  /** The user unless given. A contact can also get a template. */
  to?: { email: string; contactId: string }
  onSent: (emailId: string) => void
}

/** Sends an email, to the user unless somebody else is named. */
export function SendForm({ sender, initial, to, onSent }: SendFormProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const me = useQuery(meQuery)
  const [template, setTemplate] = useState<TemplateListItem>()
  const send = useMutation({
    mutationFn: async (message: Omit<Body<'POST /emails'>, 'from'>) => {
      // A template with a sender of its own keeps it.
      if (template?.from) return api.emails.send(message)
      const domain = sender?.domain ?? (await addTrialDomain(api, project.id))
      return api.emails.send({ ...message, from: { name: project.name, email: `hello@${domain}` } })
    },
    onSuccess: async ({ id }) => {
      onSent(id)
      await invalidateProject(queries, project.id)
    },
  })
  function submit(value: (name: string) => string) {
    const content = template ? { template: template.id } : { subject: value('subject'), body: `<p>${escapeHtml(value('body'))}</p>` }
    send.mutate({ to: to?.email ?? value('to'), ...content })
  }
  return (
    <Form error={send.error} onSubmit={submit}>
      {to && <TemplateField chosen={template} onChoose={setTemplate} />}
      {template ? (
        <TemplatePreview template={template} contactId={to!.contactId} />
      ) : (
        <>
          <div className={`grid grid-cols-1 gap-3 ${to ? '' : 'sm:grid-cols-2'}`}>
            {!to && (
              <Field name="to" label="To">
                <Input type="email" defaultValue={me.data?.email} required autoComplete="off" />
              </Field>
            )}
            <Field name="subject" label="Subject">
              <Input defaultValue={initial.subject} required autoComplete="off" />
            </Field>
          </div>
          <Field name="body" label="Text">
            <TextArea rows={2} defaultValue={initial.body} required />
          </Field>
        </>
      )}
      <Button type="submit" variant="primary" busy={send.isPending}>
        Send the email
      </Button>
    </Form>
  )
}

function TemplateField({
  chosen,
  onChoose,
}: {
  chosen: TemplateListItem | undefined
  onChoose: (template: TemplateListItem | undefined) => void
}) {
  const project = useProject()
  const templates = useQuery(templatesByNameQuery(project.id)).data
  if (!templates?.length) return null
  return (
    <Field name="template" label="Content">
      <Select
        options={{ '': 'Written here', ...Object.fromEntries(templates.map(({ id, name }) => [id, `Template ${name}`])) }}
        value={chosen?.id ?? ''}
        onChange={(event) => onChoose(templates.find(({ id }) => id === event.target.value))}
      />
    </Field>
  )
}

/** The template as the contact would get it. */
function TemplatePreview({ template, contactId }: { template: TemplateListItem; contactId: string }) {
  const project = useProject()
  const preview = useQuery(templatePreviewQuery(project.id, template, contactId))
  if (preview.error) return <Banner tone="danger">{explain(preview.error)}</Banner>
  if (!preview.data) return <div className="h-72" aria-busy="true" />
  return (
    <div className="space-y-2">
      <p className="text-ui">
        <span className="text-muted">Subject</span> <span className="wrap-break-word font-medium">{preview.data.subject}</span>
      </p>
      <div className="h-64">
        <MessageFrame title="Preview of the email" url={preview.data.frameUrl!} fill />
      </div>
    </div>
  )
}

async function addTrialDomain(api: Sterna, projectId: string): Promise<string> {
  const { domain } = await api.domains.add({ domain: trialDomain(projectId) })
  return domain
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escapeHtml = (text: string) => text.replace(/[&<>]/g, (character) => ENTITIES[character]!).replaceAll('\n', '<br>')
