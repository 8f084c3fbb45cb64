import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { segmentUsageQuery } from '../../../data/segments.ts'
import { useProject } from '../../../projects/current.ts'

type Named = { id: string; name: string }

/** Where a segment is used, as links. */
export function Usage({ segmentId }: { segmentId: string }) {
  const project = useProject()
  const usage = useQuery(segmentUsageQuery(project.id, segmentId)).data
  if (!usage) return null
  const { usedInCampaigns, usedInSegments, usedInWorkflows } = usage
  const isUnused = usedInCampaigns.length + usedInSegments.length + usedInWorkflows.length === 0
  if (isUnused) return <p className="text-muted text-ui">No campaign, workflow or other segment uses it.</p>
  return (
    <div className="space-y-2 text-ui">
      <Group label="Campaigns" things={usedInCampaigns} path={(id) => `/app/p/${project.id}/campaigns/${id}`} />
      <Group label="Workflows" things={usedInWorkflows} path={(id) => `/app/p/${project.id}/workflows/${id}`} />
      <Group label="Segments" things={usedInSegments} path={(id) => `/app/p/${project.id}/segments/${id}`} />
    </div>
  )
}

const MAX_SHOWN = 20

function Group({ label, things, path }: { label: string; things: Named[]; path: (id: string) => string }) {
  if (things.length === 0) return null
  return (
    <div>
      <h3 className="text-muted text-xs">{label}</h3>
      <ul>
        {things.slice(0, MAX_SHOWN).map(({ id, name }) => (
          <li key={id} className="truncate">
            <Link to={path(id)} className="link">
              {name}
            </Link>
          </li>
        ))}
      </ul>
      {things.length > MAX_SHOWN && <p className="text-muted">and {things.length - MAX_SHOWN} more</p>}
    </div>
  )
}
