import { vi } from 'vitest'
import { run } from '../../../src/cli.ts'

/** A command in this process, which takes a tenth of the CPU of one of its own. One at a time: they print to the same console. */
export async function runCommand(args: string[], env: Record<string, string>) {
  const printed = { log: '', error: '' }
  const spies = (['log', 'error'] as const).map((how) =>
    vi.spyOn(console, how).mockImplementation((line: string) => {
      printed[how] += `${line}\n`
    }),
  )
  try {
    const code = await run(args, env)
    return { code, output: printed.log + printed.error }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}
