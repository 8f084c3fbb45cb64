import type { Segment } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { invalidateSegments, segmentUsageQuery } from '../../../data/segments.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { DeleteRecord, RecordMenu } from '../../../projects/record-menu.tsx'
import { MenuItem } from '../../../ui/dialog/menu.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { countOf } from '../../../ui/text/count.tsx'

type Named = Pick<Segment, 'id' | 'name'>

export function SegmentMenu({ segment, onDelete }: { segment: Named; onDelete: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function count() {
    try {
      const { memberCount } = await api.segments.refresh(segment.id)
      await invalidateSegments(queries, project.id)
      toast(`${segment.name} has ${countOf(memberCount, { one: 'member', many: 'members' })}`)
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
  return (
    <RecordMenu list="segments" row={segment} onDelete={onDelete}>
      <MenuItem onSelect={count}>
        <RefreshCw aria-hidden="true" />
        Count the members now
      </MenuItem>
    </RecordMenu>
  )
}

type DeleteSegmentProps = { segment: Named; onClose: () => void; onDeleted?: () => unknown }

/** Says where it is used. The server refuses to delete a segment that is needed, and names what needs it. */
export function DeleteSegment({ segment, ...dialog }: DeleteSegmentProps) {
  const project = useProject()
  const usage = useQuery({ ...segmentUsageQuery(project.id, segment.id), staleTime: 0 }).data
  const uses = usage && [...usage.usedInCampaigns, ...usage.usedInWorkflows, ...usage.usedInSegments].map(({ name }) => name)
  return (
    <DeleteRecord
      list="segments"
      row={segment}
      description={`The contacts stay; only the segment is deleted. ${uses ? (uses.length > 0 ? `It is used in ${uses.slice(0, 5).join(', ')}${uses.length > 5 ? ', …' : ''}.` : 'Nothing uses it.') : ''}`}
      {...dialog}
    />
  )
}
