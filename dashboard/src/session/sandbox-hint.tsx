import { useQuery } from '@tanstack/react-query'
import { configQuery } from './queries.ts'

/** Nobody should wait for a mail that never leaves the machine. */
export function SandboxHint() {
  const config = useQuery(configQuery)
  if (!config.data?.features.email.sandbox) return null
  return (
    <>
      {' '}
      This server keeps its mails instead of sending them: whoever runs it finds the link with{' '}
      <code className="whitespace-nowrap rounded bg-ink/8 px-1 py-0.5 text-[0.9em]">npm run sterna -- mail list</code>.
    </>
  )
}
