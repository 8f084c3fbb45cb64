import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { StartPicker } from '../../../content/starters/start-picker.tsx'
import { BLANK } from '../../../content/starters/starter-choices.ts'
import { recentCampaignsQuery, storeCampaign } from '../../../data/campaigns.ts'
import { domainsQuery } from '../../../data/domains.ts'
import { configQuery } from '../../../data/installation.ts'
import { offeredTemplatesQuery, startersQuery } from '../../../data/templates.ts'
import { trialDomain } from '../../../people/trial-domain.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { CreateDialog } from '../../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { loadStart, startGroups } from './start-from.ts'

export function NewCampaign({ label = 'New campaign' }: { label?: string }) {
  return (
    <CreateDialog
      label={label}
      title="New campaign"
      description="Creates a draft. Nothing is sent until you confirm who gets it."
      shortcut="New campaign"
      wide
    >
      {(close) => <NewCampaignForm onCancel={close} />}
    </CreateDialog>
  )
}

function NewCampaignForm({ onCancel }: { onCancel: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const domains = useQuery(domainsQuery(project.id)).data
  const templates = useQuery(offeredTemplatesQuery(project.id)).data ?? []
  const campaigns = useQuery(recentCampaignsQuery(project.id)).data ?? []
  const starters = useQuery(startersQuery(project.id)).data ?? []
  const [source, setSource] = useState(BLANK)
  const listed = [...templates, ...campaigns].find(({ id }) => source.endsWith(` ${id}`))
  const verified = domains?.find((domain) => domain.verified)?.domain
  const create = useMutation({
    mutationFn: async ({ name, from }: Pick<Body<'POST /campaigns'>, 'name' | 'from'>) => {
      // The sandbox accepts a domain for trying; elsewhere a sender needs a verified one.
      if (!verified && isSandbox) await api.domains.add({ domain: from.split('@')[1]! })
      const start = await loadStart(api, source, starters)
      const { data: created } = await api.campaigns.create({
        audienceType: 'ALL',
        fromName: project.name,
        ...start,
        subject: start.subject ?? name,
        name,
        from,
      })
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
  const sender = listed?.from ?? `hello@${verified ?? trialDomain(project.id)}`
  return (
    <Form error={create.error} onSubmit={(value) => create.mutate({ name: value('name'), from: value('from') })}>
      <Field name="name" label="Name" hint="Only your team sees it. You write the subject next.">
        <Input required maxLength={255} autoComplete="off" />
      </Field>
      <StartPicker legend="Start from" groups={startGroups({ starters, templates, campaigns })} chosen={source} onChoose={setSource} />
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
