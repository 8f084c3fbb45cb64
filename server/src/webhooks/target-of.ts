import type { Config } from '../lib/config.ts'
import type { WebhookTarget } from '../lib/network/webhook-target.ts'

/** Where webhooks of this installation may go. */
export const webhookTargetOf = ({ webhookAllowPrivate, publicUrl }: Pick<Config, 'webhookAllowPrivate' | 'publicUrl'>): WebhookTarget => ({
  allowed: webhookAllowPrivate,
  ownHost: new URL(publicUrl).hostname.toLowerCase(),
})
