import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { storeCampaign } from '../../../data/campaigns.ts'
import { domainsQuery } from '../../../data/domains.ts'
import { configQuery } from '../../../data/installation.ts'
import { offeredTemplatesQuery } from '../../../data/templates.ts'
import { trialDomain } from '../../../people/trial-domain.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { CreateDialog } from '../../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'

export function NewCampaign({ label = 'New campaign' }: { label?: string }) {
  return (
    <CreateDialog
      label={label}
      title="New campaign"
      description="Makes a draft. Nothing is sent until you have seen who gets it."
      shortcut="New campaign"
    >
      {(close) => <NewCampaignForm onCancel={close} />}
    </CreateDialog>
  )
}

const BLANK = 'blank'
const BLANK_BODY = `<h1>Hello {{ firstName ?? "there" }}</h1>
<p>Write your news here.</p>
<p><a href="https://example.com">Read more</a></p>
`

function NewCampaignForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const domains = useQuery(domainsQuery(project.id)).data
  const templates = useQuery(offeredTemplatesQuery(project.id)).data ?? []
  const [begin, setBegin] = useState(BLANK)
  const template = templates.find(({ id }) => id === begin)
  const verified = domains?.find((domain) => domain.verified)?.domain
  const create = useMutation({
    mutationFn: async (body: Body<'POST /campaigns'>) => {
      // The sandbox accepts a domain for trying; elsewhere a sender needs a verified one.
      if (!verified && isSandbox) await api.domains.add({ domain: body.from.split('@')[1]! })
      const { data: created } = await api.campaigns.create(body)
      await storeCampaign(queries, project.id, created)
      await navigate({ to: '/app/p/$projectId/campaigns/$campaignId', params: { projectId: project.id, campaignId: created.id } })
    },
  })
  if (!domains) return null
  if (!verified && !isSandbox) {
    return (
      <p className="text-muted text-ui">
        A campaign needs a sender on a verified domain.{' '}
        <Link to="/app/p/$projectId/domains" params={{ projectId: project.id }} className="link">
          Add your domain
        </Link>{' '}
        first.
      </p>
    )
  }
  const sender = template?.from ?? `hello@${verified ?? trialDomain(project.id)}`
  return (
    <Form
      error={create.error}
      onSubmit={(value) =>
        create.mutate({
          name: value('name'),
          from: value('from'),
          ...(template
            ? {
                subject: template.subject,
                body: template.body,
                previewText: template.previewText,
                fromName: template.fromName,
                replyTo: template.replyTo,
                type: template.type,
                templateId: template.id,
              }
            : { subject: value('name'), body: BLANK_BODY, fromName: project.name }),
          audienceType: 'ALL',
        })
      }
    >
      <Field name="name" label="Name" hint="For your team. The subject comes next.">
        <Input required maxLength={255} autoComplete="off" />
      </Field>
      <Field name="begin" label="Begin with">
        <Select
          options={{ [BLANK]: 'A blank email', ...Object.fromEntries(templates.map(({ id, name }) => [id, `Template: ${name}`])) }}
          value={begin}
          onChange={(event) => setBegin(event.target.value)}
        />
      </Field>
      <Field name="from" label="From address" hint="On a verified domain.">
        <Input key={sender} type="email" defaultValue={sender} required autoComplete="off" />
      </Field>
      <DialogButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create draft
        </Button>
      </DialogButtons>
    </Form>
  )
}
