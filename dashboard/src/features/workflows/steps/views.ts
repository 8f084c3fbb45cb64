import { branchesOf } from '../graph/branches.ts'
import type { Step, StepType } from '../graph/graph.ts'
import { conditionView } from './condition.tsx'
import { delayView } from './delay.tsx'
import { exitView } from './exit.tsx'
import { sendEmailView } from './send-email.tsx'
import type { StepView } from './step-view.ts'
import { triggerView } from './trigger.tsx'
import { updateContactView } from './update-contact.tsx'
import { waitForEventView } from './wait-for-event.tsx'
import { webhookView } from './webhook.tsx'

/** Every kind of step, in the order of the menu. */
export const STEP_VIEWS: Record<StepType, StepView> = {
  TRIGGER: triggerView,
  SEND_EMAIL: sendEmailView,
  DELAY: delayView,
  WAIT_FOR_EVENT: waitForEventView,
  CONDITION: conditionView,
  UPDATE_CONTACT: updateContactView,
  WEBHOOK: webhookView,
  EXIT: exitView,
}

type Configured = Pick<Step, 'type' | 'config'>

/** Steps that can be added, with the config of a new one. Nothing follows an EXIT step, so that it fits only where nothing follows. */
export const addableSteps = ({ isOpenEnd }: { isOpenEnd: boolean }): Configured[] =>
  (Object.keys(STEP_VIEWS) as StepType[])
    .flatMap((type) => {
      const config = STEP_VIEWS[type].newConfig
      return config ? [{ type, config }] : []
    })
    .filter((step) => isOpenEnd || branchesOf(step).length > 0)
