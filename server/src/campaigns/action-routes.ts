import { z } from 'zod'
import { transact } from '../db/index.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import type { App, Deps } from '../http/core/types.ts'
import { fail } from '../lib/errors/errors.ts'
import { campaignResource } from './campaign-resource.ts'
import { actorOf } from './draft/audit.ts'
import { RatePerMinute, ScheduledFor } from './draft/body.ts'
import { Campaign } from './draft/campaign.ts'
import { cancelCampaign } from './sending/cancel.ts'
import { changeRate, pauseCampaign, resumeCampaign } from './sending/pause.ts'
import { resendCampaign } from './sending/resend.ts'
import { scheduleCampaign } from './sending/schedule.ts'
import { assertSendable, sendNow } from './sending/start.ts'

const Sending = z.object({
  scheduledFor: ScheduledFor.nullish().describe('Without it, the campaign is sent now.'),
  delaySeconds: z.int().min(1).max(60).nullish().describe('Schedules the campaign in this many seconds; until then it can be changed.'),
})

/** Routes that change the status of a campaign, or the pace at which it is sent. */
export function campaignActionRoutes(app: App, { db }: Deps) {
  const route = campaignResource(app, db, ['CONFLICT'])
  const response = { 200: Campaign }

  route.post(
    '/campaigns/:id/send',
    {
      summary: 'Send or schedule a campaign',
      description:
        'Its recipients are the contacts that match the audience when it starts and may get the email then. Refused with 400 if there are none, ' +
        'and with 402 if they are more than the billing limit allows. With `scheduledFor` it is paused instead when it is due. ' +
        'A scheduled campaign is scheduled again.',
      body: Sending,
      audit: 'campaign.send',
      scope: { all: ['campaigns', 'send'] },
      senders: ['stored'],
      stops: 'never',
      response,
      refusals: ['CONFLICT', 'BILLING_LIMIT_EXCEEDED'],
      bodyOptional: true,
    },
    async (req, { projectId, id, from }) => {
      requireSenderDomain(req.project, from)
      const { scheduledFor, delaySeconds } = req.body
      if (scheduledFor && delaySeconds) fail('BAD_REQUEST', { message: 'Give "scheduledFor" or "delaySeconds", not both.' })
      const [key, by] = [
        { projectId, id },
        { caller: req.project, actor: actorOf(req) },
      ]
      if (scheduledFor) return scheduleCampaign(req.db, key, { scheduledFor }, by)
      if (!delaySeconds) return sendNow(req.db, key, by)
      // It is sent now, with time to undo it: refused at once, not paused seconds later.
      await assertSendable(db, key)
      return scheduleCampaign(req.db, key, { delaySeconds }, by)
    },
  )

  route.post(
    '/campaigns/:id/cancel',
    {
      summary: 'Cancel a campaign',
      description: 'The campaign must be scheduled or being sent. No further email is sent, except for messages that are on the wire.',
      audit: 'campaign.cancel',
      senders: 'none',
      stops: 'always',
      response,
    },
    (req, campaign) => transact(req.db, (tx) => cancelCampaign(tx, campaign, actorOf(req))),
  )

  route.post(
    '/campaigns/:id/pause',
    { summary: 'Pause a campaign that is being sent', audit: 'campaign.pause', senders: 'none', stops: 'always', response },
    (req, campaign) => transact(req.db, (tx) => pauseCampaign(tx, campaign, { reason: 'person', actor: actorOf(req) })),
  )

  route.post(
    '/campaigns/:id/resume',
    {
      summary: 'Resume a campaign',
      description: 'No recipient gets the email twice.',
      audit: 'campaign.resume',
      scope: { all: ['campaigns', 'send'] },
      senders: ['stored'],
      stops: 'never',
      response,
      refusals: ['CONFLICT', 'BILLING_LIMIT_EXCEEDED'],
    },
    (req, campaign) => {
      requireSenderDomain(req.project, campaign.from)
      return transact(req.db, (tx) => resumeCampaign(tx, campaign, actorOf(req)))
    },
  )

  route.put(
    '/campaigns/:id/rate',
    {
      summary: 'Change the rate of a campaign',
      description: 'Also while it is being sent.',
      body: z.object({ ratePerMinute: RatePerMinute.nullable() }),
      audit: 'campaign.rate',
      senders: ['stored', 'live'],
      stops: 'some',
      auditsValues: true,
      response,
    },
    (req, campaign) =>
      transact(req.db, (tx) =>
        changeRate(tx, campaign, { caller: req.project, ratePerMinute: req.body.ratePerMinute, actor: actorOf(req) }),
      ),
  )

  route.post(
    '/campaigns/:id/resend',
    {
      summary: 'Resend a campaign to the recipients that failed',
      description:
        'Queues the emails again that failed for a reason that may have passed; `docs/campaigns.md` lists the reasons. The campaign must be ' +
        'SENT, and is SENDING until they have ended. Refused with 400 if there are none.',
      body: z.object({
        includeUnknown: z.boolean().nullish().describe('Also emails whose outcome is unknown: their recipients may get the email twice.'),
      }),
      audit: 'campaign.resend',
      scope: { all: ['campaigns', 'send'] },
      senders: ['stored'],
      stops: 'never',
      response,
      bodyOptional: true,
    },
    (req, campaign) => {
      requireSenderDomain(req.project, campaign.from)
      const resend = { includeUnknown: req.body.includeUnknown ?? false, actor: actorOf(req) }
      return transact(req.db, (tx) => resendCampaign(tx, campaign, resend))
    },
  )
}
