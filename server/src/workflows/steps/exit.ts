import { z } from 'zod'
import { parseAt } from '../../http/core/validate.ts'
import type { StepKind } from './step.ts'

const ExitConfig = z.object({ reason: z.string().max(255).nullish() })

export const exitKind: StepKind<{ reason: string | null }> = {
  name: 'Exit',
  read: (given, { at }) => ({ reason: parseAt(ExitConfig, given, at).reason ?? null }),
  branches: () => [],
  decide: ({ step }) => ({ is: 'exit', reason: step.config.reason }),
}
