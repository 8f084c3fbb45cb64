import type { Context } from 'liquidjs'
import { isOverrun, ownCpuMs, type TimedWork } from '../../lib/threads/thread-progress.ts'
import { ENGINE_RENDER_MS } from './limits.ts'

/** Shortest time between two looks at the clock of the CPU, which take 10 µs. The engine asks at every tag. */
const CHECK_MS = 10

export class TooSlowError extends Error {}

/** Replaces the time limit of the engine, which counts the time that passes: on a busy machine a thread gets little of it. */
export function limitTime(context: Context, cpuMs: () => number | undefined = ownCpuMs) {
  const startedAt = performance.now()
  const work: TimedWork = { spentMs: 0, sample: undefined }
  context.renderLimit.check = (now: number) => {
    const spentMs = now - startedAt
    if (spentMs - work.spentMs < CHECK_MS) return
    work.spentMs = spentMs
    if (isOverrun(work, ENGINE_RENDER_MS, cpuMs)) throw new TooSlowError('Rendering took too long.')
  }
}
