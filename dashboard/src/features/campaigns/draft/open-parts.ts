import { isUntouched, type Starter } from '../../../content/starters/starter-choices.ts'
import type { CampaignValues } from './campaign-values.ts'

/** Parts of a draft that are filled in from the beginning, and that a person has to choose, change or confirm. */
export type DraftPart = 'audience' | 'subject' | 'body'

/** Why a part is still open, by part. A part that is settled has no reason. */
export type OpenParts = Partial<Record<DraftPart, string>>

type Draft = Pick<CampaignValues, 'name' | 'audienceType' | 'subject' | 'design'>

/**
 * The parts of a draft that its author has not confirmed yet. A new draft is addressed to everyone, with its name as the subject and the text of
 * a starter; without this rule it would be ready to be sent as it is.
 */
export function openPartsOf(
  { name, audienceType, subject, design }: Draft,
  starters: Pick<Starter, 'design'>[],
  confirmed: DraftPart[],
): OpenParts {
  const reasons: Record<DraftPart, string | undefined> = {
    audience: audienceType === 'ALL' ? 'choose who gets it' : undefined,
    subject: subject.trim() === name.trim() ? 'the subject is still the name of the campaign' : undefined,
    body: design && isUntouched(design, starters) ? 'the body is still the text of the starter' : undefined,
  }
  const open = Object.entries(reasons).filter(([part, reason]) => reason && !confirmed.includes(part as DraftPart))
  return Object.fromEntries(open)
}
