import { z } from 'zod'

export const SetupState = z.object({
  hasVerifiedDomain: z.boolean(),
  contactCount: z.int(),
  lastCampaignSentAt: z.iso.datetime().nullable(),
  hasEnabledWorkflow: z.boolean(),
  hasSubscription: z.boolean(),
  hasSentEmail: z.boolean(),
})

/** Each feature that can be set up adds its own question here; none of these exists in a project yet. */
export const setupState = (): z.output<typeof SetupState> => ({
  hasVerifiedDomain: false,
  contactCount: 0,
  lastCampaignSentAt: null,
  hasEnabledWorkflow: false,
  hasSubscription: false,
  hasSentEmail: false,
})
