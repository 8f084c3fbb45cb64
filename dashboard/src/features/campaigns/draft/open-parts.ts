import { STARTERS } from '../../../content/starters.ts'
import type { CampaignValues } from './campaign-values.ts'

/** Parts of a draft that are filled in from the beginning, and that a person has to choose, change or confirm. */
export type DraftPart = 'audience' | 'subject' | 'body'

/** Why a part is still open, by part. A part that is settled has no reason. */
export type OpenParts = Partial<Record<DraftPart, string>>

/**
 * The parts of a draft that its author has not confirmed yet. A new draft is addressed to everyone, with its name as the subject or with the text of a starter;
 * without this rule it would be ready to be sent as it is.
 */
export function openPartsOf(values: Pick<CampaignValues, 'name' | 'audienceType' | 'subject' | 'body'>, confirmed: DraftPart[]): OpenParts {
  const { name, audienceType, subject, body } = values
  const reasons: Record<DraftPart, string | undefined> = {
    audience: audienceType === 'ALL' ? 'choose who gets it' : undefined,
    subject: subjectReason(name, subject),
    body: STARTERS.some((starter) => starter.body === body) ? 'the body is still the text of the starter' : undefined,
  }
  const open = Object.entries(reasons).filter(([part, reason]) => reason && !confirmed.includes(part as DraftPart))
  return Object.fromEntries(open)
}

function subjectReason(name: string, subject: string): string | undefined {
  if (subject.trim() === name.trim()) return 'the subject is still the name of the campaign'
  return STARTERS.some((starter) => starter.subject === subject) ? 'the subject is still that of the starter' : undefined
}
