import type { Log } from '../process/log.ts'

/** Runs every step in order. A step that fails is logged and does not keep the later ones from running. */
export async function runEach(steps: Record<string, () => Promise<unknown>>, log: Pick<Log, 'warn'>) {
  for (const [step, run] of Object.entries(steps))
    await run().catch((err) => log.warn({ err, step }, 'a step failed; the next run retries it'))
}
