import { z } from 'zod'
import { parseAt } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { KB } from '../../lib/text/units.ts'
import { kindOf, type StepType } from '../steps/kinds.ts'
import type { ConfigReading } from '../steps/step.ts'
import { unmaskWebhook } from '../steps/webhook-mask.ts'
import type { GraphStep } from './graph.ts'

const MAX_CONFIG_BYTES = 64 * KB

type Given = { type: StepType; config?: unknown } & Pick<ConfigReading, 'templateId' | 'storedTemplateId'>
type Reading = { path: string } & Pick<ConfigReading, 'target' | 'projectId'>

/** Reads the config of a step. `path` is the place of the step in the request. */
export async function readStepConfig({ type, config, templateId, storedTemplateId }: Given, { path, target, projectId }: Reading) {
  const at = `${path}config`
  const given = parseAt(z.record(z.string(), z.unknown()), config ?? {}, at)
  if (Buffer.byteLength(JSON.stringify(given)) > MAX_CONFIG_BYTES) invalid(at, `At most ${MAX_CONFIG_BYTES / KB} KB.`, 'too_big')
  const { read, template } = kindOf(type)
  const stored = await read(given, { at, target, projectId, templateId, storedTemplateId })
  return { config: stored, templateId: template?.(stored) ?? null }
}

/** The same for a config that a caller sent, in which masks stand for the values of the step as it is stored. */
export const readGivenStepConfig = (given: Given, { stored, ...reading }: Reading & { stored: Pick<GraphStep, 'config'> | undefined }) =>
  readStepConfig({ ...given, config: unmaskWebhook(given.config, stored?.config, `${reading.path}config`) }, reading)
