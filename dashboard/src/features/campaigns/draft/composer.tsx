import type { Campaign } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useLint } from '../../../content/use-lint.ts'
import { campaignQuery, preflightQuery, storeCampaign } from '../../../data/campaigns.ts'
import { startersQuery } from '../../../data/templates.ts'
import { EditorFrame } from '../../../editor/editor-frame.tsx'
import { useAutosave } from '../../../editor/use-autosave.ts'
import { useDraft } from '../../../editor/use-draft.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { usePreference } from '../../../session/preferences.ts'
import { MoreActions } from '../../../ui/dialog/menu.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { ownZone } from '../../../ui/form/zoned-time.ts'
import { CampaignMenu, DeleteCampaign } from '../campaign/campaign-menu.tsx'
import { bodyOf, type CampaignValues, campaignProblemOf, campaignValuesOf } from './campaign-values.ts'
import { checksOf } from './checks.ts'
import { ChecksSection } from './checks-section.tsx'
import { ContentSection } from './content-section.tsx'
import { type DraftPart, openPartsOf } from './open-parts.ts'
import { PeopleSection } from './people-section.tsx'
import { SendButton } from './send-dialog.tsx'
import { type When, WhenSection, whenProblem } from './when-section.tsx'

const savedOf = (campaign: Campaign) => ({ values: campaignValuesOf(campaign), revision: campaign.updatedAt })

/**
 * A draft on one page: people, content, checks, time. Saved by itself as soon as it is complete. It can be sent once a person has decided
 * every part of it.
 */
export function Composer({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState(false)
  const [when, setWhen] = useState<When>({ kind: 'now', text: '', zone: ownZone() })
  const draft = useCampaignDraft(campaign)
  const issues = useLint(draft.values)
  const problem = campaignProblemOf(
    draft.values,
    issues?.filter(({ severity }) => severity === 'error'),
  )
  useAutosave(draft, problem)
  const preflight = useQuery(preflightQuery(project.id, campaign.id, campaign.updatedAt))
  const [confirmed, setConfirmed] = usePreference<DraftPart[]>(`campaign-parts.${campaign.id}`, [])
  const starters = useQuery(startersQuery(project.id)).data ?? []
  const open = openPartsOf(draft.values, starters, confirmed)
  const confirm = (part: DraftPart) => setConfirmed([...new Set([...confirmed, part])])
  const wrong = preflight.data && checksOf(preflight.data, campaign.body).find(({ level }) => level === 'wrong')
  // Until an audience is chosen, its numbers count all contacts.
  const checked = open.audience ? undefined : preflight.data
  const blocked =
    problem ??
    Object.values(open)[0] ??
    (draft.isDirty ? 'the last changes are being saved' : undefined) ??
    wrong?.text ??
    whenProblem(when)
  return (
    <EditorFrame
      title={campaign.name}
      parent={<ListLink kind="Campaign" />}
      draft={draft}
      autosaves
      consequence="Nothing is sent by saving."
      {...(problem && { problem })}
      actions={
        <>
          <MoreActions>
            <CampaignMenu campaign={campaign} onCancel={() => {}} onDelete={() => setDeleting(true)} />
          </MoreActions>
          <SendButton campaign={campaign} when={when} preflight={checked} problem={blocked} />
        </>
      }
    >
      <div className="max-w-[1440px] border-line xl:border-r">
        <div className="border-line border-b bg-surface px-4 py-4 sm:px-6 lg:px-8">
          <Field name="name" label="Name" hint="For your team only.">
            <Input
              className="md:w-96"
              value={draft.values.name}
              onChange={(event) => draft.set({ name: event.target.value })}
              maxLength={255}
              autoComplete="off"
            />
          </Field>
        </div>
        <PeopleSection
          campaign={campaign}
          draft={draft}
          preflight={preflight.data}
          isChosen={open.audience === undefined}
          onChoose={() => confirm('audience')}
        />
        <ContentSection campaign={campaign} draft={draft} issues={issues} problem={problem} open={open} onConfirm={confirm} />
        <ChecksSection campaign={campaign} preflight={checked} error={preflight.error} retry={preflight.refetch} isDirty={draft.isDirty} />
        <WhenSection when={when} onWhen={setWhen} draft={draft} />
      </div>
      {deleting && (
        <DeleteCampaign
          campaign={campaign}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            draft.discard()
            return navigate({ to: '/app/p/$projectId/campaigns', params: { projectId: project.id } })
          }}
        />
      )}
    </EditorFrame>
  )
}

function useCampaignDraft(campaign: Campaign) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const query = campaignQuery(project.id, campaign.id)
  return useDraft<CampaignValues>({
    name: `campaign/${campaign.id}`,
    saved: savedOf(campaign),
    save: async (values, revision) => {
      const changed = await api.campaigns.update(campaign.id, bodyOf(values), { ifMatch: revision })
      await storeCampaign(queries, project.id, changed)
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}
