import { activityRoutes } from './activity/routes.ts'
import { analyticsRoutes } from './analytics/routes.ts'
import type { Passwords } from './auth/passwords.ts'
import { authRoutes } from './auth/routes.ts'
import { usageLimitRoutes } from './billing/limit-routes.ts'
import { endMeters } from './billing/meters.ts'
import { billingRoutes } from './billing/routes.ts'
import { stripeWebhookRoutes } from './billing/webhook.ts'
import { campaignActionRoutes } from './campaigns/action-routes.ts'
import { brandRoutes } from './campaigns/brand-routes.ts'
import { campaignCheckRoutes } from './campaigns/check-routes.ts'
import { campaignLedgerRoutes } from './campaigns/ledger-routes.ts'
import { campaignRoutes } from './campaigns/routes.ts'
import { cancelCampaignsOf } from './campaigns/sending/cancel.ts'
import { fieldRoutes } from './contacts/fields/field-routes.ts'
import { contactJobRoutes } from './contacts/job-routes.ts'
import { contactRoutes } from './contacts/routes.ts'
import { emailRoutes } from './delivery/emails/routes.ts'
import { sandboxRoutes } from './delivery/emails/sandbox-routes.ts'
import { suppressionRoutes } from './delivery/emails/suppression-routes.ts'
import { notificationRoutes } from './delivery/feedback/ses/routes.ts'
import { amazonSns, type SnsClient } from './delivery/feedback/ses/sns-client.ts'
import { doctorRoutes } from './doctor/routes.ts'
import { linkHostRoutes } from './domains/link-hosts/routes.ts'
import { domainRoutes } from './domains/routes.ts'
import type { DomainKey } from './domains/sender-domains/dkim-key.ts'
import { eventRoutes } from './events/routes.ts'
import { configRoutes } from './http/config-route.ts'
import type { App, Deps } from './http/core/types.ts'
import { serveDashboard } from './http/dashboard.ts'
import { healthRoutes, type Readiness } from './http/health.ts'
import { describeApi } from './http/openapi/openapi.ts'
import { createServer, refuseUnknown } from './http/server.ts'
import type { ByteBudgetLimits } from './lib/fair/byte-budget.ts'
import type { DelayRelease } from './opens-clicks/collect.ts'
import { openClickRoutes } from './opens-clicks/routes.ts'
import { preferenceRoutes } from './preferences/routes.ts'
import { jobRoutes } from './projects/job-routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { reputationRoutes } from './reputation/routes.ts'
import { conditionRoutes } from './segments/condition-routes.ts'
import { segmentMemberRoutes } from './segments/members/member-routes.ts'
import { segmentAccess } from './segments/members/selection.ts'
import { membershipRoutes } from './segments/membership-routes.ts'
import { segmentRoutes } from './segments/routes.ts'
import { sendRoutes, singleEmailRoutes } from './send/routes.ts'
import { templateTestRoutes } from './send/test-routes.ts'
import { designRoutes } from './templates/design-routes.ts'
import { templateRoutes } from './templates/routes.ts'
import { trackRoutes } from './track/routes.ts'
import { uploadRoutes } from './uploads/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { verifyRoutes } from './verify/routes.ts'
import { WEBHOOK_REQUESTS } from './webhook-endpoints/payload-schemas.ts'
import { webhookEndpointRoutes } from './webhook-endpoints/routes.ts'
import { workflowExecutionRoutes } from './workflows/execution-routes.ts'
import { stopWorkflowsOf } from './workflows/executions/wiped.ts'
import { workflowGraphRoutes } from './workflows/graph-routes.ts'
import { workflowInsightRoutes } from './workflows/insight-routes.ts'
import { workflowRecipeRoutes } from './workflows/recipe-routes.ts'
import { workflowRoutes } from './workflows/routes.ts'
import { webhookSecretRoutes } from './workflows/secret-routes.ts'
import { workflowSimulateRoutes } from './workflows/simulate-routes.ts'
import { workflowStepRoutes } from './workflows/step-routes.ts'
import { workflowVersionRoutes } from './workflows/version-routes.ts'
import { workflowWebhookTestRoutes } from './workflows/webhook-test-routes.ts'

/** Adds routes for tests. */
export type Extend = (app: App, deps: Deps) => void
/** Parts that tests add or replace. */
export type Parts = {
  extend?: Extend | undefined
  sns?: SnsClient | undefined
  delayRelease?: DelayRelease | undefined
  passwords?: Passwords | undefined
  newDkimKey?: (() => Promise<DomainKey>) | undefined
  onUnaudited?: ((route: string) => void) | undefined
  admitsAll?: boolean | undefined
  bodyLimits?: Partial<ByteBudgetLimits> | undefined
}
type Options = Parts & { readiness?: Readiness; dashboard?: string | undefined }

/** All HTTP routes, in one list. Tests `extend` it with routes that exercise the HTTP layer. */
export async function buildApp(
  deps: Deps,
  { readiness = { accepting: true }, dashboard, extend, sns = amazonSns, delayRelease, passwords, newDkimKey, ...others }: Options = {},
): Promise<App> {
  const app = await createServer(deps, { readiness, ...others })
  await describeApi(app, deps.config, WEBHOOK_REQUESTS)
  healthRoutes(app, deps, readiness)
  configRoutes(app, deps)
  authRoutes(app, deps, passwords)
  projectRoutes(app, deps, {
    async beforeWipe(tx, projectId) {
      await cancelCampaignsOf(tx, projectId)
      await stopWorkflowsOf(tx, projectId)
    },
    afterDelete: (tx, projectId) => endMeters(tx, projectId),
  })
  jobRoutes(app, deps)
  contactRoutes(app, deps, segmentAccess)
  fieldRoutes(app, deps)
  await contactJobRoutes(app, deps, segmentAccess)
  domainRoutes(app, deps, newDkimKey)
  linkHostRoutes(app, deps)
  verifyRoutes(app, deps)
  eventRoutes(app, deps)
  trackRoutes(app, deps)
  await uploadRoutes(app, deps)
  templateRoutes(app, deps)
  designRoutes(app, deps)
  emailRoutes(app, deps)
  sandboxRoutes(app, deps)
  suppressionRoutes(app, deps)
  await preferenceRoutes(app, deps)
  segmentRoutes(app, deps)
  membershipRoutes(app, deps)
  conditionRoutes(app, deps)
  segmentMemberRoutes(app, deps)
  campaignRoutes(app, deps)
  brandRoutes(app, deps)
  campaignActionRoutes(app, deps)
  campaignLedgerRoutes(app, deps)
  campaignCheckRoutes(app, deps)
  sendRoutes(app, deps)
  singleEmailRoutes(app, deps)
  templateTestRoutes(app, deps)
  workflowRoutes(app, deps)
  workflowStepRoutes(app, deps)
  workflowGraphRoutes(app, deps)
  workflowExecutionRoutes(app, deps)
  workflowInsightRoutes(app, deps)
  workflowRecipeRoutes(app, deps)
  workflowSimulateRoutes(app, deps)
  workflowVersionRoutes(app, deps)
  workflowWebhookTestRoutes(app, deps)
  webhookSecretRoutes(app, deps)
  webhookEndpointRoutes(app, deps)
  openClickRoutes(app, deps, delayRelease)
  await notificationRoutes(app, deps, sns)
  usageRoutes(app, deps)
  reputationRoutes(app, deps)
  billingRoutes(app, deps)
  usageLimitRoutes(app, deps)
  await stripeWebhookRoutes(app, deps)
  doctorRoutes(app, deps)
  activityRoutes(app, deps)
  analyticsRoutes(app, deps)
  extend?.(app, deps)
  if (dashboard) await serveDashboard(app, dashboard)
  else refuseUnknown(app)
  return app
}
