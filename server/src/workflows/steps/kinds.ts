import type { Db } from '../../db/index.ts'
import { conditionKind } from './condition.ts'
import { delayKind } from './delay.ts'
import { exitKind } from './exit.ts'
import { sendEmailKind } from './send-email.ts'
import type { Decided, Running, StepBatch, StepKind } from './step.ts'
import { triggerKind } from './trigger.ts'
import { updateContactKind } from './update-contact.ts'
import { waitForEventKind } from './wait-for-event.ts'
import { webhookKind } from './webhook.ts'

/** Every kind of step, in the order in which a batch runs them: emails lock the cap of the project, which comes before contacts. */
const KINDS = {
  TRIGGER: triggerKind,
  SEND_EMAIL: sendEmailKind,
  DELAY: delayKind,
  WAIT_FOR_EVENT: waitForEventKind,
  CONDITION: conditionKind,
  WEBHOOK: webhookKind,
  UPDATE_CONTACT: updateContactKind,
  EXIT: exitKind,
}

export type StepType = keyof typeof KINDS
export const ALL_STEP_TYPES = Object.keys(KINDS) as StepType[]
/** Steps that a caller may add. Every workflow has one TRIGGER step besides, where executions start. */
export const STEP_TYPES = ALL_STEP_TYPES.filter((type) => type !== 'TRIGGER')

export type AnyDecided = Decided<Record<string, unknown>, unknown>

/** Without the types of config and facts: the config of a stored step was read by its own kind, and only a kind sees its facts. */
export const kindOf = (type: StepType) => KINDS[type] as unknown as StepKind<Record<string, unknown>, unknown>

/** Decides about executions at steps of one kind: the engine does it, a simulation shows it. */
export async function decideSteps(db: Db, batch: StepBatch, type: StepType, executions: Running[]): Promise<AnyDecided[]> {
  const { facts: readFacts, decide } = kindOf(type)
  const facts = readFacts ? await readFacts(db, batch, executions) : []
  const decided: AnyDecided[] = []
  for (const [index, execution] of executions.entries())
    decided.push({ execution, facts: facts[index], outcome: await decide(execution, facts[index], batch) })
  return decided
}
