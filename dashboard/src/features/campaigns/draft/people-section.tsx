import type { Campaign, CampaignPreflight } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ConditionEditor } from '../../../conditions/condition-editor.tsx'
import { TYPE_HINTS, TYPE_NAMES } from '../../../content/values/content-values.ts'
import { segmentNamesQuery } from '../../../data/segments.ts'
import type { Draft } from '../../../editor/use-draft.ts'
import { useProject } from '../../../projects/current.ts'
import { Choices } from '../../../ui/form/choices.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Select } from '../../../ui/form/input.tsx'
import { AudienceSum } from './audience-sum.tsx'
import type { CampaignValues } from './campaign-values.ts'
import { Section } from './section.tsx'

const AUDIENCES = [
  { value: 'ALL', label: 'Everyone', hint: 'All contacts of the project.' },
  { value: 'SEGMENT', label: 'A segment', hint: 'The contacts that are in it when the campaign starts.' },
  { value: 'FILTERED', label: 'A filter', hint: 'A condition of this campaign only.' },
]

type PeopleSectionProps = {
  campaign: Campaign
  draft: Draft<CampaignValues>
  preflight: CampaignPreflight | undefined
  /** False while the audience is what the draft was made with. */
  isChosen: boolean
  onChoose: () => void
}

/** The recipients, as one sum. */
export function PeopleSection({ campaign, draft, preflight, isChosen, onChoose }: PeopleSectionProps) {
  const project = useProject()
  const segments = useQuery(segmentNamesQuery(project.id)).data
  const { audienceType, segmentId, condition, type } = draft.values
  return (
    <Section title="People" state={stateOf(isChosen, preflight, draft.isDirty)} note={isChosen ? undefined : 'Choose who gets it'}>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <div className="space-y-3">
          <Choices
            legend="Who"
            name="audienceType"
            choices={AUDIENCES}
            chosen={isChosen ? audienceType : ''}
            onChoose={(value) => {
              onChoose()
              // The options are the types.
              draft.set({ audienceType: value as CampaignValues['audienceType'] })
            }}
          />
          {audienceType === 'SEGMENT' && (
            <Field name="segmentId" label="Segment" {...(segments && Object.keys(segments).length === 0 && { hint: <NoSegments /> })}>
              <Select
                options={{ ...(segmentId ? {} : { '': 'Choose a segment' }), ...segments }}
                value={segmentId}
                onChange={(event) => draft.set({ segmentId: event.target.value })}
              />
            </Field>
          )}
        </div>
        <div className="space-y-3">
          <Field name="type" label="Type" hint={TYPE_HINTS[type]}>
            <Select
              options={TYPE_NAMES}
              value={type}
              // The options are the types.
              onChange={(event) => draft.set({ type: event.target.value as CampaignValues['type'] })}
            />
          </Field>
        </div>
      </div>
      {audienceType === 'FILTERED' && <ConditionEditor text={condition} onText={(text) => draft.set({ condition: text })} />}
      <div className={`rounded-lg bg-sunken px-3 py-2.5 ${draft.isDirty ? 'opacity-60' : ''}`} aria-busy={isChosen && !preflight}>
        {!isChosen ? (
          <p className="text-muted text-ui">No audience chosen yet.</p>
        ) : preflight ? (
          <AudienceSum campaignId={campaign.id} audience={preflight.audience} />
        ) : (
          <p className="text-muted text-ui">Counting who gets it…</p>
        )}
      </div>
    </Section>
  )
}

function stateOf(isChosen: boolean, preflight: CampaignPreflight | undefined, isDirty: boolean) {
  if (!isChosen || !preflight || isDirty) return 'open'
  return preflight.audience.recipients > 0 ? 'done' : 'wrong'
}

function NoSegments() {
  const project = useProject()
  return (
    <>
      There is none yet.{' '}
      <Link to="/app/p/$projectId/segments" params={{ projectId: project.id }} className="link">
        Make a segment
      </Link>
    </>
  )
}
