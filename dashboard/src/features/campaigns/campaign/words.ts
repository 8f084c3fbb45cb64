import type { Campaign, CampaignListItem, CampaignRecipient, Query } from '@sterna/sdk'

export type Outcome = CampaignRecipient['outcome']
export type Reason = NonNullable<CampaignRecipient['reason']>
export type Activity = NonNullable<NonNullable<Query<'GET /campaigns/{id}/recipients'>>['activity']>
export type Exclusion = 'unsubscribed' | 'suppressed' | 'invalid'

export const OUTCOME_WORDS: Record<Outcome, string> = { sent: 'Sent', failed: 'Failed', skipped: 'Skipped', open: 'Waiting' }

export const REASON_WORDS: Record<Reason, string> = {
  unsubscribed: 'Unsubscribed after the start',
  suppressed: 'Suppressed after the start',
  contact_deleted: 'Contact deleted',
  invalid: 'Invalid address',
  project_deleted: 'Project reset',
  cancelled: 'Campaign cancelled',
  bounced: 'Refused by the receiver',
  rejected: 'Refused by the provider',
  domain_not_verified: 'Domain not verified',
  rendering: 'Could not be rendered',
  too_large: 'Too large',
  transient: 'Temporary failure',
  expired: 'Gave up retrying',
  outcome_unknown: 'Outcome unknown',
  crashed: 'Worker crashed',
  provider_paused: 'Provider paused sending',
  domain_paused: 'Domain paused',
  throttled: 'Throttled',
  project_disabled: 'Project disabled',
  verifying_refusal: 'Refusal being checked',
}

export const EXCLUSION_WORDS: Record<Exclusion, string> = {
  unsubscribed: 'Unsubscribed',
  suppressed: 'Suppressed',
  invalid: 'Invalid address',
}

export const RECIPIENT_ACTIVITY_WORDS: Record<Activity, string> = {
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  machineOpened: 'Opened by a machine',
  machineClicked: 'Clicked by a machine',
  bounced: 'Bounced',
  complained: 'Complained',
  unsubscribed: 'Unsubscribed through its link',
  notOpened: 'Did not open',
  notClicked: 'Did not click',
}

/** Failures that may have passed: a resend takes these. */
export const RESENDABLE: readonly Reason[] = ['transient', 'expired', 'domain_not_verified', 'provider_paused']

/** Why a campaign is paused, and how it resumes. */
export const PAUSE_WORDS: Record<NonNullable<CampaignListItem['pausedReason']>, string> = {
  person: 'Paused by a member of the team.',
  spike: 'Paused automatically: too many bounces or complaints in ten minutes. Look at the failed recipients before you resume.',
  billing_limit: 'Paused automatically: the cap of campaigns is reached. Raise it, then resume.',
  audience_failed:
    'Paused automatically: its recipients could not be written, most likely because its conditions take too long. Resume to try again, or cancel it and simplify the audience of a copy.',
  provider_quota: 'Waiting: the quota of the provider is used up. Sending resumes automatically once the provider accepts email again.',
  provider: 'Waiting: the provider accepts no email for now. Sending resumes automatically.',
  domain: 'Waiting: the domain of the sender is not verified any more. Sending resumes automatically once it is.',
  domain_paused: 'Waiting: the provider refuses email from the domain of the sender. Sending resumes automatically once it is accepted.',
  project_disabled: 'Waiting: the project is disabled. Sending resumes automatically once it is enabled.',
}

/** Why it is sent no faster. */
export const SLOWDOWN_WORDS: Record<CampaignListItem['slowedBy'][number], string> = {
  provider_rate: 'Limited by the rate that the provider accepts, which all projects share.',
  installation_rate: 'Limited by the sending rate of this installation, which all projects share.',
  recipient_domains: 'Some recipients wait because their mail servers asked for fewer emails at a time.',
}

/** These need a resume; the others end automatically. */
export const needsResume = ({ pausedReason }: Pick<CampaignListItem, 'pausedReason'>) =>
  pausedReason === 'person' || pausedReason === 'spike' || pausedReason === 'billing_limit' || pausedReason === 'audience_failed'

/** The status on screen: a paused campaign is still SENDING. */
export const shownCampaignStatus = ({ status, pausedReason }: Pick<CampaignListItem, 'status' | 'pausedReason'>): string =>
  status === 'SENDING' && pausedReason ? 'PAUSED' : status

/** The one date that matters: when it sends, was sent, or was edited. */
export function dateOf({ status, scheduledFor, startedAt, sentAt, updatedAt }: CampaignListItem): { word: string; at: string } {
  if (status === 'SCHEDULED' && scheduledFor) return { word: 'Sends', at: scheduledFor }
  if (status === 'SENDING' && startedAt) return { word: 'Started', at: startedAt }
  if (status === 'SENT' && (sentAt ?? startedAt)) return { word: 'Sent', at: (sentAt ?? startedAt)! }
  if (status === 'CANCELLED') return { word: 'Cancelled', at: updatedAt }
  return { word: 'Edited', at: updatedAt }
}

/** The audience, in a word. */
export function audienceName({ audienceType, segment }: Pick<Campaign, 'audienceType' | 'segment'>): string {
  if (audienceType === 'ALL') return 'Everyone'
  return audienceType === 'SEGMENT' ? (segment?.name ?? 'Deleted segment') : 'A filter'
}
