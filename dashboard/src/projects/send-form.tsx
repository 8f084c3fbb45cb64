import type { Domain, Sterna } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { projectKey, sendWithKey } from '../api.ts'
import { meQuery } from '../session/queries.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Input, TextArea } from '../ui/input.tsx'
import { useApi, useProject } from './current.ts'
import { trialDomain } from './trial-domain.ts'

type SendFormProps = {
  secret: string
  /** Without one, a domain for trying is added: only the sandbox accepts that. */
  sender: Domain | undefined
  initial: { subject: string; body: string }
  onSent: (emailId: string) => void
}

/** Sends an email, to the user unless somebody else is named. */
export function SendForm({ secret, sender, initial, onSent }: SendFormProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const me = useQuery(meQuery)
  const send = useMutation({
    mutationFn: async ({ to, subject, body }: { to: string; subject: string; body: string }) => {
      const domain = sender?.domain ?? (await addTrialDomain(api, project.id))
      return sendWithKey(secret, { to, subject, body, from: { name: project.name, email: `hello@${domain}` } })
    },
    onSuccess: async ({ emails }) => {
      onSent(emails[0]!.email)
      await queries.invalidateQueries({ queryKey: projectKey(project.id) })
    },
  })
  return (
    <Form
      error={send.error}
      onSubmit={(value) => send.mutate({ to: value('to'), subject: value('subject'), body: `<p>${escapeHtml(value('body'))}</p>` })}
    >
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <Field name="to" label="To">
          <Input type="email" defaultValue={me.data?.email} required autoComplete="off" />
        </Field>
        <Field name="subject" label="Subject">
          <Input defaultValue={initial.subject} required autoComplete="off" />
        </Field>
      </div>
      <Field name="body" label="Text">
        <TextArea rows={2} defaultValue={initial.body} required />
      </Field>
      <Button type="submit" variant="primary" busy={send.isPending}>
        Send the email
      </Button>
    </Form>
  )
}

async function addTrialDomain(api: Sterna, projectId: string): Promise<string> {
  const { domain } = await api.domains.add({ domain: trialDomain(projectId) })
  return domain
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escapeHtml = (text: string) => text.replace(/[&<>]/g, (character) => ENTITIES[character]!).replaceAll('\n', '<br>')
