import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content } from '../outbox/contents/content.ts'

const HEADER = 'Feedback-ID'
/** Limits of Gmail for the last part, which names the sender. */
const SENDER_LENGTH = { min: 5, max: 15 }

/**
 * The sender of an installation in `Feedback-ID` headers: its host name without punctuation. The end of a long name is the part that
 * differs least between the hosts of one installation.
 */
export function feedbackSenderOf(publicUrl: string) {
  const name = new URL(publicUrl).hostname.toLowerCase().replace(/[^a-z0-9]/g, '')
  return name.slice(-SENDER_LENGTH.max).padStart(SENDER_LENGTH.min, 'sterna')
}

/**
 * The custom headers of a content. For an email of a campaign with a `Feedback-ID` of ours, by which Gmail reports complaints per campaign and
 * per project; a custom one is dropped there, because it would mix with those of other campaigns.
 */
export function withFeedbackId(
  { campaignId, projectId }: Pick<ClaimedEmail, 'campaignId' | 'projectId'>,
  { type, headers }: Pick<Content, 'type' | 'headers'>,
  sender: string,
): Record<string, string> {
  if (campaignId === null) return headers
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== HEADER.toLowerCase())
  return { ...Object.fromEntries(others), [HEADER]: `${campaignId}:${projectId}:${type.toLowerCase()}:${sender}` }
}
