import { SternaError } from '@sterna/sdk'
import { PathLink } from '../ui/page/path-link.tsx'
import { canManage, useProject } from './current.ts'

/** After a refusal because of a cap: the way to raise it, or who can. */
export function RaiseCap({ error }: { error: Error | null }) {
  const project = useProject()
  if (!(error instanceof SternaError) || error.code !== 'BILLING_LIMIT_EXCEEDED') return null
  if (!canManage(project)) return <p className="text-muted text-ui">An owner or admin of the project can raise the cap.</p>
  return (
    <p className="text-ui">
      <PathLink to={`/app/p/${project.id}/settings/billing`} className="link">
        Raise the cap
      </PathLink>
      , then send it again.
    </p>
  )
}
