import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { hasScope } from '../../http/auth/scopes.ts'
import { maskWebhook } from '../steps/webhook-mask.ts'

/** Only callers that may change webhooks see what authenticates them: a key that only reads does not. */
export const seesWebhooks = (caller: Pick<CallingProject, 'scopes'>) => hasScope(caller, 'workflows')

type WithSteps = { steps: { config: Record<string, unknown> }[] }

/** A graph, or an answer that has one, as this caller may see it. */
export const maskedFor = <Shown extends WithSteps>(caller: Pick<CallingProject, 'scopes'>, shown: Shown): Shown =>
  seesWebhooks(caller) ? shown : maskSteps(shown)

export const maskSteps = <Shown extends WithSteps>(shown: Shown): Shown => ({
  ...shown,
  steps: shown.steps.map((step) => ({ ...step, config: maskWebhook(step.config) })),
})
