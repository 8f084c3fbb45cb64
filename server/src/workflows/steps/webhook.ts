import { DAY } from '../../lib/text/units.ts'
import type { StepConfigs } from '../definition/step-config.ts'
import { later, type StepRunner } from './step.ts'

/** Time in which a webhook is tried again. */
const WEBHOOK_DEADLINE_MS = DAY

/** Hands the execution over to webhooks.ts: a request takes up to 10 s, which no transaction may. */
export const runWebhook: StepRunner = async (_tx, { now }, executions) =>
  executions.map(({ step }) => ({
    is: 'wait',
    as: 'WAITING',
    until: now,
    deadlineAt: later(now, WEBHOOK_DEADLINE_MS),
    webhookHost: webhookHostOf(step.config as StepConfigs['WEBHOOK']),
  }))

/** Host and port; they contain no variable. */
export const webhookHostOf = ({ url }: StepConfigs['WEBHOOK']) => (/^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '').toLowerCase()
