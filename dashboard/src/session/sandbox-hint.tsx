import { useQuery } from '@tanstack/react-query'
import { configQuery } from '../data/installation.ts'

/** Shown where a page announces an email: in sandbox mode it will not arrive. */
export function SandboxHint() {
  const config = useQuery(configQuery)
  if (!config.data?.features.email.sandbox) return null
  return (
    <>
      {' '}
      This server does not send emails. Its operator can read the link with{' '}
      <code className="whitespace-nowrap rounded bg-ink/8 px-1 py-0.5 text-[0.9em]">npm run sterna -- mail show</code>.
    </>
  )
}
