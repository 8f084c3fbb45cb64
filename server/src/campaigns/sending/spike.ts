import type { Minutes } from '../ledger/counters.ts'

/** Fewer emails prove nothing. */
const MIN_ATTEMPTED = 200
const MAX_BOUNCED = 0.1
const MAX_COMPLAINED = 0.005

/** Whether the bounces or complaints of the last minutes are a reason to pause: more of them harm the sender's reputation. */
export const isSpike = ({ attempted, bounced, complained }: Minutes) =>
  attempted >= MIN_ATTEMPTED && (bounced >= attempted * MAX_BOUNCED || complained >= attempted * MAX_COMPLAINED)
